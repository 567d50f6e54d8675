// MappingSystem: a file-mapping model as a transition system, with its ops split into steps.
//
// A state is the whole disk, the cache, the memory and the tasks, in one cache line or two. Tasks may
// interleave at every step, and the power may be cut at every step. See docs/models/file-mapping.md.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "base/fingerprint.h"
#include "explore/system.h"
#include "models/mapping/mapping.h"
#include "models/mapping/symmetry.h"

namespace sisyfs::mapping {

// The part of a state that only data=counter needs.
struct NoExpected {};

template <class Core, bool kCounter>
struct MappingState : std::conditional_t<kCounter, Expected, NoExpected> {
  typename Core::Medium disk;
  typename Core::Medium cache;  // all zero where there is none
  typename Core::Memory memory;
  typename Core::Task tasks[2];
};

// A choice, taken apart. Choices are numbered task by task: 16 for an op of a kind on a file, then one for
// the next step of the op in flight; the crash comes last.
struct Move {
  enum Kind : uint8_t { kCreate, kAppend, kDelete, kVerify, kStep, kCrash };
  Kind kind;
  unsigned task;
  unsigned file;

  static constexpr uint32_t kPerTask = 17;
  static constexpr Choice crash() { return Choice{2 * kPerTask}; }
  static constexpr Choice step(unsigned task) { return Choice{task * kPerTask + 16}; }
  static constexpr Choice op(unsigned task, Kind kind, unsigned file) {
    return Choice{task * kPerTask + kind * 4 + file};
  }
  static constexpr Move of(Choice choice) {
    const auto n = static_cast<uint32_t>(choice);
    if (n >= 2 * kPerTask) return {kCrash, 0, 0};
    const uint32_t rest = n % kPerTask;
    if (rest == 16) return {kStep, n / kPerTask, 0};
    return {static_cast<Kind>(rest / 4), n / kPerTask, rest % 4};
  }
};

template <class Core, bool kCounter>
class MappingSystem {
 public:
  using State = MappingState<Core, kCounter>;
  using Medium = typename Core::Medium;
  using Task = typename Core::Task;

  explicit MappingSystem(const Config& config) : config_(config) {}
  const Config& config() const { return config_; }

  void initial(State& s) const {
    s = State{};
    Core::format(config_, s.disk);
    s.memory.ref = 0xFFFF;
    mount(s);
  }

  Digest fingerprint(const State& s) const {
    if (!config_.symmetry) return fingerprint_of(s);
    const State canonical = canonical_form<Core>(config_, s);
    return fingerprint_of(canonical);
  }

  // Recovery depends on the disk and on what was promised, and, if the disk shows that an op in flight has
  // taken effect, on which ops are in flight. Many states of a worker agree on all this, so its last
  // recoveries are cached.
  static constexpr size_t kRemembered = 1024;
  struct Crash {
    // The disk; and in one word the lengths that were promised, and op and file of each task. In whole words,
    // because a narrow store that is read back in a wide load stalls the processor.
    using Words = std::array<uint64_t, sizeof(Medium) / 8 + 1>;
    static_assert(sizeof(Medium) % 8 == 0);

    Words key{};
    Outcome outcome;
  };
  // The cache slot of a crash. A hash collision only costs a recovery.
  static size_t slot_of(const typename Crash::Words& key) {
    const uint64_t mixed = mul_fold(key[0] ^ 0x9e3779b97f4a7c15u, key[1] ^ 0xd1342543de82ef95u) ^
                           mul_fold(key[2] ^ 0xa0761d6478bd642fu, key.back() ^ 0xe7037ed1a0b428dbu);
    return mixed % kRemembered;
  }
  struct Scratch {
    std::vector<Crash> crashes = std::vector<Crash>(kRemembered);
  };

  template <class Sink>
  void expand(const State& s, Sink& sink) const {
    unsigned busy = 0;
    for (unsigned t = 0; t < config_.tasks; ++t)
      if (s.tasks[t].op != 0) busy |= 1u << s.tasks[t].file;
    const unsigned free_blocks = Core::free_count(config_, s.memory);
    for (unsigned t = 0; t < config_.tasks; ++t) {
      if (s.tasks[t].op != 0) {
        State& to = sink.next();
        to = s;
        sink.commit(Move::step(t), {0, step(s, to, t, action_in(s, t))});
        continue;
      }
      for (unsigned f = 0; f < config_.files; ++f)
        if ((busy >> f & 1) == 0) start_ops(s, t, f, free_blocks, sink);
    }
    expand_crash(s, busy != 0, sink);
  }

  // The program of the op that is in flight in a task, and the action that its next step is.
  uint32_t program_in(const State& s, unsigned t) const {
    const Task& task = s.tasks[t];
    const unsigned length = nibble(s.memory.ref, task.file);
    return kPrograms[config_.naive][task.op][length > 0][Core::uses_indirect(task, length)];
  }
  Action action_in(const State& s, unsigned t) const {
    return static_cast<Action>(program_in(s, t) >> (4 * s.tasks[t].step) & 15);
  }

  template <class Observer>
  uint32_t verify(const State& s, unsigned f, Observer&& see) const {
    const typename Core::Reader device{config_.cache ? s.cache : s.disk};
    return Core::verify(config_, s.memory, f, expected(s), device, see);
  }

  // Cuts the power, recovers and checks.
  template <class Observer>
  Outcome crash(State& s, Observer&& see) const {
    Outcome outcome;
    Medium disk = s.disk;
    const uint32_t found = Core::recover(config_, disk, see);
    outcome.findings = found & ~uint32_t{kDeadBlock};
    if ((found & kDeadBlock) != 0) {
      outcome.marks |= kDeadRepaired;
      if (config_.report_dead) outcome.findings |= kDeadBlock;
    }
    for (unsigned t = 0; t < config_.tasks; ++t) {
      const Task task = s.tasks[t];
      if (task.op == 0) continue;
      const unsigned before = nibble(s.memory.ref, task.file), now = Core::length(disk, task.file);
      if (now != before) settle(s, task, now == length_after(static_cast<OpKind>(task.op), before));
      s.tasks[t] = Task{};
    }
    const uint16_t lengths = Core::lengths(disk);
    for (unsigned f = 0; lengths != s.memory.ref && f < config_.files; ++f) {
      const unsigned now = nibble(lengths, f);
      if (now == nibble(s.memory.ref, f)) continue;
      outcome.findings |= kContentError;
      see(kContentError, f, kNone, kNone);
      s.memory.ref = static_cast<uint16_t>(with_nibble(s.memory.ref, f, now));
      if constexpr (kCounter) s.clear_from(f, now == kAbsent ? 0 : now);
    }
    if (config_.fill) Core::fill_free(config_, disk);
    s.disk = disk;
    if (config_.cache) s.cache = disk;
    Core::load(s.memory, disk);
    return outcome;
  }

 private:
  template <class Sink>
  void expand_crash(const State& s, bool in_op, Sink& sink) const {
    const uint32_t marks = in_op ? uint32_t{kCrashInOp} : 0;
    if constexpr (Sink::remembers() && !kCounter) {  // with data=counter more is promised than the key holds
      typename Crash::Words key;
      const auto disk = std::bit_cast<std::array<uint64_t, sizeof(Medium) / 8>>(s.disk);
      std::copy(disk.begin(), disk.end(), key.begin());
      key.back() = s.memory.ref;
      if (Core::lengths(s.disk) != s.memory.ref)
        for (unsigned t = 0; t < 2; ++t)
          key.back() |= uint64_t{static_cast<uint8_t>(s.tasks[t].op | s.tasks[t].file << 2)} << (16 + 8 * t);
      Crash& known = sink.scratch().crashes[slot_of(key)];
      uint64_t differs = 0;
      for (size_t i = 0; i < key.size(); ++i) differs |= key[i] ^ known.key[i];
      if (differs == 0) {
        sink.commit_again({known.outcome.findings, known.outcome.marks | marks});
        return;
      }
      known.key = key;
      known.outcome = commit_crash(s, marks, sink);
    } else {
      commit_crash(s, marks, sink);
    }
  }

  template <class Sink>
  Outcome commit_crash(const State& s, uint32_t marks, Sink& sink) const {
    State& to = sink.next();
    to = s;
    const Outcome outcome = crash(to, kUnobserved);
    sink.commit(Move::crash(), {outcome.findings, outcome.marks | marks});
    return outcome;
  }

  // The device that reads and writes use.
  Medium& device_medium(State& s) const { return config_.cache ? s.cache : s.disk; }

  template <class Sink>
  void start_ops(const State& s, unsigned t, unsigned f, unsigned free_blocks, Sink& sink) const {
    const unsigned length = Core::length(s.memory, f);
    if (length == kAbsent) {
      if (free_blocks >= 1) start(s, t, f, OpKind::kCreate, sink);
    } else {
      if (length < Core::longest(config_) && free_blocks >= Core::blocks_for_append(length))
        start(s, t, f, OpKind::kAppend, sink);
      start(s, t, f, OpKind::kDelete, sink);
    }
    if (nibble(s.memory.ref, f) != kAbsent) verify_file(s, t, f, sink);
  }

  // A verify changes nothing: it leads back to the state itself.
  template <class Sink>
  void verify_file(const State& s, unsigned t, unsigned f, Sink& sink) const {
    const Outcome outcome{verify(s, f, kUnobserved), 0};
    if constexpr (Sink::remembers()) {
      sink.commit_again(outcome);
    } else {
      sink.next() = s;
      sink.commit(Move::op(t, Move::kVerify, f), outcome);
    }
  }

  template <class Sink>
  void start(const State& s, unsigned t, unsigned f, OpKind op, Sink& sink) const {
    State& to = sink.next();
    to = s;
    Task& task = to.tasks[t];
    task.op = static_cast<uint16_t>(op);
    task.file = static_cast<uint16_t>(f);
    if constexpr (kCounter) {
      if (op == OpKind::kAppend) Core::set_value(task, next_value(to));
    }
    typename Core::Device device{config_, device_medium(to)};
    Core::begin(config_, to.memory, task, device);
    uint32_t marks = 0;
    if (Core::free_count(config_, to.memory) == 0) marks |= kDiskFull;
    if (s.tasks[t ^ 1].op != 0) marks |= kTwoInFlight;
    const auto kind = static_cast<Move::Kind>(static_cast<unsigned>(op) - 1);
    sink.commit(Move::op(t, kind, f), {0, marks});
  }

  // Advances an op in flight by its next step, which is `action`; `s` is still a copy of `from`. Returns
  // marks.
  uint32_t step(const State& from, State& s, unsigned t, Action action) const {
    if (action == kFinish) {
      finish(from, s, t);
      return 0;
    }
    typename Core::Device device{config_, device_medium(s)};
    Core::act(config_, s.memory, s.tasks[t], action, device);
    ++s.tasks[t].step;
    return action == kWriteIndirect ? uint32_t{kIndirectUsed} : 0;
  }

  void finish(const State& from, State& s, unsigned t) const {
    if (config_.cache) s.disk = from.cache;  // not s.cache: reading what was just written would stall
    settle(s, s.tasks[t], true);
    s.tasks[t] = Task{};
  }

  // Updates what is promised for a task's file after its op.
  void settle(State& s, const Task& task, bool took_effect) const {
    const unsigned f = task.file, before = nibble(s.memory.ref, f);
    const unsigned after = length_after(static_cast<OpKind>(task.op), before);
    if (!took_effect) return;
    s.memory.ref = static_cast<uint16_t>(with_nibble(s.memory.ref, f, after));
    if constexpr (kCounter) {
      if (task.op == static_cast<unsigned>(OpKind::kAppend))
        s.set(f, before, Core::value(task));
      else
        s.clear_from(f, 0);
    }
  }

  void mount(State& s) const {
    if (config_.cache) s.cache = s.disk;
    Core::load(s.memory, s.disk);
  }

  static const Expected* expected(const State& s) {
    if constexpr (kCounter) return &s;
    return nullptr;
  }
  unsigned next_value(State& s) const {
    const unsigned value = s.counter();
    s.set_counter((value + 1) % config_.values);
    return value;
  }

  Config config_;
};

}  // namespace sisyfs::mapping
