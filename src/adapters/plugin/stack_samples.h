// StackSamples: where the code of a call was when it died, or each time that a call without end was looked
// at.
//
// A sample is taken in a signal handler, so it is a list of addresses; text is made when it is asked for. Of
// several samples those functions are told that all have in common, from the outermost one on: what a loop
// calls differs from sample to sample, the function with the loop does not.
//
//   samples.clear();
//   samples.take(pc);       // in the handler
//   samples.text();         // {"spin (slots.c:12) in libslots.so", "slots_write (slots.c:99) in
//   libslots.so"}
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sisyfs {

class StackSamples {
 public:
  // Before the first take() of a process: loads what following a stack needs.
  static void prepare();

  // Forgets all samples.
  void clear() { count_ = 0; }
  // Follows the stack of this thread. In a signal handler `code` is the address that was interrupted, and
  // frames inside of it are left out; null: the caller. Safe in a handler. Beyond kMost samples the last one
  // is replaced. `timed`: a timer interrupted the code, so the line that it was at says nothing.
  void take(const void* code, bool timed = false);
  // In the handler of a deadly signal: if it came while a stack was being followed, because that stack is
  // damaged, ends the taking of the sample and does not return. Otherwise false.
  static bool gives_up();

  static bool is_following();

  // The functions of foreign code, the innermost first; empty where the stack could not be followed. May
  // start processes (source_location.h).
  std::vector<std::string> text() const;

 private:
  static constexpr size_t kMost = 8, kDeepest = 48;
  struct Sample {
    std::array<void*, kDeepest> frames{};
    size_t begin = 0, end = 0;
    bool interrupted = false;  // the first frame is an address that a signal interrupted
  };
  static std::vector<const void*> foreign(const Sample& sample);

  std::array<Sample, kMost> samples_;
  volatile size_t count_ = 0;
  bool timed_ = false;  // the last one
};

}  // namespace sisyfs
