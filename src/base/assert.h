// SISYFS_ASSERT: catches a bug in Sisyfs itself, in every build.
//
// Three kinds of problems are kept apart. A bug in Sisyfs is an assertion and ends the program. An operating
// problem (no such file, disk full) is a Result. A defect of the system under check is a finding, which is a
// value.
//
//   SISYFS_ASSERT(slot < size_, "the slot lies in the table");
#pragma once

namespace sisyfs {

[[noreturn]] void assertion_failed(const char* condition, const char* why, const char* file, int line);

}  // namespace sisyfs

#define SISYFS_ASSERT(condition, why) \
  (static_cast<bool>(condition) ? void(0) : ::sisyfs::assertion_failed(#condition, why, __FILE__, __LINE__))
