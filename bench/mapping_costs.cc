#include "bench/mapping_costs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <unordered_set>

#include "models/mapping/system.h"

namespace sisyfs::mapping {
namespace {

template <class System>
struct NullSink : detail::FullSink<System> {
  typename System::State& next() { return ring[at]; }
  void commit(Choice, Outcome outcome) {
    seen |= outcome.findings | outcome.marks;
    at = (at + 1) % ring.size();
    ++transitions;
  }
  std::array<typename System::State, 32> ring;
  size_t at = 0;
  uint64_t transitions = 0;
  FindingBits seen = 0;
};

template <class System>
struct PrintSink : NullSink<System> {
  explicit PrintSink(const System& s) : system(s) {}
  void commit(Choice choice, Outcome outcome) {
    NullSink<System>::commit(choice, outcome);
    if (this->at != 0) return;  // a full ring, as the search does it
    for (const auto& state : this->ring) sum += system.fingerprint(state);
  }
  const System& system;
  Digest sum;
};

template <class System>
struct SampleSink : detail::FullSink<System> {
  explicit SampleSink(const System& s) : system(s) {}
  typename System::State& next() { return built; }
  void commit(Choice, Outcome) {
    if (seen.insert(system.fingerprint(built)).second) states.push_back(built);
  }
  const System& system;
  typename System::State built;
  std::unordered_set<Digest, DigestHash> seen;
  std::vector<typename System::State> states;
};

// The least time of a few rounds for one pass over the sample, in nanoseconds for each transition.
template <class System, class Sink>
double time_pass(const System& system, const std::vector<typename System::State>& states, Sink& sink) {
  double best = std::numeric_limits<double>::max();
  for (int round = 0; round < 5; ++round) {
    sink.transitions = 0;
    const auto start = std::chrono::steady_clock::now();
    for (const auto& state : states) system.expand(state, sink);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / static_cast<double>(sink.transitions));
  }
  return best;
}

template <class Core>
Costs measure(const Config& config, size_t wanted) {
  using System = MappingSystem<Core, false>;
  const System system(config);
  SampleSink<System> sample(system);
  system.initial(sample.built);
  sample.commit(Choice{}, {});
  for (size_t i = 0; i < sample.states.size() && sample.states.size() < wanted; ++i) {
    const auto state = sample.states[i];
    system.expand(state, sample);
  }
  NullSink<System> bare;
  PrintSink<System> printing(system);
  Costs costs;
  costs.model_ns = time_pass(system, sample.states, bare);
  costs.fingerprint_ns = std::max(0.0, time_pass(system, sample.states, printing) - costs.model_ns);
  costs.sampled = bare.transitions;
  return costs;
}

}  // namespace

Costs measure_costs(Model model, const Config& config, size_t states) {
  return model == Model::kLink ? measure<LinkCore>(config, states) : measure<IndexCore>(config, states);
}

}  // namespace sisyfs::mapping
