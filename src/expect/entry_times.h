// EntryTimes: decides whether each entry of the recovered directories can be from some time of the window,
// such that every rename happened in both of its entries or in neither. See fsync.h for why this is exact.
//
//   EntryTimes times(history, rules);
//   times.add_directory(kRootObject);
//   times.occupy(kRootObject, "a", file);    // names that are not occupied came back free
//   if (const auto* wrong = times.settle()) report(times.complaint(*wrong));
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expect/contract.h"
#include "expect/history.h"

namespace sisyfs {

class EntryTimes {
 public:
  struct Entry {
    ObjectId directory = kNoObject;
    std::string_view name;  // lives in a tree
    ObjectId occupant = kNoObject;
    std::vector<bool> times;      // by position in the window: the entry then equals the recovered one
    size_t time = 0;              // the latest position that is not excluded
    bool renamed = false;         // a rename excluded its last possible time
    const Promise* by = nullptr;  // the promise that excludes the most times; null if there is none
  };

  EntryTimes(const History& history, const ContractRules& rules) : history_(history), rules_(rules) {}

  // Adds a recovered directory. All directories are added before any occupant.
  void add_directory(ObjectId directory);
  // Adds a recovered entry. The directory must have had the name at some time of the window.
  void occupy(ObjectId directory, std::string_view name, ObjectId occupant);
  // Null if every entry has a possible time, otherwise an entry that has none.
  const Entry* settle();
  // A sentence that says what is wrong with an entry returned by settle().
  std::string complaint(const Entry& entry) const;

 private:
  // A rename between `step` and the tree after it.
  struct Rename {
    size_t step;
    Entry* from;
    Entry* to;
    bool undone;  // the next step takes it back: the call was refused
    bool undoes;  // it takes back the step before
  };

  Entry* find(ObjectId directory, std::string_view name);
  void find_renames();
  void find_renames(size_t step, ObjectId object);
  // The latest promise that covers the entry, as recovered; null if there is none.
  const Promise* promise_about(const Entry& entry) const;
  // Moves the entry to its latest possible time up to `limit`; false if there is none.
  static bool move_back(Entry& entry, size_t limit);

  const History& history_;
  const ContractRules& rules_;
  std::vector<Entry> entries_;
  std::vector<Rename> renames_;
};

}  // namespace sisyfs
