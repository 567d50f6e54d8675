// PluginNamespace: a shared library with its own copy of libc and of all that it is linked with.
//
// The library is loaded into a namespace of the dynamic linker whose first object is libsisyfs_arena.so. The
// linker looks there first for whatever is loaded later, so that the malloc family, the clock, abort() and so
// on of the arena win for the library, for those that it is linked with, and for the private libc itself
// (strdup, fopen). The library need not be rebuilt.
//
//   Result<PluginNamespace> plugin = PluginNamespace::load("./libmyfs.so");
//   if (!plugin) return plugin.error();
//   auto* entry = reinterpret_cast<EntryFn>(plugin->symbol("sisyfs_plugin_entry"));
//   PluginMemory memory = ... plugin->ranges() ...
//
// What the code remembers is in ranges(): its heap, the writable segments of its libraries and of its libc,
// and its thread-local variables. Not in ranges(): errno and the other thread-local variables of libc, which
// mean nothing between two calls; memory from mmap or sbrk; files; threads. The memory of code that uses
// these is saved by replay (plugin_target.h).
//
// Addresses of code and globals differ from process to process, and memory holds such addresses.
// add_objects_to() lists them, so that digests of memory can leave them out (known_addresses.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "adapters/plugin/arena/arena.h"
#include "adapters/plugin/known_addresses.h"
#include "adapters/plugin/memory_range.h"
#include "base/result.h"

namespace sisyfs {

class PluginNamespace {
 public:
  // Called when its heap is there and no code of the library has run yet.
  using Prepare = std::function<void(sisyfs_arena_control&)>;
  // Bad input: there is no such file, it is no shared library, or it needs something that nothing provides.
  // System: the arena is not where it should be, or the dynamic linker has no further namespace (there are
  // about a dozen).
  static Result<PluginNamespace> load(const std::string& path, const Prepare& prepare = {});

  PluginNamespace(PluginNamespace&& o) noexcept;
  PluginNamespace& operator=(PluginNamespace&& o) noexcept;
  // Unloads the library, which runs its destructors. PluginMemory over its ranges must be destroyed before.
  ~PluginNamespace();

  // After a fault destructors can do harm. The library then stays loaded to the end of the process, which
  // should end by _exit(): exit() runs destructors too.
  void abandon() { abandoned_ = true; }

  const std::string& path() const { return path_; }
  // A function or variable that the library exports, or null.
  void* symbol(const char* name) const;
  // Also looks into the libraries that it is linked with, and into libc.
  void* inner_symbol(const char* name) const;

  sisyfs_arena_control& control() const { return *control_; }
  // Checks the whole heap for damage. What it finds is in control() too.
  sisyfs_arena_fault check_heap() const { return check_(); }
  std::vector<sisyfs_arena_block> live_blocks() const;

  // All memory that must be saved. The heap comes last.
  std::vector<MemoryRange> ranges() const;
  // Adds the places of all its libraries.
  void add_objects_to(KnownAddresses& known) const { objects_(KnownAddresses::add_object, &known); }

 private:
  PluginNamespace() = default;

  std::string path_;
  void* arena_ = nullptr;
  void* library_ = nullptr;
  bool abandoned_ = false;
  sisyfs_arena_control* control_ = nullptr;
  decltype(&sisyfs_arena_check) check_ = nullptr;
  decltype(&sisyfs_arena_next) next_ = nullptr;
  decltype(&sisyfs_arena_objects) objects_ = nullptr;
};

// The path of a library that comes with this program: in plugins/ beside the program or one level up (as
// built), or in ../lib/sisyfs (as installed).
Result<std::string> bundled_library(const std::string& file_name);

}  // namespace sisyfs
