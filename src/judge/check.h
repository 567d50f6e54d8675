// Check: a target with its options settled, ready to be searched, explained and replayed.
//
// This is the face that the command line and the reports know; behind it is one of two things: a small
// model that is a transition system itself, or the adapter around a target with a disk. A Check is
// immutable and may be used again and again.
//
//   SearchResult result = check.search(options, show);
//   for (const FoundTrace& found : check.explain(options, result.findings).traces) {
//     Result<Story> story = check.tell(found.trace);
//   }
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "explore/run.h"
#include "judge/story.h"

namespace sisyfs {

// A "sometimes" property: a run that never reached it has not looked there.
struct MarkInfo {
  uint32_t bit;
  std::string_view says;
};

class Check {
 public:
  virtual ~Check() = default;
  // Whether it can be searched so; bad input says what to do instead.
  virtual Status accepts(const SearchOptions& options) const = 0;
  // The options as this check can follow them, for example with fewer threads.
  virtual SearchOptions fitted(SearchOptions options) const { return options; }
  virtual SearchResult search(const SearchOptions& options, const ProgressFn& show) const = 0;
  virtual FoundTraces explain(const SearchOptions& options, uint32_t wanted,
                              const ProgressFn& show = {}) const = 0;
  // The same for what a search found: the traces that it kept, if it did, else a second search.
  FoundTraces explain(const SearchOptions& options, const SearchResult& result,
                      const ProgressFn& show = {}) const {
    if (result.traces.empty()) return explain(options, result.findings, show);
    return {result.traces, Stop::kNo, {}};
  }
  // Executes a trace from the initial state. Bad input where it asks for a choice that is not there.
  virtual Result<Story> tell(const Trace& trace) const = 0;
  // The findings that it can have, as bits: looking for any other would find nothing and prove nothing.
  virtual uint32_t possible() const { return ~uint32_t{0}; }
  // What is assumed of the device when the power goes, as a sentence; empty where it never does.
  virtual std::string device() const { return {}; }
  // How what the target remembers is saved, as a sentence; empty where it is a plain copy.
  virtual std::string snapshots() const { return {}; }
  // The marks that a run of this check can reach.
  virtual std::span<const MarkInfo> marks() const = 0;
};

namespace detail {

// Looks for one choice among the successors of a state.
template <class System>
struct ChoiceSink : FullSink<System> {
  typename System::State& next() { return built; }
  void commit(Choice choice, Outcome o) {
    if (choice != wanted || found) return;
    found = true;
    chosen = built;
    outcome = o;
  }
  Choice wanted{};
  bool found = false;
  Outcome outcome;
  typename System::State built, chosen;
};

Error no_such_choice(size_t position, Choice choice);

// What a system offers to a search.
struct Offers {
  bool generations = false;  // this search goes by generations
  bool shape = false;        // its states have shapes
  bool recovery = false;     // it knows how much recovery had to do
  bool edges = false;        // it knows which edges of its code were reached
};
Status accepts(const SearchOptions& options, const Offers& offers);

}  // namespace detail

// A Check over any transition system. `Teller` is called as teller.step(system, from, choice, to, outcome)
// for each step of a trace and gives the story at its end.
template <TransitionSystem System, class Teller>
class SystemCheck : public Check {
 public:
  // `possible` are the findings that it can have.
  explicit SystemCheck(System system, std::span<const MarkInfo> marks = {}, uint32_t possible = ~uint32_t{0})
      : system_(std::move(system)), marks_(marks.begin(), marks.end()), possible_(possible) {}

  uint32_t possible() const override { return possible_; }
  Status accepts(const SearchOptions& options) const override {
    return detail::accepts(options, {.generations = detail::by_generations<System>(options)});
  }
  SearchResult search(const SearchOptions& options, const ProgressFn& show) const override {
    return run_search(system_, options, show);
  }
  using Check::explain;
  FoundTraces explain(const SearchOptions& options, uint32_t wanted, const ProgressFn& show) const override {
    return find_traces(system_, options, wanted, show);
  }
  Result<Story> tell(const Trace& trace) const override {
    Teller teller(system_);
    typename System::State state;
    system_.initial(state);
    Outcome outcome;
    for (size_t i = 0; i < trace.size(); ++i) {
      detail::ChoiceSink<System> sink;
      sink.wanted = trace[i];
      system_.expand(state, sink);
      if (!sink.found) return detail::no_such_choice(i, trace[i]);
      outcome = sink.outcome;
      teller.step(state, trace[i], sink.chosen);
      state = sink.chosen;
    }
    Story story = teller.take();
    story.findings = outcome.findings;
    return story;
  }
  std::span<const MarkInfo> marks() const override { return marks_; }
  const System& system() const { return system_; }

 private:
  System system_;
  std::vector<MarkInfo> marks_;
  uint32_t possible_;
};

}  // namespace sisyfs
