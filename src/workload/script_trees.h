// Holds what a script expects against the reference tree, before a search.
//
// The reference tree decides what each op answers and what is there afterwards. So an expectation that it
// contradicts is a mistake in the script. Where several answers are right (a full disk, errnos that POSIX
// leaves open) an expected answer selects one; the ops of the script carry it (Op::demand).
//
//   Status right = check_expectations(script, start, [&](OpKind kind) { return may_be_full(kind); });
#pragma once

#include <functional>

#include "base/result.h"
#include "tree/tree.h"
#include "workload/script.h"

namespace sisyfs {

// All paths of the script are followed, without power cuts. `may_be_full`: whether an op of this kind may be
// refused for lack of space. The error names line and column of the expectation, and a path on which it does
// not hold.
Status check_expectations(const Script& script, const Tree& start,
                          const std::function<bool(OpKind)>& may_be_full);

}  // namespace sisyfs
