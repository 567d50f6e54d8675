// The function, source line and library of a code address, as text for reports.
//
//   "SIGSEGV on a null pointer at " + source_location(pc)    // "rename_entry (notesfs.c:123) in
//   libnotesfs.so"
#pragma once

#include <string>
#include <vector>

namespace sisyfs {

// The function, and the source line if the library was built with -g and addr2line is installed. Otherwise
// what the dynamic linker knows: "pebble_write+0x4c in libpebblefs.so" or "0x14a6 in libnotesfs.so". Empty if
// the address lies in no library. The first call for an address may start a process.
std::string source_location(const void* code);

// The same, and then the functions into which this one was inlined, from the inside outwards.
std::vector<std::string> source_locations(const void* code);

// As source_location(), without the line: "rename_entry in libpebblefs.so".
std::string function_name(const void* code);

// The address of the call instruction that returns to this address.
inline const void* call_before(const void* returns) {
  return returns == nullptr ? nullptr : static_cast<const char*>(returns) - 1;
}

}  // namespace sisyfs
