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
// expand() builds each successor in the place that sink.next() gives (its old content is rubbish) and
// then commits it with the choice that led there and what was seen on the way. Choices are numbers with
// a meaning to the system; they are stable, so that a trace of choices can be replayed. The order of
// commits is the order of exploration, the same each time.
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
};

// The choices from the initial state to a point of interest.
using Trace = std::vector<Choice>;

namespace detail {
template <class S>
struct ProbeSink {
  S& next();
  void commit(Choice, Outcome);
};
}  // namespace detail

template <class T>
concept TransitionSystem = requires(const T system, typename T::State& state, const typename T::State& from,
                                    detail::ProbeSink<typename T::State>& sink) {
  requires std::copyable<typename T::State>;
  requires std::default_initializable<typename T::State>;
  system.initial(state);
  { system.fingerprint(from) } -> std::same_as<Digest>;
  system.expand(from, sink);
};

}  // namespace sisyfs
