// FileRules: what a file system below a program promises of files when the power goes.
//
// Each version of a slot (file_log.h) is kept or lost; of one slot a prefix is kept. The rules order versions
// of different slots. `posix` orders nothing: what was not flushed is kept or lost by itself. Under all rules
// the versions of one call are kept or lost together, unless the call is a write. Versions that a flush made
// durable are not part of an order. fdatasync flushes only data and size of the file; but if the size was not
// durable, names and other metadata are flushed as by fsync.
//
//   const FileRules* rules = file_rules("ext4-ordered");
#pragma once

#include <span>
#include <string_view>

namespace sisyfs {

struct FileRules {
  std::string_view name;
  std::string_view summary;  // one line
  // All versions are kept in the order in which they were made, and a flush makes all of them durable.
  bool all_in_order = false;
  // Names, modes, attributes and truncations are kept in this order: they go through one journal or log.
  // Sizes that grow by a write do not, because their blocks are allocated when the data is written back.
  bool metadata_in_order = false;
  // A size that grew by a write is kept only with the pages of that write that reach behind the old end.
  bool size_needs_data = false;
  // What was written for the first time and lost reads as garbage. Otherwise it reads as zeros.
  bool stale_data = false;
  // A rename over another file is kept only with all data of the renamed file.
  bool replace_needs_data = false;
  // So is any metadata after the close of a file that was truncated to nothing and written again.
  bool close_needs_data = false;
  // fsync makes the names of the object durable too. Where that makes a name durable that was not, the names
  // of its directory become durable with it.
  bool fsync_names = false;
  // fsync makes all earlier metadata durable, also that of other files.
  bool fsync_all_metadata = false;
};

std::span<const FileRules> all_file_rules();
// Null: there are none of this name.
const FileRules* file_rules(std::string_view name);

}  // namespace sisyfs
