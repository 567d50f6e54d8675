// Story: a trace told step by step, for people and for JSON.
//
// To tell how a finding came about, its steps are executed again, and each is written down: which op, which
// writes, what survived the power cut, what recovery saw and what should have been there. Only for reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "disk/image.h"
#include "judge/catalogue.h"

namespace sisyfs {

// What became of a write by the end of the story.
enum class WriteStatus : uint8_t {
  kPending,    // in a volatile cache
  kPersisted,  // on the medium
  kTorn,       // some of it is
  kLost,       // gone with a power cut
};

struct WriteRecord {
  uint32_t number = 0;  // counted from 1 through the whole story
  uint32_t disk = 0;
  uint64_t address = 0;  // first block, on that disk
  uint64_t blocks = 1;
  bool fua = false;       // durable when it returned
  std::string label;      // what this place was at the time: "inodes of files 0 and 1"
  std::string content;    // what was written, decoded, or its first bytes
  bool is_bytes = false;  // `content` is bytes
  bool is_named = false;  // an observation speaks of it
  uint32_t over = 0;      // the number of the last write before it to any of its blocks; 0 if there was none
  std::string op;         // the op that issued it, as in StoryStep::op
  WriteStatus status = WriteStatus::kPending;
};

// Something that a check saw.
struct Observation {
  FindingKind kind{};
  std::string text;  // "file1 block 0 is disk block 0, which file0 has too"
  std::vector<std::string> where =
      {};  // of a call that died or did not return: its frames, the innermost first
};

// A call of a trial of use that failed, or one before it. Its writes are undone afterwards, so they are no
// part of the history of the disk, and have numbers of their own.
struct TrialCall {
  std::string call;    // "append /b 512", "unmount"
  std::string answer;  // "0", "EIO", "finds ..."
  std::vector<WriteRecord> writes = {};
};

struct StoryStep {
  enum class Kind : uint8_t { kStart, kBegin, kWrite, kFinish, kOp, kVerify, kCrash };
  Kind kind = Kind::kOp;
  // The step of the finding that this is told of, by its id; 0: the start. An op and the power cuts in it are
  // one step, as for the search.
  uint32_t step = 0;
  uint32_t task = 0;
  std::string op;                     // "create file0"; empty for a crash
  std::string text;                   // what happened, as a sentence
  std::vector<uint32_t> writes;       // numbers of the writes that this step issued
  std::vector<uint32_t> lost;         // crash: numbers of the writes that did not survive
  std::vector<Observation> observed;  // what recovery or a check saw at this step
  std::vector<std::string> expected;  // what should have been there, where something was wrong
  std::vector<TrialCall> trial;       // of a system that cannot be used: up to the call that failed
};

struct Story {
  std::string system;  // TargetKind::version, or empty
  std::vector<StoryStep> steps;
  std::vector<WriteRecord> writes;
  std::vector<FindingKind> findings;  // what the last step showed
  std::optional<Image> image;         // the disk that the last power cut left, before recovery

  bool shows(FindingKind kind) const;
  uint32_t length() const;  // steps of the finding that are told, which --depth counts
  uint32_t ops() const;     // ops begun
  uint32_t crashes() const;
};

}  // namespace sisyfs
