#include "expect/broken_promise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "expect/fsync.h"
#include "expect/names.h"
#include "expect/narrow.h"
#include "expect/ordered.h"

namespace sisyfs {
namespace {

std::string bytes_text(uint64_t count) { return fmt::format("{} byte{}", count, count == 1 ? "" : "s"); }

const char* type_text(FileType type) {
  switch (type) {
    case FileType::kFile:
      return "a file";
    case FileType::kDirectory:
      return "a directory";
    case FileType::kSymlink:
      return "a symbolic link";
  }
  return "?";
}

// The node with this path; null if there is none.
const Tree::Node* at_path(const Tree& tree, const std::string& path) {
  Stat stat;
  return tree.lstat(path, &stat) == 0 ? &tree.node(stat.node) : nullptr;
}

void add_paths(const Tree& tree, NodeId directory, const std::string& path, std::vector<std::string>& out) {
  for (const Tree::Entry& e : tree.children(directory)) {
    out.push_back(fmt::format("{}/{}", path, e.name()));
    add_paths(tree, e.node, std::string(out.back()), out);
  }
}

// All paths of a tree except the root, each directory before its entries.
std::vector<std::string> paths_in(const Tree& tree) {
  std::vector<std::string> out;
  add_paths(tree, kRootNode, "", out);
  return out;
}

class PromiseChecker {
 public:
  PromiseChecker(const History& history, const Tree& recovered) : history_(history), recovered_(recovered) {}

  // What was promised, as text.
  std::string promised(const Promise& p) const {
    const Tree& then = history_[p.since];
    const std::string path = path_of(then, p.object);
    const uint64_t size = object_in(then, p.object)->data.size();
    switch (p.kind) {
      case PromiseKind::kContent:
        return fmt::format("what {} holds ({})", path, bytes_text(size));
      case PromiseKind::kData:
        return fmt::format("the data of {} ({})", path, bytes_text(size));
      case PromiseKind::kWritten:
        return fmt::format("bytes {}..{} of {}", p.offset, p.end - 1, path);
      case PromiseKind::kName:
        return names_text(paths_of(p.object, p.since, p.since));
      case PromiseKind::kEntries:
        return fmt::format("the names in {}", path);
      case PromiseKind::kSize:
        return fmt::format("the size of {} ({})", path, bytes_text(size));
      case PromiseKind::kEntry: {
        const bool there = entry_of(then, *object_in(then, p.object), p.name) != kNoObject;
        return fmt::format("that {}/{} is {}", path == "/" ? "" : path, p.name, there ? "there" : "gone");
      }
      case PromiseKind::kAttributes:
        return fmt::format("the attributes of {}", path);
      case PromiseKind::kMode:
        return fmt::format("the mode of {} ({:o})", path, object_in(then, p.object)->mode);
      case PromiseKind::kTree:
        return "names, sizes and attributes";
    }
    return {};
  }

  // How the recovered tree contradicts the promise; empty if no simple contradiction is found.
  std::string against(const Promise& p) const {
    switch (p.kind) {
      case PromiseKind::kName:
        return against_name(p);
      case PromiseKind::kEntries:
        return against_entries(p);
      case PromiseKind::kEntry:
      case PromiseKind::kAttributes:
      case PromiseKind::kMode:
      case PromiseKind::kTree:
        return {};
      default:
        return against_content(p);
    }
  }

  // For the promise that covers the whole first tree: a path that never changed in the window and came back
  // missing or changed, or a path that came back and is in no tree of the window.
  std::optional<BrokenPromise> against_all() const {
    for (const std::string& path : paths_in(history_[0])) {
      const std::string wrong = against_path(path);
      if (!wrong.empty()) return BrokenPromise{history_.covered_by, promise_of(path), wrong};
    }
    for (const std::string& path : paths_in(recovered_)) {
      if (!known(path))
        return BrokenPromise{history_.covered_by, "what there is",
                             fmt::format("{} is there, which has not been there since", path)};
    }
    return std::nullopt;
  }

 private:
  bool known(const std::string& path) const {
    for (size_t i = 0; i < history_.size(); ++i)
      if (at_path(history_[i], path)) return true;
    return false;
  }

  // The paths of the object at positions `first` to `last`, latest first.
  std::vector<std::string> paths_of(ObjectId object, size_t first, size_t last) const {
    std::vector<std::string> out;
    for (size_t i = last + 1; i-- > first;) {
      for (const std::string& path : paths_in(history_[i])) {
        Stat stat;
        const bool it = history_[i].lstat(path, &stat) == 0 && history_[i].birth(stat.node) == object;
        if (it && std::find(out.begin(), out.end(), path) == out.end()) out.push_back(path);
      }
    }
    return out;
  }

  // The first of these paths that came back with this type; empty if none did.
  std::string there(const std::vector<std::string>& paths, FileType type) const {
    for (const std::string& path : paths) {
      const Tree::Node* node = at_path(recovered_, path);
      if (node && node->type == type) return path;
    }
    return {};
  }

  static std::string names_text(const std::vector<std::string>& paths) {
    if (paths.size() == 1) return fmt::format("that {} is there", paths[0]);
    return fmt::format("that {} are there", fmt::join(paths, " and "));
  }

  // Whether something had this path at all times since the promise.
  bool was_in_use(const std::string& path, size_t since) const {
    for (size_t i = since; i < history_.size(); ++i)
      if (!at_path(history_[i], path)) return false;
    return true;
  }

  std::string against_name(const Promise& p) const {
    const FileType type = object_in(history_[p.since], p.object)->type;
    for (const std::string& path : paths_of(p.object, p.since, p.since)) {
      if (!was_in_use(path, p.since) || at_path(recovered_, path)) continue;
      const std::string other = there(paths_of(p.object, 0, history_.last()), type);
      if (!other.empty()) return fmt::format("{} is absent, and {} is there", path, other);
      return fmt::format("{} is absent", path);
    }
    if (!there(paths_of(p.object, p.since, history_.last()), type).empty()) return {};
    const std::string path = path_of(history_[p.since], p.object);
    const std::string older = there(paths_of(p.object, 0, p.since), type);
    if (older.empty()) return fmt::format("{} is absent", path);
    return fmt::format("{} is absent, and {} is there", path, older);
  }

  std::string against_entries(const Promise& p) const {
    const Tree::Node* then = object_in(history_[p.since], p.object);
    const std::vector<std::string> paths = paths_of(p.object, 0, history_.last());
    const std::string path = p.object == kRootObject ? "/" : there(paths, FileType::kDirectory);
    const Tree::Node* got = path.empty() ? nullptr : at_path(recovered_, path);
    if (!got) return {};
    const std::string in = path == "/" ? "" : path;
    for (const Tree::Entry& e : history_[p.since].children(*then)) {
      if (was_always(p, e.name(), true) && entry_of(recovered_, *got, e.name()) == kNoObject)
        return fmt::format("{}/{} is absent", in, e.name());
    }
    for (const Tree::Entry& e : recovered_.children(*got)) {
      if (was_always(p, e.name(), false)) return fmt::format("{}/{} is there", in, e.name());
    }
    return {};
  }

  // Whether the name was used (or free) in the directory at all times since the promise.
  bool was_always(const Promise& p, std::string_view name, bool used) const {
    for (size_t i = p.since; i < history_.size(); ++i) {
      const Tree::Node* node = object_in(history_[i], p.object);
      if (node && (entry_of(history_[i], *node, name) != kNoObject) != used) return false;
    }
    return true;
  }

  std::string against_content(const Promise& p) const {
    const std::string path = there(paths_of(p.object, 0, history_.last()), FileType::kFile);
    if (path.empty()) return {};
    const FileData& promised = object_in(history_[p.since], p.object)->data;
    return different(path, promised, at_path(recovered_, path)->data, p);
  }

  static std::string different(const std::string& path, const FileData& promised, const FileData& got,
                               const Promise& p) {
    const bool exact = p.kind == PromiseKind::kContent || p.kind == PromiseKind::kSize;
    const bool of_write = p.kind == PromiseKind::kWritten;
    const uint64_t needed = of_write ? p.end : promised.size();
    if (exact ? got.size() != needed : got.size() < needed)
      return fmt::format("{} has {}", path, bytes_text(got.size()));
    FileData a = promised, b = got;
    if (of_write) {
      // Compare only the bytes of that write.
      const std::vector<std::byte> zeros(p.offset);
      a.write(0, zeros), b.write(0, zeros);
    }
    a.resize(needed), b.resize(needed);
    const uint64_t at = a.first_difference(b);
    if (at >= needed) return {};
    return fmt::format("{} has other bytes from byte {} on", path, at);
  }

  std::string promise_of(const std::string& path) const {
    const Tree::Node* node = at_path(history_[0], path);
    if (node->type == FileType::kFile) return fmt::format("{} ({})", path, bytes_text(node->data.size()));
    return path;
  }

  // If the path existed with one type all the time, it must come back; and if its bytes never changed, with
  // them.
  std::string against_path(const std::string& path) const {
    const Tree::Node* then = at_path(history_[0], path);
    bool bytes = true;
    for (size_t i = 1; i < history_.size(); ++i) {
      const Tree::Node* node = at_path(history_[i], path);
      if (!node || node->type != then->type) return {};
      bytes = bytes && node->data == then->data;
    }
    const Tree::Node* got = at_path(recovered_, path);
    if (!got) return fmt::format("{} is absent", path);
    if (got->type != then->type) return fmt::format("{} is {}", path, type_text(got->type));
    if (!bytes || got->data == then->data) return {};
    if (then->type == FileType::kSymlink) return fmt::format("{} leads elsewhere", path);
    return different(path, then->data, got->data, Promise{});
  }

  const History& history_;
  const Tree& recovered_;
};

}  // namespace

std::optional<BrokenPromise> first_broken_promise(Contract contract, const History& history,
                                                  const ContractRules& rules, const Tree& recovered) {
  const PromiseChecker checker(history, recovered);
  if (contract == Contract::kStructure) return std::nullopt;
  if (contract == Contract::kAtomic) return checker.against_all();
  const auto narrow = [contract](const History& trees, const ContractRules&, const Tree& tree,
                                 std::string* why) { return narrow_allows(contract, trees, tree, why); };
  using Allows = std::function<bool(const History&, const ContractRules&, const Tree&, std::string*)>;
  const Allows allows = contract == Contract::kOrdered ? Allows(ordered_allows)
                        : contract == Contract::kNames ? Allows(names_allows)
                        : is_narrow(contract)          ? Allows(narrow)
                                                       : Allows(fsync_allows);
  // Promises are added one by one. The first one with which the tree is not allowed is the broken one.
  History believed = history;
  believed.promises = {};
  if (!allows(believed, rules, recovered, nullptr)) return checker.against_all();
  for (size_t i = 0; i < history.promises.size(); ++i) {
    believed.promises = history.promises.first(i + 1);
    std::string why;
    if (allows(believed, rules, recovered, &why)) continue;
    const Promise& broken = history.promises[i];
    const std::string seen = checker.against(broken);
    return BrokenPromise{broken.call, checker.promised(broken), seen.empty() ? why : seen};
  }
  return std::nullopt;
}

}  // namespace sisyfs
