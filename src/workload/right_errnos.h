// Right errnos: where more than one errno is right for a call that must fail.
//
// The reference model gives the errno of Linux. POSIX leaves some of them open: where several errors apply,
// it does not say which one is reported, and for some errors it names two errnos. Calls on the root directory
// are refused by the kernel before a file system sees them, so there a file system may give any errno that
// says that the call is not allowed.
//
//   if (answer != expected && !is_right_errno(op, tree, expected.error, answer.error)) report(answer);
#pragma once

#include "tree/tree.h"
#include "workload/op.h"

namespace sisyfs {

// Whether an op of this kind may need space that a full system does not have.
bool needs_space(OpKind kind);

// Whether `answer` is as right as `expected`, the errno of the reference model for this op on this tree.
// False if one of them is 0: a call that must fail fails, and one that must succeed succeeds.
bool is_right_errno(const Op& op, const Tree& tree, int expected, int answer);

}  // namespace sisyfs
