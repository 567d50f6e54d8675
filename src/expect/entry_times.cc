#include "expect/entry_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/mutant.h"

namespace sisyfs {
namespace {

// A name, with the directory that holds it.
using NameIn = std::pair<ObjectId, std::string_view>;

std::vector<NameIn> names_of(const Tree& tree, NodeId object) {
  std::vector<NameIn> out;
  for (uint32_t id = 0; id < tree.node_limit(); ++id) {
    if (!tree.has_node(NodeId{id})) continue;
    for (const Tree::Entry& e : tree.children(NodeId{id})) {
      if (e.node == object) out.emplace_back(tree.birth(NodeId{id}), e.name());
    }
  }
  return out;
}

bool has(const std::vector<NameIn>& names, const NameIn& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

EntryTimes::Entry* EntryTimes::find(ObjectId directory, std::string_view name) {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& e) { return e.directory == directory && e.name == name; });
  return at == entries_.end() ? nullptr : &*at;
}

void EntryTimes::add_directory(ObjectId directory) {
  for (size_t i = 0; i < history_.size(); ++i) {
    const Tree::Node* node = object_in(history_[i], directory);
    if (!node) continue;
    for (const Tree::Entry& e : history_[i].children(*node)) {
      if (!find(directory, e.name()))
        entries_.push_back({directory, e.name(), kNoObject, {}, 0, false, nullptr});
    }
  }
}

void EntryTimes::occupy(ObjectId directory, std::string_view name, ObjectId occupant) {
  Entry* entry = find(directory, name);
  SISYFS_ASSERT(entry, "an object is matched by names that its directory had");
  entry->occupant = occupant;
}

const Promise* EntryTimes::promise_about(const Entry& entry) const {
  const Promise* latest = nullptr;
  for (const Promise& p : history_.promises) {
    const bool of_directory =
        p.kind == PromiseKind::kEntries && p.object == entry.directory && !mutant(Mutant::kOldEntries);
    const bool of_entry =
        p.kind == PromiseKind::kEntry && p.object == entry.directory && p.name == entry.name;
    const bool of_occupant = p.kind == PromiseKind::kName && p.object == entry.occupant;
    if (!of_directory && !of_entry && !of_occupant && !binds_entry(history_, p, entry.directory, entry.name))
      continue;
    if (history_.in_doubt(p, entry.directory, entry.name)) continue;
    if (!latest || p.since >= latest->since) latest = &p;
  }
  return latest;
}

const EntryTimes::Entry* EntryTimes::settle() {
  for (Entry& entry : entries_) {
    entry.by = promise_about(entry);
    const size_t since = entry.by ? entry.by->since : 0;
    entry.times.assign(history_.size(), false);
    for (size_t i = since; i < history_.size(); ++i) {
      const Tree::Node* node = object_in(history_[i], entry.directory);
      entry.times[i] = node && entry_of(history_[i], *node, entry.name) == entry.occupant;
    }
    if (!move_back(entry, history_.last())) return &entry;
  }
  find_renames();
  if (mutant(Mutant::kHalfRename)) return nullptr;
  for (bool moved = true; moved;) {
    moved = false;
    for (const Rename& r : renames_) {
      // Before the rename, the old entry exists and the new one does not. If one entry is from before the
      // rename, so is the other. With rename_both the old entry may stay beside the new one.
      Entry* late = nullptr;
      if (r.to->time <= r.step && r.from->time > r.step) late = r.from;
      if (r.from->time <= r.step && r.to->time > r.step && !rules_.rename_both) late = r.to;
      if (!late) continue;
      // A refused rename that did not happen: an entry from after it is also from before it.
      if (r.undone && late->time > r.step + 1) continue;
      if (r.undoes && late == r.from && r.to->time < r.step) continue;
      if (!move_back(*late, r.step)) {
        if (r.undoes && late == r.from && r.step > 0 && move_back(*r.to, r.step - 1)) {
          moved = true;
          continue;
        }
        late->renamed = true;
        return late;
      }
      moved = true;
    }
  }
  return nullptr;
}

bool EntryTimes::move_back(Entry& entry, size_t limit) {
  for (size_t i = limit + 1; i-- > 0;) {
    if (!entry.times[i]) continue;
    entry.time = i;
    return true;
  }
  return false;
}

void EntryTimes::find_renames() {
  renames_.clear();
  for (size_t step = 0; step + 1 < history_.size(); ++step) {
    const Tree& tree = history_[step];
    for (uint32_t id = 0; id < tree.node_limit(); ++id) {
      if (tree.has_node(NodeId{id})) find_renames(step, tree.birth(NodeId{id}));
    }
  }
}

void EntryTimes::find_renames(size_t step, ObjectId object) {
  const NodeId next = find_object(history_[step + 1], object);
  if (next == kNoNode) return;
  const std::vector<NameIn> before = names_of(history_[step], find_object(history_[step], object));
  const std::vector<NameIn> after = names_of(history_[step + 1], next);
  // A call that takes a name from an object and gives it another name is a rename.
  for (const NameIn& from : before) {
    if (has(after, from)) continue;
    for (const NameIn& to : after) {
      if (has(before, to)) continue;
      Entry* old_entry = find(from.first, from.second);
      Entry* new_entry = find(to.first, to.second);
      // Entries of a directory that did not come back are not constrained.
      const auto is_undone = [&](size_t tree) {
        return std::find(history_.undone.begin(), history_.undone.end(), tree) != history_.undone.end();
      };
      if (old_entry && new_entry)
        renames_.push_back({step, old_entry, new_entry, is_undone(step + 1), is_undone(step)});
    }
  }
}

std::string EntryTimes::complaint(const Entry& entry) const {
  std::string path;
  for (size_t i = history_.size(); i-- > 0 && path.empty();) path = path_of(history_[i], entry.directory);
  path = (path == "/" ? "" : path) + "/" + std::string(entry.name);
  if (entry.renamed && entry.occupant == kNoObject)
    return fmt::format("{}: is gone, although the rename of it did not happen", path);
  if (entry.renamed) return fmt::format("{}: is there, and so is its other name of a rename", path);
  if (!entry.by) return fmt::format("{}: the name was in use all the time and is gone", path);
  if (entry.by->kind == PromiseKind::kEntry)
    return fmt::format("{}: is not what a call left there that was durable when it returned", path);
  const bool by_directory = entry.by->kind == PromiseKind::kEntries;
  const Tree::Node* promised = object_in(history_[entry.by->since], entry.by->object);
  if (entry.occupant == kNoObject && !by_directory && promised->type == FileType::kFile &&
      promised->names == 1)
    return fmt::format("{}: {} bytes were promised by fsync, the file is gone", path, promised->data.size());
  if (entry.occupant == kNoObject)
    return fmt::format("{}: was promised by fsync of {} and is gone", path,
                       by_directory ? "its directory" : "the file");
  const char* what = entry.by->object == entry.occupant ? "it" : "what has the name now";
  return fmt::format("{}: came back under a name that it no longer had when fsync of {} returned", path,
                     by_directory ? "its directory" : what);
}

}  // namespace sisyfs
