// Check: a target with its options settled, ready to be searched, and to have its findings told and replayed.
//
// This is the interface that the command line and the reports use. Behind it is a small model that is a
// transition system itself, or a target on a machine with its judges (disk_check.h). A Check is immutable and
// may be used again and again.
//
//   SearchResult result = check.search(options, show);
//   for (const FoundTrace& found : check.find_traces(options, result).traces) {
//     Result<std::vector<Step>> steps = check.steps(found.trace);
//     Replayed replayed = check.replay(*steps);
//   }
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "explore/run.h"
#include "finding/story.h"
#include "judge/kind_table.h"
#include "machine/step.h"
#include "workload/script.h"
#include "workload/workload.h"

namespace sisyfs {

// A "sometimes" property: a run that never reached it has not tried that.
struct MarkInfo {
  uint32_t bit;
  std::string_view says;
};

// What came of executing steps.
struct Replayed {
  Story story;                // of the steps that were executed
  std::string cannot_happen;  // why the next step could not be executed; empty if all were
};

// What a search tries from a state.
struct TriedOps {
  std::vector<Candidate> ops;
  std::vector<NotTried> not_tried;  // by the settings, in any state
  std::string absent;               // ops that the target does not have: "link, symlink"
};

// The workloads of ACE that a check follows.
struct BoundedWorkloads {
  uint32_t core_ops = 0;          // at most, in each
  std::optional<uint64_t> count;  // none where there are too many to be counted
};

class Check {
 public:
  virtual ~Check() = default;
  // Settings that were found out when it was made, and that a replay needs: which files it was.
  virtual std::vector<std::string> settled() const { return {}; }
  // Whether it can be searched so; bad input says what to do instead.
  virtual Status accepts(const SearchOptions& options) const = 0;
  // The options as this check can follow them, for example with fewer threads.
  virtual SearchOptions fitted(SearchOptions options) const { return options; }
  virtual SearchResult search(const SearchOptions& options, const ProgressFn& show) const = 0;

  // Works for a search in another process, until that ends (explore/worker_link.h). Only a check of a target
  // that is isolated in processes does.
  virtual void serve(WorkerLink& search) const;

  // The kinds of findings that it can have, with the numbers under which its searches count them.
  virtual const KindTable& kinds() const = 0;
  // The shortest traces to these findings, by a search of their own.
  virtual FoundTraces find_traces(const SearchOptions& options, FindingBits wanted,
                                  const ProgressFn& show = {}) const = 0;
  // The same for what a search found: the traces that it kept, if it did, else a second search.
  FoundTraces find_traces(const SearchOptions& options, const SearchResult& result,
                          const ProgressFn& show = {}) const {
    if (result.traces.empty()) return find_traces(options, result.findings, show);
    return {result.traces, Stop::kNo, {}};
  }

  // A trace by names. Bad input where it asks for a choice that is not there.
  virtual Result<std::vector<Step>> steps(const Trace& trace) const = 0;
  // Executes steps from the initial state. A path that ends with a broken promise ends the replay.
  virtual Replayed replay(std::span<const Step> steps) const = 0;
  // Both at once.
  Result<Story> tell(const Trace& trace) const;

  // What a search tries from the state that these ops lead to. Bad input if an op cannot be done, answers an
  // errno or breaks a promise, or if the check is one of steps that are no ops.
  virtual Result<TriedOps> ops_after(std::span<const Op> done) const;

  // From now on only the ops of the script are tried. Before any search. Bad input if the target cannot do
  // one of them.
  virtual Status follow(const Script& script);

  // From now on only the workloads of ACE are tried, with so many core ops (workload/ace.h). Before any
  // search. Bad input if the target or the number does not allow that.
  virtual Status follow_ace(uint32_t core_ops);
  // What it follows then. Counting takes a moment.
  virtual std::optional<BoundedWorkloads> workloads() const { return std::nullopt; }

  // What is assumed of the device when the power goes, as a sentence; empty where it never does.
  virtual std::string device() const { return {}; }
  // Which power cuts are tried at all, as a sentence, where the settings leave out others: then no search of
  // this check proves anything.
  virtual std::string cuts() const { return {}; }
  // How the program that repairs reaches the disk, as a sentence; empty where there is none.
  virtual std::string repairs() const { return {}; }
  // How the memory of the target is saved, as a sentence; empty where it is a plain copy.
  virtual std::string snapshots() const { return {}; }
  // What its searches do not try, when these kinds of op were performed (CrashCounts::performed).
  virtual std::vector<NotTried> not_tried(uint64_t) const { return {}; }
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

// All successors of a state.
template <class System>
struct AllSink : FullSink<System> {
  struct Successor {
    Choice choice;
    Outcome outcome;
    typename System::State state;
  };
  typename System::State& next() { return built; }
  void commit(Choice choice, Outcome outcome) { all.push_back({choice, outcome, built}); }
  std::vector<Successor> all;
  typename System::State built;
};

Error no_such_choice(size_t position, Choice choice);
// "step 3 (append file1) is not possible there"
std::string impossible_step(const Step& step);

// What a system offers to a search.
struct Offers {
  bool generations = false;  // this search goes by generations
  bool shape = false;        // its states have shapes
  bool recovery = false;     // it knows how much recovery had to do
  bool edges = false;        // it knows which edges of its code were reached
};
Status accepts(const SearchOptions& options, const Offers& offers);

}  // namespace detail

// A Check over any transition system with small states. A `Teller` has describe(from, choice), the step that
// a choice is, without an id; step(from, choice, to), which tells it; and take(), the story at the end.
template <TransitionSystem System, class Teller>
class SystemCheck : public Check {
 public:
  // `kinds` are the findings that it can have, in the order of the catalogue.
  SystemCheck(System system, std::span<const MarkInfo> marks, KindTable kinds)
      : system_(std::move(system)), marks_(marks.begin(), marks.end()), kinds_(std::move(kinds)) {}

  const KindTable& kinds() const override { return kinds_; }
  Status accepts(const SearchOptions& options) const override {
    return detail::accepts(options, {.generations = detail::by_generations<System>(options)});
  }
  SearchResult search(const SearchOptions& wanted, const ProgressFn& show) const override {
    SearchOptions options = wanted;
    options.possible = kinds_.all();
    return run_search(system_, options, show);
  }
  using Check::find_traces;
  FoundTraces find_traces(const SearchOptions& options, FindingBits wanted,
                          const ProgressFn& show) const override {
    return sisyfs::find_traces(system_, options, wanted, show);
  }

  Result<std::vector<Step>> steps(const Trace& trace) const override {
    const Teller teller(system_);
    std::vector<Step> steps;
    typename System::State state;
    system_.initial(state);
    for (size_t i = 0; i < trace.size(); ++i) {
      detail::ChoiceSink<System> sink;
      sink.wanted = trace[i];
      system_.expand(state, sink);
      if (!sink.found) return detail::no_such_choice(i, trace[i]);
      steps.push_back(teller.describe(state, trace[i]));
      steps.back().id = static_cast<uint32_t>(i) + 1;
      state = sink.chosen;
    }
    return steps;
  }

  Replayed replay(std::span<const Step> steps) const override {
    Teller teller(system_);
    typename System::State state;
    system_.initial(state);
    Replayed replayed;
    FindingBits findings = 0;
    for (const Step& step : steps) {
      detail::AllSink<System> sink;
      system_.expand(state, sink);
      const auto same = [&](const auto& successor) {
        Step other = teller.describe(state, successor.choice);
        other.id = step.id;
        return other == step;
      };
      const auto found = std::find_if(sink.all.begin(), sink.all.end(), same);
      if (found == sink.all.end()) {
        replayed.cannot_happen = detail::impossible_step(step);
        break;
      }
      findings = found->outcome.findings;
      teller.step(state, found->choice, found->state);
      state = found->state;
    }
    replayed.story = teller.take();
    replayed.story.findings = kinds_.in(findings);
    return replayed;
  }
  std::span<const MarkInfo> marks() const override { return marks_; }
  const System& system() const { return system_; }

 private:
  System system_;
  std::vector<MarkInfo> marks_;
  KindTable kinds_;
};

}  // namespace sisyfs
