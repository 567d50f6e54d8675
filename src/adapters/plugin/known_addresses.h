// KnownAddresses: tells which words of a plug-in's memory are addresses that differ from process to process.
//
// The kernel places libraries, stacks and the memory of the checker somewhere else in each process. A pointer
// to one of them is another number there, although the state is the same. So in a fingerprint such a word is
// replaced by the number of its range and the offset in it. The heap of a plug-in has the same address in
// each process (adapters/plugin/arena/heap.c); pointers to it stay as they are.
//
// A word that only looks like such an address is replaced too. That changes no result: within one process
// different words stay different.
//
//   KnownAddresses known;
//   known.add(library, size);
//   hash(known.stable(word));
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

struct dl_phdr_info;

namespace sisyfs {

class KnownAddresses {
 public:
  // Adds a range and returns its number. Ranges have to be added in the same order in each process.
  size_t add(const void* begin, size_t size);
  // The range lies somewhere else now.
  void move(size_t number, const void* begin, size_t size);
  // Adds all objects (program and libraries) that the dynamic linker has loaded into the checker's namespace.
  void add_loaded_objects();
  // Adds one object to the KnownAddresses at `known`; a callback of dl_iterate_phdr().
  static int add_object(dl_phdr_info* object, size_t size, void* known);

  // The word, or what stands for it in each process.
  uint64_t stable(uint64_t word) const { return word - lowest_ < extent_ ? named(word) : word; }

 private:
  struct Range {
    uint64_t begin, size;
  };
  uint64_t named(uint64_t word) const;
  void update_bounds();

  std::vector<Range> ranges_;
  uint64_t lowest_ = 0, extent_ = 0;  // all ranges lie in there
};

}  // namespace sisyfs
