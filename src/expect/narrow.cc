#include "expect/narrow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace sisyfs {
namespace {

struct Named {
  std::string path;
  NodeId node;
};

void add_paths(const Tree& tree, NodeId directory, const std::string& path, std::vector<Named>& out) {
  for (const Tree::Entry& e : tree.children(directory)) {
    out.push_back({path + "/" + std::string(e.name()), e.node});
    if (tree.node(e.node).type == FileType::kDirectory) add_paths(tree, e.node, out.back().path, out);
  }
}

std::vector<Named> named_in(const Tree& tree) {
  std::vector<Named> out;
  add_paths(tree, kRootNode, "", out);
  return out;
}

// Null if the path leads nowhere. Follows no last symbolic link.
const Tree::Node* at(const Tree& tree, std::string_view path) {
  Stat stat;
  return tree.lstat(path, &stat) == 0 ? &tree.node(stat.node) : nullptr;
}

ObjectId object_at(const Tree& tree, std::string_view path) {
  Stat stat;
  return tree.lstat(path, &stat) == 0 ? tree.birth(stat.node) : kNoObject;
}

std::vector<std::byte> bytes_of(const FileData& data) {
  std::vector<std::byte> out(data.size());
  (void)data.read(0, out);
  return out;
}

class Narrow {
 public:
  Narrow(const History& history, const Tree& recovered, std::string* why)
      : history_(history), recovered_(recovered), why_(why) {}

  bool promised() const {
    return durable_start() &&
           std::all_of(history_.promises.begin(), history_.promises.end(), [&](const Promise& p) {
             switch (p.kind) {
               case PromiseKind::kName:
                 return name_kept(p);
               case PromiseKind::kEntries:
                 return entries_kept(p);
               default:
                 return content_kept(p);
             }
           });
  }

  bool whole() const {
    for (const auto& [path, node] : named_in(history_[0])) {
      bool always = true;
      for (size_t i = 0; i < history_.size() && always; ++i) {
        const Tree::Node* then = at(history_[i], path);
        always = then != nullptr && then->type == FileType::kFile;
      }
      if (!always) continue;
      const Tree::Node* got = at(recovered_, path);
      if (got == nullptr || got->type != FileType::kFile)
        return fail("{}: had this name all the time and is gone", path);
      bool known = false;
      for (size_t i = 0; i < history_.size() && !known; ++i) known = at(history_[i], path)->data == got->data;
      if (!known)
        return fail("{}: came back with {} bytes, a content that it never had as a whole", path,
                    got->data.size());
    }
    return true;
  }

  bool fresh() const {
    for (const auto& [path, node] : named_in(recovered_)) {
      if (recovered_.node(node).type != FileType::kFile) continue;
      const std::vector<std::byte> got = bytes_of(recovered_.node(node).data);
      std::vector<bool> right(got.size());
      bool known = false;
      for (size_t i = 0; i < history_.size(); ++i) {
        const Tree::Node* then = at(history_[i], path);
        if (then == nullptr || then->type != FileType::kFile) continue;
        known = true;
        const std::vector<std::byte> had = bytes_of(then->data);
        for (size_t k = 0; k < std::min(got.size(), had.size()); ++k)
          if (got[k] == had[k]) right[k] = true;
      }
      // A repair tool gives names of its own to what it finds.
      if (!known) continue;
      for (size_t k = 0; k < got.size(); ++k)
        if (!right[k] && got[k] != std::byte{0})
          return fail("{}: has bytes at {} that were never written there", path, k);
    }
    return true;
  }

 private:
  template <class... Args>
  bool fail(fmt::format_string<Args...> format, Args&&... args) const {
    if (why_ && why_->empty()) *why_ = fmt::format(format, std::forward<Args>(args)...);
    return false;
  }

  // Whether the path leads to the object in all trees from this position on.
  bool stays(std::string_view path, ObjectId object, size_t since) const {
    for (size_t i = since; i < history_.size(); ++i)
      if (object_at(history_[i], path) != object) return false;
    return true;
  }

  // Whether this of the object is the same in all trees from a position on.
  template <class Get>
  bool is_constant(ObjectId object, size_t since, Get get) const {
    const auto& first = get(*object_in(history_[since], object));
    for (size_t i = since + 1; i < history_.size(); ++i) {
      const Tree::Node* then = object_in(history_[i], object);
      if (then == nullptr || !(get(*then) == first)) return false;
    }
    return true;
  }

  bool attributes_kept(std::string_view path, ObjectId object, size_t since, const Tree::Node& got) const {
    const Tree::Node& then = *object_in(history_[since], object);
    const auto mode = [](const Tree::Node& n) -> const uint16_t& { return n.mode; };
    const auto xattrs = [](const Tree::Node& n) -> const Xattrs& { return n.xattrs; };
    if (is_constant(object, since, mode) && got.mode != then.mode)
      return fail("{}: its mode was {:o}, it came back with {:o}", path, then.mode, got.mode);
    if (is_constant(object, since, xattrs) && !(got.xattrs == then.xattrs))
      return fail("{}: came back with other attributes", path);
    return true;
  }

  bool data_kept(std::string_view path, ObjectId object, size_t since, const Tree::Node& got) const {
    const auto data = [](const Tree::Node& n) -> const FileData& { return n.data; };
    const FileData& then = object_in(history_[since], object)->data;
    if (!is_constant(object, since, data) || got.data == then) return true;
    if (got.type == FileType::kSymlink) return fail("{}: leads elsewhere", path);
    if (got.data.size() != then.size())
      return fail("{}: had {} bytes, it came back with {}", path, then.size(), got.data.size());
    return fail("{}: has other bytes from byte {} on", path, then.first_difference(got.data));
  }

  // Whether the object is one and the same in all trees, but for its names.
  bool is_untouched(ObjectId object) const {
    const auto data = [](const Tree::Node& n) -> const FileData& { return n.data; };
    const auto mode = [](const Tree::Node& n) -> const uint16_t& { return n.mode; };
    const auto xattrs = [](const Tree::Node& n) -> const Xattrs& { return n.xattrs; };
    const auto links = [](const Tree::Node& n) -> const uint32_t& { return n.links; };
    const bool directory = object_in(history_[0], object)->type == FileType::kDirectory;
    return is_constant(object, 0, data) && is_constant(object, 0, mode) && is_constant(object, 0, xattrs) &&
           (directory || is_constant(object, 0, links));
  }

  // All of the first tree is durable.
  bool durable_start() const {
    for (const auto& [path, node] : named_in(history_[0])) {
      const ObjectId object = history_[0].birth(node);
      if (!stays(path, object, 1) || !is_untouched(object)) continue;
      const Tree::Node* got = at(recovered_, path);
      if (got == nullptr) return fail("{}: was durable and is gone", path);
      const Tree::Node& then = history_[0].node(node);
      if (got->type != then.type) return fail("{}: came back as another type of file", path);
      if (!attributes_kept(path, object, 0, *got) || !data_kept(path, object, 0, *got)) return false;
      if (then.type == FileType::kFile && got->links != then.links)
        return fail("{}: had {} links, it came back with {}", path, then.links, got->links);
    }
    if (history_.size() != 1 || !history_.sees_all) return true;
    // While nothing else is going on, there is nothing else.
    for (const auto& [path, node] : named_in(recovered_))
      if (at(history_[0], path) == nullptr)
        return fail("{}: is there, and was not when all was made durable", path);
    return true;
  }

  // The paths of the object then that still lead to it.
  std::vector<std::string> kept_paths(const Promise& p) const {
    std::vector<std::string> out;
    for (const auto& [path, node] : named_in(history_[p.since]))
      if (history_[p.since].birth(node) == p.object && stays(path, p.object, p.since)) out.push_back(path);
    return out;
  }

  bool name_kept(const Promise& p) const {
    for (const std::string& path : kept_paths(p)) {
      const Tree::Node* got = at(recovered_, path);
      if (got == nullptr) return fail("{}: its name was durable, it is gone", path);
      if (got->type != object_in(history_[p.since], p.object)->type)
        return fail("{}: came back as another type of file", path);
    }
    return true;
  }

  // Under a path that has led to this object alone: what is there is this file.
  bool content_kept(const Promise& p) const {
    for (const std::string& path : kept_paths(p)) {
      bool alone = true;
      for (size_t i = 0; i < p.since && alone; ++i) {
        const ObjectId then = object_at(history_[i], path);
        alone = then == kNoObject || then == p.object;
      }
      const Tree::Node* got = alone ? at(recovered_, path) : nullptr;
      if (got == nullptr && stays(path, p.object, 0))
        return fail("{}: was durable under this name and is gone", path);
      if (got == nullptr) continue;
      if (got->type != FileType::kFile) return fail("{}: came back as another type of file", path);
      if (p.kind == PromiseKind::kContent) {
        if (!attributes_kept(path, p.object, p.since, *got)) return false;
        if (!data_kept(path, p.object, p.since, *got)) return false;
      } else if (!bytes_kept(path, p, *got)) {
        return false;
      }
    }
    return true;
  }

  // The bytes that fdatasync or O_SYNC covers.
  bool bytes_kept(std::string_view path, const Promise& p, const Tree::Node& got) const {
    const auto data = [](const Tree::Node& n) -> const FileData& { return n.data; };
    if (!is_constant(p.object, p.since, data)) return true;
    FileData had = object_in(history_[p.since], p.object)->data, has = got.data;
    const bool of_write = p.kind == PromiseKind::kWritten;
    const uint64_t from = of_write ? p.offset : 0, end = of_write ? p.end : had.size();
    if (has.size() < end)
      return fail("{}: {} bytes were durable, it came back with {}", path, end, has.size());
    const std::vector<std::byte> a = bytes_of(had), b = bytes_of(has);
    for (uint64_t i = from; i < end; ++i)
      if (a[i] != b[i]) return fail("{}: has other bytes from byte {} on", path, i);
    return true;
  }

  // Whether the object itself is on the disk, beside its name: fsync of a directory promises names alone.
  bool is_durable(ObjectId object, size_t since) const {
    if (object_in(history_[0], object) != nullptr) return true;
    return std::any_of(history_.promises.begin(), history_.promises.end(), [&](const Promise& p) {
      const bool of_all = p.kind == PromiseKind::kContent || p.kind == PromiseKind::kEntries;
      return of_all && p.object == object && p.since <= since;
    });
  }

  bool entries_kept(const Promise& p) const {
    const Tree& then = history_[p.since];
    const std::string path = path_of(then, p.object);
    if (p.object != kRootObject && !stays(path, p.object, p.since)) return true;
    const Tree::Node* got = at(recovered_, path);
    if (got == nullptr || got->type != FileType::kDirectory) return true;
    const std::string in = path == "/" ? "" : path;
    for (const Tree::Entry& e : then.children(*object_in(then, p.object))) {
      const std::string below = in + "/" + std::string(e.name());
      const ObjectId object = then.birth(e.node);
      if (!stays(below, object, p.since) || !is_durable(object, p.since)) continue;
      const Tree::Node* there = at(recovered_, below);
      if (there == nullptr) return fail("{}: its name was durable, it is gone", below);
      if (there->type != then.node(e.node).type) return fail("{}: came back as another type of file", below);
    }
    // Names that were known and are durably gone.
    for (const Tree::Entry& e : recovered_.children(*got)) {
      const std::string below = in + "/" + std::string(e.name());
      bool known = false;
      for (size_t i = 0; i < p.since; ++i) known = known || at(history_[i], below) != nullptr;
      if (known && stays(below, kNoObject, p.since)) return fail("{}: was durably gone, it is there", below);
    }
    return true;
  }

  const History& history_;
  const Tree& recovered_;
  std::string* why_;
};

}  // namespace

bool narrow_allows(Contract contract, const History& history, const Tree& recovered, std::string* why) {
  const Narrow narrow(history, recovered, why);
  if (contract == Contract::kPromised) return narrow.promised();
  if (contract == Contract::kWhole) return narrow.whole();
  SISYFS_ASSERT(contract == Contract::kFresh, "one of the narrow contracts");
  return narrow.fresh();
}

}  // namespace sisyfs
