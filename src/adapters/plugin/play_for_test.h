// tests/plugins/play.c, loaded: memory that is written in all the ways that C has.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "adapters/plugin/namespace.h"
#include "base/assert.h"

namespace sisyfs {

inline PluginNamespace load_bundled(const std::string& file_name) {
  const Result<std::string> path = bundled_library(file_name);
  SISYFS_ASSERT(path, "plug-ins of tests are built with the tests");
  Result<PluginNamespace> plugin = PluginNamespace::load(*path);
  SISYFS_ASSERT(plugin, plugin ? "" : plugin.error().message.c_str());
  return std::move(*plugin);
}

// A function of a plug-in, by its name.
template <class Function>
Function* function_of(const PluginNamespace& plugin, const char* name) {
  void* const found = plugin.symbol(name);
  SISYFS_ASSERT(found != nullptr, name);
  return reinterpret_cast<Function*>(found);
}

struct Play {
  PluginNamespace plugin = load_bundled("libplay.so");

#define SISYFS_PLAY(name, ...) \
  std::type_identity_t<__VA_ARGS__>* name = function_of<__VA_ARGS__>(plugin, "play_" #name)
  SISYFS_PLAY(step, void(uint32_t, uint32_t, uint32_t));
  SISYFS_PLAY(steps, uint64_t());
  SISYFS_PLAY(random, int());
  SISYFS_PLAY(heap, int(size_t));
  SISYFS_PLAY(dirty, void(size_t, uint64_t));
  SISYFS_PLAY(malloc, void*(size_t));
  SISYFS_PLAY(calloc, void*(size_t, size_t));
  SISYFS_PLAY(realloc, void*(void*, size_t));
  SISYFS_PLAY(aligned, void*(size_t, size_t));
  SISYFS_PLAY(free, void(void*));
  SISYFS_PLAY(strdup, char*(const char*));
  SISYFS_PLAY(error, int());
  SISYFS_PLAY(time, int64_t());
  SISYFS_PLAY(clock, int64_t());
  SISYFS_PLAY(getrandom, uint64_t());
  SISYFS_PLAY(read, int(int));
  SISYFS_PLAY(abort, void());
  SISYFS_PLAY(exit, void(int));
  SISYFS_PLAY(assert_that, void(int));
  SISYFS_PLAY(wild_write, void());
  SISYFS_PLAY(print, void());
  SISYFS_PLAY(guards, void(uint32_t*, uint32_t*));
  SISYFS_PLAY(edge, void(uint32_t*));
#undef SISYFS_PLAY
};

}  // namespace sisyfs
