// The contract `fsync`: each object by itself, as it was at some point of the window, and not before what
// was promised of it.
//
// What came back is no relative of the window's trees, so its nodes are first matched to objects: a node
// can be an object that had one of its names (in that directory, again an object) at some point of the
// window, if size and data units are ones that the object may have. Mostly there is one match; where a
// name was used again all are tried.
//
// Under a match each entry of each directory that came back must be as at some time of the window. Times
// of entries are free of each other, except that a rename changes two entries at once: with the rename
// between i and i + 1, the old and the new entry are both of a time up to i, or both of a later one. If
// the target may leave both names, only "old gone, new not there" is excluded. Such rules only ever say
// "if this entry is no later than i, neither is that one". So the latest times that satisfy them are found
// by starting with the latest of each entry and moving back where a rule asks for it; if an entry runs out
// of times there is no solution at all, which makes the check exact.
//
// Last, an object that was there all the time (since its name was promised) must have come back.
#pragma once

#include <string>

#include "expect/contract.h"
#include "expect/history.h"

namespace sisyfs {

// Whether a power cut may leave `recovered`. If not and `why` is given, it gets the reason.
bool fsync_allows(const History& history, const ContractRules& rules, const Tree& recovered,
                  std::string* why);

}  // namespace sisyfs
