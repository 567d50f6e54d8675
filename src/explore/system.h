// TransitionSystem: what the explorer asks of anything it searches.
//
// A system has states that can be copied and fingerprinted, one initial state, and for each state its
// successors. Small models satisfy this directly; a target with a disk does through the adapter. A
// system is immutable during a search and is used by all workers at once, each with its own Sink.
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
// A system may name a type Scratch: memory of a worker, reached as sink.scratch(), for what would be
// computed again and again. It must not change what expand() answers.
//
// expand() builds each successor in the place that sink.next() gives (its old content is rubbish) and
// then commits it with the choice that led there and what was seen on the way. Choices are numbers with
// a meaning to the system; they are stable, so that a trace of choices can be replayed. The order of
// commits is the order of exploration, the same each time. A successor that this system knows to have been
// committed to the same sink before may be given as sink.commit_again(outcome), without being built, if
// sink.remembers(): a sink that has to see every successor in full does not. For a sink that keeps no states
// (keeps_states<Sink> is false) it is enough to build as much of a successor as fingerprint() looks at.
#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "base/digest.h"

namespace sisyfs {

enum class Choice : uint32_t {};

// What a transition showed. `findings` has a bit for each broken promise (numbered by the finding
// catalogue), `marks` a bit for each "sometimes" property that was reached (numbered by the system).
struct Outcome {
  uint32_t findings = 0;
  uint32_t marks = 0;
  uint16_t work = 0;       // how much recovery had to do, for the order that prefers it
  uint16_t new_edges = 0;  // edges of the code that nothing had reached before, for the order that prefers it
};

// The choices from the initial state to a point of interest.
using Trace = std::vector<Choice>;

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

// What is common to sinks that have to see every successor.
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

// Whether a sink does more with a successor than to take its fingerprint; one that does not says kPrintsOnly.
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

// A system that can do one choice without looking at the others and without judging. `follow` builds in
// `to` the state that expand() would commit with this choice; false when there is no such choice, which a
// search takes as proof that the system is not deterministic. With it a search need not keep states.
template <class T>
concept FollowableSystem = TransitionSystem<T> &&
    requires(const T system, const typename T::State& from, Choice choice, typename T::State& to) {
  { system.follow(from, choice, to) } -> std::same_as<bool>;
};

}  // namespace sisyfs
