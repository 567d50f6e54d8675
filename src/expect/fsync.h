// The contract `fsync`: each object may come back as it was at any time of the window, but not older than
// what was promised about it.
//
// 1. Nodes of the recovered tree are matched to objects of the window. A node can be an object that had one
// of
//    the node's names, in the directory matched to its parent, at some time of the window, if the object may
//    have its size and data units. Usually there is one match. If a name was reused, all matches are tried.
// 2. Under a match, each entry of each recovered directory must be as it was at some time of the window. The
//    times of entries are independent, except that a rename changes two entries at once. For a rename between
//    trees i and i + 1, the old and the new entry are both from a time up to i, or both from a later time. If
//    the target may leave both names, only "old name gone, new name missing" is excluded. An exchange is two
//    renames in one step, each to the old name of the other, so its two entries go together in any case. All
//    these rules have the form "if this entry is not later than i, neither is that one". So each entry starts
//    at its latest possible time and moves back only if a rule demands it. If an entry runs out of times,
//    there is no solution. That makes the check exact.
// 3. An object that existed at all times since its name was promised must have come back, and so must the
//    directories that its names were in.
// 4. A promise of a name binds entries, not only the object: an entry that was promised is not from an
//    earlier time, whatever came back in it. So if a file replaces a promised one by a rename, the name holds
//    one of the two and is never free.
#pragma once

#include <string>

#include "expect/contract.h"
#include "expect/history.h"

namespace sisyfs {

// Whether a power cut may leave `recovered`. If not, and `why` is not null, `*why` is set to the reason.
bool fsync_allows(const History& history, const ContractRules& rules, const Tree& recovered,
                  std::string* why);

}  // namespace sisyfs
