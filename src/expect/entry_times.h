// EntryTimes: whether the entries of the directories that came back can each be of a time of the window,
// with every rename done in both of its entries or in none. See fsync.h for why this is exact.
//
//   EntryTimes times(history, rules);
//   times.add_directory(kRootObject);
//   times.occupy(kRootObject, "a", file);    // what is not occupied came back empty
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
    std::vector<bool> times;  // by position in the window: what is there then is what came back
    size_t time = 0;          // the latest that is not excluded
    bool renamed = false;     // it ran out of times by a rename
  };

  EntryTimes(const History& history, const ContractRules& rules) : history_(history), rules_(rules) {}

  // A directory that came back; all directories come before all occupants.
  void add_directory(ObjectId directory);
  // The name must be one that the directory had in the window.
  void occupy(ObjectId directory, std::string_view name, ObjectId occupant);
  // Null if there are times for all entries, otherwise the entry for which there is none.
  const Entry* settle();
  // What is wrong with an entry that settle() gave.
  std::string complaint(const Entry& entry) const;

 private:
  // A rename between `step` and the tree after it.
  struct Rename {
    size_t step;
    Entry* from;
    Entry* to;
  };

  Entry* find(ObjectId directory, std::string_view name);
  void find_renames();
  void find_renames(size_t step, ObjectId object);
  // Moves the entry to a time up to `limit`; false if there is none.
  static bool move_back(Entry& entry, size_t limit);

  const History& history_;
  const ContractRules& rules_;
  std::vector<Entry> entries_;
  std::vector<Rename> renames_;
};

}  // namespace sisyfs
