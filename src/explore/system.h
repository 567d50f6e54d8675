// TransitionSystem: the interface of everything that the explorer searches.
//
// A system has one initial state and, for each state, its successors. States can be copied and fingerprinted.
// Small models implement this interface themselves; a target with a disk does so through judge/disk_system.h.
// A system does not change during a search. All workers use it at once, each with a Sink of its own.
//
//   struct Counter {
//     using State = uint32_t;
//     void initial(State& s) const { s = 0; }
//     Digest fingerprint(const State& s) const { return digest_of(&s, sizeof s); }
//     template <class Sink> void expand(const State& s, Sink& sink) const {
//       sink.next() = s + 1;
//       sink.commit(Choice{0}, Outcome{});
//     }
//   };
//
// expand() builds each successor in the memory that sink.next() returns (its old content is undefined), and
// then commits it with the choice that leads to it and with the outcome of the transition. A choice is a
// number whose meaning only the system knows. The same state always has the same choices, committed in the
// same order.
//
// Three optional parts of the interface:
// - Scratch: a system may define a type Scratch, memory of one worker for caches, reached as sink.scratch().
// It must not change the successors.
// - commit_again(outcome): if sink.remembers(), a successor that this system has committed to the same sink
// before may be reported this way, without being built.
// - sink_stopped(sink): a system whose successors take milliseconds asks this between two of them. When it is
// true, the search has ended and expand() returns at once; the search then treats the state as not expanded.
//
// A sink for which keeps_states<Sink> is false reads only the fingerprint of a successor. For such a sink it
// is enough to build what fingerprint() reads.
#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "base/digest.h"

namespace sisyfs {

enum class Choice : uint64_t {};

// A bit for each kind of finding that this check may find; the check numbers them (Check::kinds()).
using FindingBits = uint64_t;

// What was observed on a transition.
struct Outcome {
  FindingBits findings = 0;  // kinds of findings
  uint32_t marks = 0;        // "sometimes" properties that were reached, numbered by the system
  uint16_t work = 0;         // blocks that recovery wrote; SearchOrder::kMostRecovery sorts by it
  uint16_t new_edges = 0;  // edges of the code reached for the first time; SearchOrder::kCoverage sorts by it
};
static_assert(sizeof(Outcome) == 16);

// The choices on a path from the initial state.
using Trace = std::vector<Choice>;

// Whether the search has ended, so that expand() should return. False for a sink that never stops.
template <class Sink>
bool sink_stopped(const Sink& sink) {
  if constexpr (requires { sink.stopped(); })
    return sink.stopped();
  else
    return false;
}

// The same question in a form that code without templates can ask. Borrows the sink.
class StopSignal {
 public:
  StopSignal() = default;  // never raised
  template <class Sink>
  static StopSignal of(const Sink& sink) {
    StopSignal signal;
    if constexpr (requires { sink.stopped(); }) {
      signal.source_ = &sink;
      signal.ask_ = [](const void* source) { return static_cast<const Sink*>(source)->stopped(); };
    }
    return signal;
  }
  bool raised() const { return ask_ != nullptr && ask_(source_); }

 private:
  const void* source_ = nullptr;
  bool (*ask_)(const void*) = nullptr;
};

namespace detail {

struct NoScratch {};
template <class T>
struct ScratchOf {
  using Type = NoScratch;
};
template <class T>
requires requires { typename T::Scratch; }
struct ScratchOf<T> {
  using Type = typename T::Scratch;
};

// Base of the sinks for which every successor has to be built.
template <class System>
class FullSink {
 public:
  static constexpr bool remembers() { return false; }
  void commit_again(Outcome) {}
  typename ScratchOf<System>::Type& scratch() { return scratch_; }

 private:
  typename ScratchOf<System>::Type scratch_;
};

template <class System>
struct ProbeSink : FullSink<System> {
  typename System::State& next();
  void commit(Choice, Outcome);
};

}  // namespace detail

// Whether a sink reads more of a successor than its fingerprint. A sink that does not defines kPrintsOnly =
// true.
template <class Sink>
inline constexpr bool keeps_states = !requires {
  requires Sink::kPrintsOnly;
};

template <class T>
concept TransitionSystem = requires(const T system, typename T::State& state, const typename T::State& from,
                                    detail::ProbeSink<T>& sink) {
  requires std::copyable<typename T::State>;
  requires std::default_initializable<typename T::State>;
  system.initial(state);
  { system.fingerprint(from) } -> std::same_as<Digest>;
  system.expand(from, sink);
};

// A system that can execute one choice without executing the others and without judging. `follow` builds in
// `to` the state that expand() commits with this choice. It returns false when the state has no such choice;
// a search then reports that the system is not deterministic. Searches of such a system need not store
// states: a state is rebuilt from the choices on its path. A system whose choices take milliseconds may take
// a StopSignal as a fourth argument, poll it, and return false when it is raised.
template <class T>
concept FollowableSystem = TransitionSystem<T> &&
    requires(const T system, const typename T::State& from, Choice choice, typename T::State& to) {
  { system.follow(from, choice, to) } -> std::same_as<bool>;
};

namespace detail {

template <FollowableSystem System>
bool follow(const System& system, const typename System::State& from, Choice choice,
            typename System::State& to, StopSignal stop) {
  if constexpr (requires { system.follow(from, choice, to, stop); })
    return system.follow(from, choice, to, stop);
  else
    return system.follow(from, choice, to);
}

}  // namespace detail

}  // namespace sisyfs
