#include "expect/fsync.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "expect/entry_times.h"
#include "expect/units.h"

namespace sisyfs {
namespace {

class Matcher {
 public:
  Matcher(const History& history, const ContractRules& rules, const Tree& recovered, std::string* why)
      : history_(history), rules_(rules), recovered_(recovered), why_(why) {}

  bool allowed() {
    collect(kRootNode, "");
    // Directories come first, each after its parent, because names are identified by their directory.
    std::stable_partition(found_.begin(), found_.end(), [this](const Found& f) { return is_directory(f); });
    object_of_.assign(recovered_.node_limit(), kNoObject);
    object_of_[0] = kRootObject;
    return links_agree() && xattrs_allowed("/", kRootNode, kRootObject) &&
           mode_allowed("/", kRootNode, kRootObject) && match(0);
  }

 private:
  struct Name {
    NodeId directory;
    std::string_view name;
  };
  struct Found {
    NodeId node;
    std::string path;  // the first
    std::vector<Name> names;
  };

  bool is_directory(const Found& f) const { return recovered_.node(f.node).type == FileType::kDirectory; }

  // Keeps the first reason: it belongs to the match that is tried first, with the latest objects.
  template <class... Args>
  bool fail(fmt::format_string<Args...> format, Args&&... args) {
    if (why_ && why_->empty()) *why_ = fmt::format(format, std::forward<Args>(args)...);
    return false;
  }

  void collect(NodeId directory, const std::string& path) {
    for (const Tree::Entry& e : recovered_.children(directory)) {
      const auto known =
          std::find_if(found_.begin(), found_.end(), [&](const Found& f) { return f.node == e.node; });
      if (known != found_.end()) {
        known->names.push_back({directory, e.name()});
        continue;
      }
      const std::string below = path + "/" + std::string(e.name());
      found_.push_back({e.node, below, {{directory, e.name()}}});
      collect(e.node, below);
    }
  }

  // A link count must equal the number of names. No other check compares it.
  bool links_agree() {
    for (const Found& f : found_) {
      const Tree::Node& node = recovered_.node(f.node);
      if (const uint32_t links = links_of(node); node.links != links)
        return fail("{}: the link count is {}, its names make {}", f.path, node.links, links);
    }
    const Tree::Node& root = recovered_.node(kRootNode);
    return root.links == links_of(root) ||
           fail("/: the link count is {}, its names make {}", root.links, links_of(root));
  }

  uint32_t links_of(const Tree::Node& node) const {
    if (node.type != FileType::kDirectory) return node.names;
    uint32_t links = 2;
    for (const Tree::Entry& e : recovered_.children(node)) {
      if (recovered_.node(e.node).type == FileType::kDirectory) ++links;
    }
    return links;
  }

  bool had_name(ObjectId object, const Name& name) const {
    const ObjectId directory = object_of_[static_cast<uint32_t>(name.directory)];
    for (size_t i = 0; i < history_.size(); ++i) {
      const Tree::Node* node = object_in(history_[i], directory);
      if (node && entry_of(history_[i], *node, name.name) == object) return true;
    }
    return false;
  }

  // The objects that had all these names, not necessarily at one time, latest first.
  std::vector<ObjectId> candidates(const Found& f) const {
    std::vector<ObjectId> out;
    const ObjectId directory = object_of_[static_cast<uint32_t>(f.names[0].directory)];
    for (size_t i = history_.size(); i-- > 0;) {
      const Tree::Node* node = object_in(history_[i], directory);
      const ObjectId object = node ? entry_of(history_[i], *node, f.names[0].name) : kNoObject;
      if (object == kNoObject || std::find(out.begin(), out.end(), object) != out.end()) continue;
      if (std::all_of(f.names.begin(), f.names.end(), [&](const Name& n) { return had_name(object, n); }))
        out.push_back(object);
    }
    return out;
  }

  bool match(size_t at) {
    if (at == found_.size()) return times_agree() && nothing_lost();
    const Found& f = found_[at];
    const std::vector<ObjectId> objects = candidates(f);
    if (objects.empty()) return fail("{}: nothing had this name in the window", f.path);
    for (const ObjectId object : objects) {
      if (std::find(object_of_.begin(), object_of_.end(), object) != object_of_.end()) {
        fail("{}: came back as a second copy of another file", f.path);
        continue;
      }
      if (!content_allowed(f, object)) continue;
      object_of_[static_cast<uint32_t>(f.node)] = object;
      if (match(at + 1)) return true;
      object_of_[static_cast<uint32_t>(f.node)] = kNoObject;
    }
    return false;
  }

  const Tree::Node& newest(ObjectId object) const {
    for (size_t i = history_.size(); i-- > 0;) {
      if (const Tree::Node* node = object_in(history_[i], object)) return *node;
    }
    SISYFS_ASSERT(false, "an object of the window is in one of its trees");
  }

  // All attributes of an object come back from one time. fsync promises them with the content.
  bool xattrs_allowed(const std::string& path, NodeId node, ObjectId object) {
    bool had = false;
    for (size_t i = 0; i < history_.size(); ++i) {
      const Tree::Node* then = object_in(history_[i], object);
      if (!then || !(then->xattrs == recovered_.node(node).xattrs)) continue;
      had = true;
      if (std::none_of(history_.promises.begin(), history_.promises.end(),
                       [&](const Promise& p) { return i < p.since && binds_xattrs(p, object); }))
        return true;
    }
    return fail("{}: came back with attributes that it never had{}", path,
                had ? " since they were promised" : "");
  }

  // Whether the promise binds attributes or mode (`only`: the promise of these alone), which `same` compares.
  template <class Same>
  bool binds(const Promise& p, ObjectId object, PromiseKind only, Same same) const {
    const bool of_it = p.kind == PromiseKind::kContent || p.kind == PromiseKind::kEntries || p.kind == only;
    if (!of_it || p.object != object) return false;
    if (p.doubt == kNoDoubt) return true;
    // After a failure of the device only what has changed since.
    const Tree::Node* promised = object_in(history_[p.since], object);
    for (size_t i = p.doubt; i < p.since; ++i) {
      const Tree::Node* then = object_in(history_[i], object);
      if (!then || !same(*then, *promised)) return true;
    }
    return false;
  }
  bool binds_xattrs(const Promise& p, ObjectId object) const {
    return binds(p, object, PromiseKind::kAttributes,
                 [](const Tree::Node& a, const Tree::Node& b) { return a.xattrs == b.xattrs; });
  }
  bool binds_mode(const Promise& p, ObjectId object) const {
    return binds(p, object, PromiseKind::kMode,
                 [](const Tree::Node& a, const Tree::Node& b) { return a.mode == b.mode; });
  }

  // The mode of an object comes back from some time, whatever its attributes are. fsync promises it with the
  // content.
  bool mode_allowed(const std::string& path, NodeId node, ObjectId object) {
    const uint16_t mode = recovered_.node(node).mode;
    bool had = false;
    for (size_t i = 0; i < history_.size(); ++i) {
      const Tree::Node* then = object_in(history_[i], object);
      if (!then || then->mode != mode) continue;
      had = true;
      if (std::none_of(history_.promises.begin(), history_.promises.end(),
                       [&](const Promise& p) { return i < p.since && binds_mode(p, object); }))
        return true;
    }
    return fail("{}: came back with mode {:o}, which it never had{}", path, mode,
                had ? " since another was promised" : "");
  }

  bool content_allowed(const Found& f, ObjectId object) {
    const Tree::Node& got = recovered_.node(f.node);
    const Tree::Node& known = newest(object);
    if (got.type != known.type) return fail("{}: came back as another type of file", f.path);
    if (!xattrs_allowed(f.path, f.node, object) || !mode_allowed(f.path, f.node, object)) return false;
    if (got.type == FileType::kDirectory) return true;
    if (got.type == FileType::kSymlink)
      return got.data == known.data || fail("{}: leads to another target than it was given", f.path);
    if (!size_allowed(history_, object, got.data.size(), rules_))
      return wrong_size(f, object, got.data.size());
    const auto wrong = first_wrong_unit(history_, object, got.data, rules_);
    if (!wrong) return true;
    const uint64_t end = std::min<uint64_t>(*wrong + rules_.data_unit, got.data.size());
    History without = history_;
    without.promises = {};
    if (!first_wrong_unit(without, object, got.data, rules_))
      return fail("bytes {}..{} of {} are older than what was promised by {}", *wrong, end - 1, f.path,
                  call_of(*promiser(object)));
    return fail("bytes {}..{} of {} were never written there", *wrong, end - 1, f.path);
  }

  // The last promise about bytes of the object; null if there is none.
  const Promise* promiser(ObjectId object) const {
    const Promise* last = nullptr;
    for (const Promise& p : history_.promises) {
      const bool bytes = p.kind == PromiseKind::kContent || p.kind == PromiseKind::kData ||
                         p.kind == PromiseKind::kWritten || p.kind == PromiseKind::kSize;
      if (bytes && p.object == object) last = &p;
    }
    return last;
  }
  static const char* call_of(const Promise& p) {
    if (p.kind == PromiseKind::kWritten) return "O_SYNC";
    if (p.kind == PromiseKind::kSize) return "truncate";
    return p.kind == PromiseKind::kData ? "fdatasync" : "fsync";
  }

  bool wrong_size(const Found& f, ObjectId object, uint64_t size) {
    const Promise* p = promiser(object);
    if (!p) return fail("{}: came back with {} bytes, a size it never had", f.path, size);
    const Tree& then = history_[p->since];
    const uint64_t promised =
        p->kind == PromiseKind::kWritten ? p->end : object_in(then, object)->data.size();
    return fail("{}: {} bytes were promised by {}, it came back with {}", f.path, promised, call_of(*p),
                size);
  }

  bool times_agree() {
    EntryTimes times(history_, rules_);
    for (uint32_t id = 0; id < object_of_.size(); ++id) {
      if (object_of_[id] == kNoObject) continue;
      const Tree::Node& node = recovered_.node(NodeId{id});
      if (node.type == FileType::kDirectory) times.add_directory(object_of_[id]);
    }
    for (const Found& f : found_) {
      for (const Name& n : f.names) {
        times.occupy(object_of_[static_cast<uint32_t>(n.directory)], n.name,
                     object_of_[static_cast<uint32_t>(f.node)]);
      }
    }
    const EntryTimes::Entry* wrong = times.settle();
    if (!wrong) return true;
    if (!why_ || !why_->empty()) return false;
    return fail("{}", times.complaint(*wrong));
  }

  // The position from which an object is promised to be reachable, for objects that are not in the first
  // tree. fsync of a directory promises its entries once the directory itself is reachable, if it holds them
  // until then.
  std::vector<std::pair<ObjectId, size_t>> reachable() const {
    std::vector<std::pair<ObjectId, size_t>> from;
    for (const Promise& p : history_.promises) {
      const ObjectId object = named_by(p);
      if (object == kNoObject) continue;
      from.emplace_back(object, p.since);
      add_directories_above(history_[p.since], object, p.since, from);
    }
    if (mutant(Mutant::kIgnoreMoved)) return from;
    // Repeat until nothing is added: a reachable directory makes its entries reachable.
    for (size_t known = from.size() + 1; known != from.size();) {
      known = from.size();
      for (const Promise& p : history_.promises) {
        const size_t here = p.kind == PromiseKind::kEntries ? reachable_since(from, p.object) : kNever;
        if (here == kNever) continue;
        const Tree& then = history_[p.since];
        for (const Tree::Entry& e : then.children(*object_in(then, p.object))) {
          if (history_.in_doubt(p, p.object, e.name())) continue;
          const ObjectId object = then.birth(e.node);
          const size_t since = std::max(p.since, here);
          if (reachable_since(from, object) > since && stays(object, p.object, p.since, since))
            from.emplace_back(object, since);
        }
      }
    }
    return from;
  }

  // The object that must come back because the promise covers a name of it; kNoObject if there is none.
  ObjectId named_by(const Promise& p) const {
    const Tree& then = history_[p.since];
    if (p.kind == PromiseKind::kEntry) return entry_of(then, *object_in(then, p.object), p.name);
    if (p.kind != PromiseKind::kName) return kNoObject;
    if (p.doubt == kNoDoubt) return p.object;
    // After a failure of the device only a name that was given since.
    for (uint32_t id = 0; id < then.node_limit(); ++id) {
      if (!then.has_node(NodeId{id})) continue;
      for (const Tree::Entry& e : then.children(NodeId{id})) {
        if (then.birth(e.node) == p.object && !history_.in_doubt(p, then.birth(NodeId{id}), e.name()))
          return p.object;
      }
    }
    return kNoObject;
  }

  // A promised name needs the directories on the way to it.
  static void add_directories_above(const Tree& then, ObjectId object, size_t since,
                                    std::vector<std::pair<ObjectId, size_t>>& from) {
    for (uint32_t id = 0; id < then.node_limit(); ++id) {
      if (then.has_node(NodeId{id}) && is_within(then, then.node(NodeId{id}), object))
        from.emplace_back(then.birth(NodeId{id}), since);
    }
  }

  static constexpr size_t kNever = SIZE_MAX;
  size_t reachable_since(const std::vector<std::pair<ObjectId, size_t>>& from, ObjectId object) const {
    if (object_in(history_[0], object)) return 0;
    size_t since = kNever;
    for (const auto& [known, position] : from)
      if (known == object) since = std::min(since, position);
    return since;
  }

  // Whether the directory holds the object in all these trees.
  bool stays(ObjectId object, ObjectId directory, size_t first, size_t last) const {
    for (size_t i = first; i <= last; ++i) {
      if (!sisyfs::holds(history_[i], directory, object)) return false;
    }
    return true;
  }

  bool nothing_lost() {
    if (mutant(Mutant::kIgnoreMissing)) return true;
    const Tree& last = history_[history_.last()];
    for (uint32_t id = 0; id < last.node_limit(); ++id) {
      if (!last.has_node(NodeId{id})) continue;
      const ObjectId object = last.birth(NodeId{id});
      if (std::find(object_of_.begin(), object_of_.end(), object) != object_of_.end()) continue;
      const size_t since = reachable_since(reachable(), object);
      if (since == kNever) continue;
      if (!why_) return false;
      const std::string path = path_of(last, object);
      if (since == 0) return fail("{}: was there all the time and is gone", path);
      if (last.node(NodeId{id}).type != FileType::kFile || history_.since(PromiseKind::kName, object) == 0)
        return fail("{}: was promised by fsync and is gone", path);
      return fail("{}: {} bytes were promised by fsync, the file is gone", path,
                  object_in(history_[since], object)->data.size());
    }
    return true;
  }

  const History& history_;
  const ContractRules& rules_;
  const Tree& recovered_;
  std::string* why_;
  std::vector<Found> found_;         // all recovered nodes except the root
  std::vector<ObjectId> object_of_;  // by node of recovered_
};

}  // namespace

bool fsync_allows(const History& history, const ContractRules& rules, const Tree& recovered,
                  std::string* why) {
  return Matcher(history, rules, recovered, why).allowed();
}

}  // namespace sisyfs
