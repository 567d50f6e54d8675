// Describes a trace of a file-mapping model: the writes and their blocks, what a power cut left of them, what
// recovery found, and what was expected.
#pragma once

#include "finding/story.h"
#include "machine/step.h"
#include "models/mapping/system.h"

namespace sisyfs::mapping {

// Blocks as in the thesis: inodes first, then the table or bitmap, then data from block 5 on.
inline constexpr unsigned kFirstDataBlock = 5;

// The blocks that a step writes, and their name.
struct WriteLocation {
  uint32_t address;
  uint32_t blocks;
  std::string label;
};

// Where a step's write goes, and the written content in words. `after` is the device after the step.
WriteLocation location_of(const LinkCore&, Action action, const LinkCore::Task& task, unsigned length,
                          const LinkCore::Memory& m);
WriteLocation location_of(const IndexCore&, Action action, const IndexCore::Task& task, unsigned length,
                          const IndexCore::Memory& m);
std::string content_of(const LinkCore&, const Config& c, Action action, const WriteLocation& location,
                       const LinkCore::Medium& after);
std::string content_of(const IndexCore&, const Config& c, Action action, const WriteLocation& location,
                       const IndexCore::Medium& after);

// The disk block that holds block k of a file, kNone where there is none. kNone for k asks for the indirect
// block.
unsigned block_of(const LinkCore&, const Config& c, const LinkCore::Medium& m, unsigned f, unsigned k);
unsigned block_of(const IndexCore&, const Config& c, const IndexCore::Medium& m, unsigned f, unsigned k);

template <class Core, bool kCounter>
class MappingTeller {
 public:
  using System = MappingSystem<Core, kCounter>;
  using State = typename System::State;

  explicit MappingTeller(const System& system) : system_(system) {}
  // A choice by names: the task, its op, or the power cut.
  Step describe(const State& from, Choice choice) const;
  void step(const State& from, Choice choice, const State& to);
  Story take() { return std::move(story_); }

 private:
  void begin(const State& to, const Move& move, StoryStep& step);
  void advance(const State& from, const State& to, const Move& move, StoryStep& step);
  void crash(const State& from, StoryStep& step);
  void observe(const State& state, const typename Core::Medium& medium, uint32_t finding, unsigned f,
               unsigned k, unsigned b, StoryStep& step);
  void settle_pending(WriteStatus status, std::vector<uint32_t>* numbers);
  const Config& config() const { return system_.config(); }

  const System& system_;
  Story story_;
};

}  // namespace sisyfs::mapping
