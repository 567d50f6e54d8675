#include "report/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

#include "base/printable.h"

namespace sisyfs {
namespace {

std::string stop_text(Stop stop) {
  switch (stop) {
    case Stop::kNo:
      return "";
    case Stop::kFinding:
      return "stopped at what was looked for";
    case Stop::kInterrupted:
      return "interrupted";
    case Stop::kTime:
      return "the time bound was reached";
    case Stop::kStates:
      return "the bound on states was reached";
    case Stop::kMemory:
      return "the memory bound was reached";
    case Stop::kHarness:
      return "the harness failed";
  }
  return "";
}

std::string order_text(const SearchOptions& options) {
  switch (options.order) {
    case SearchOrder::kBreadthFirst:
      return "breadth-first";
    case SearchOrder::kDepthFirst:
      return "depth-first";
    case SearchOrder::kMostRecovery:
      return "best-first: states after which recovery had most to do";
    case SearchOrder::kRarest:
      return "best-first: states that did what was seen least often";
    case SearchOrder::kCoverage:
      return "best-first: states that reached edges of the code that were new";
    case SearchOrder::kWalk:
      return fmt::format("{} of at most {}, seed {}", plural(options.walk.walks, "random walk"),
                         plural(options.walk.length, "step"), options.walk.seed);
  }
  return "";
}

std::string coverage_text(const SearchOptions& options, const SearchResult& result, const Check& check) {
  const bool best_first = is_best_first(options.order);
  const bool lossy = options.dedup == Dedup::kBitstate || is_coarse(options.dedup);
  if (check.workloads() && result.stopped == Stop::kNo && !lossy)
    return fmt::format("every bounded workload was walked to its end, {}",
                       result.exhausted ? "and nothing else" : "but not with every power cut");
  if (result.exhausted && !lossy) return "the state space is exhausted: a greater depth adds nothing";
  if (result.stopped != Stop::kNo) return stop_text(result.stopped) + ": what lies beyond was not looked at";
  if (options.order == SearchOrder::kWalk)
    return "random walks, which find and prove nothing: what they did not meet may be there";
  if (options.dedup == Dedup::kBitstate)
    return "no new states were met, but some may have been taken for others: to prove, use --dedup exact";
  if (is_coarse(options.dedup))
    return fmt::format(
        "of each {} one state was followed{}, and the others were not: to prove, use --dedup exact",
        options.dedup == Dedup::kTree ? "tree" : "shape",
        options.bounds.depth == SearchBounds::kNoDepth ? ""
                                                       : fmt::format(", to depth {}", options.bounds.depth));
  if (best_first && result.unexpanded != 0)
    return fmt::format(
        "{} at the depth bound were not expanded, though some may have a shorter way: to prove, search by "
        "bfs",
        plural(result.unexpanded, "state"));
  if (options.bounds.depth == SearchBounds::kNoDepth)
    return "a bound of the target left something out: not all that is possible was looked at";
  return fmt::format("every path of {} was walked{}; {} at that depth {} not expanded",
                     plural(options.bounds.depth, "step"),
                     result.left_out == 0 && check.cuts().empty() ? "" : ", but not with every power cut",
                     plural(result.unexpanded, "state"), result.unexpanded == 1 ? "was" : "were");
}

std::string workloads_text(const BoundedWorkloads& workloads) {
  return fmt::format(
      "{} of {}, each with a persistence point or none, and one after the last",
      workloads.count ? plural(*workloads.count, "bounded workload") : "the bounded workloads",
      workloads.core_ops == 1 ? "1 core op" : fmt::format("1 to {} core ops", workloads.core_ops));
}

// What is not kept in a checkpoint is counted anew.
const char* since_when(const SearchOptions& options) {
  return options.resume == nullptr ? "" : ", since the search was resumed";
}

std::string left_out_text(const SearchOptions& options, const SearchResult& result, const Check& check) {
  const bool more = result.left_out == UINT64_MAX;
  if (!check.cuts().empty())
    return fmt::format("{}{}, by the settings{}", more ? "more than " : "",
                       plural(result.left_out, "crash state"), since_when(options));
  return fmt::format(
      "{}{}: where a power cut could leave very many, those were looked at in which few writes were lost or "
      "few were kept{}{}",
      more ? "more than " : "", plural(result.left_out, "crash state"),
      result.sampled == 0
          ? ""
          : fmt::format(", and {} of the others, drawn by a seed", count_text(result.sampled)),
      since_when(options));
}

std::string crashes_text(const SearchOptions& options, const SearchResult& result) {
  const bool more = result.crash_states == UINT64_MAX;
  return fmt::format("{}{} judged by {}; the others were known to come back alike{}",
                     more ? "more than " : "", plural(result.crash_states, "crash state"),
                     result.recoveries == 1 ? "1 recovery" : count_text(result.recoveries) + " recoveries",
                     since_when(options));
}

std::string dedup_text(const SearchOptions& options, const SearchResult& result) {
  switch (options.dedup) {
    case Dedup::kExact:
      return fmt::format(
          "exact: 76-bit fingerprints of the whole state; chance that any two states were merged: below "
          "{:.1e}",
          result.merge_probability);
    case Dedup::kBitstate:
      return "bitstate: lossy, states may have been missed; it can find but not prove";
    case Dedup::kShape:
      return fmt::format(
          "shape: states with isomorphic trees, as many syncs, remounts and power cuts, and the same last {} "
          "were taken for one, whatever their disks held; what only a merged state shows was missed",
          plural(options.shape_ops, "op"));
    case Dedup::kTree:
      return fmt::format(
          "tree: states with the same tree, the same expectation and the same last {} were taken for one, "
          "whatever "
          "disk and memory held; what only a merged state shows was missed",
          plural(options.shape_ops, "op"));
    case Dedup::kNone:
      return "none: each path is walked on its own";
  }
  return "";
}

// Which kinds were looked for, where that was not all, and which others were met on the way.
std::string only_text(const KindTable& kinds, const SearchOptions& options, const SearchResult& result) {
  const FindingBits watched = options.watched & kinds.all(), ignored = kinds.all() & ~watched;
  const bool few = std::popcount(watched) <= std::popcount(ignored);
  std::string out = few ? fmt::format("{} was looked for", names_of(kinds.in(watched)))
                        : fmt::format("all but {} was looked for", names_of(kinds.in(ignored)));
  if (const FindingBits others = result.met & ignored; others != 0)
    out += fmt::format("; met on the way and not counted: {}", names_of(kinds.in(others)));
  return out;
}

std::string edges_text(const SearchOptions& options, const EdgeCount& edges) {
  const char* when = since_when(options);
  if (edges.known == 0) return fmt::format("{} reached{}", plural(edges.reached, "edge"), when);
  return fmt::format("{} of {} reached{}", count_text(edges.reached), plural(edges.known, "edge"), when);
}

}  // namespace

std::string not_tried_text(std::span<const NotTried> all) {
  std::string out;
  for (const NotTried& one : all) {
    out += (out.empty() ? "" : "; ") + one.what;
    if (!one.setting.empty()) out += fmt::format(" (--set {})", one.setting);
  }
  return out;
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 10'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  if (bytes < 10'000'000'000) return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

std::string seconds_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1000);
  if (seconds < 100) return fmt::format("{:.1f} s", seconds);
  return fmt::format("{:.0f} s", seconds);
}

std::string closing_statement(const Setup& setup, const Check& check, const SearchOptions& options,
                              const SearchResult& result, const TextStyle& style) {
  std::string verdict;
  if (result.verdict == Verdict::kPass) verdict = green(style, "PASS");
  if (result.verdict == Verdict::kFail) verdict = red(style, "FAIL");
  if (result.verdict == Verdict::kUnknown) verdict = bold(style, "UNKNOWN");
  std::string out =
      fmt::format("{}: {}{}{}\n", verdict, printable(setup.target), setup.settings.empty() ? "" : " ",
                  printable(fmt::format("{}", fmt::join(setup.settings, " "))));
  if ((check.kinds().all() & ~options.watched) != 0)
    out += fmt::format("  only      {}\n", only_text(check.kinds(), options, result));
  out += fmt::format("  covered   {}\n", coverage_text(options, result, check));
  if (const auto workloads = check.workloads())
    out += fmt::format("  workload  {}\n", workloads_text(*workloads));
  if (!check.cuts().empty()) out += fmt::format("  cuts      {}\n", check.cuts());
  if (result.left_out != 0) out += fmt::format("  left out  {}\n", left_out_text(options, result, check));
  if (result.crash_states != 0) out += fmt::format("  crashes   {}\n", crashes_text(options, result));
  if (options.order != SearchOrder::kBreadthFirst)
    out += fmt::format("  order     {}\n", order_text(options));
  out += fmt::format("  searched  {}, {}, depth {}, in {} on {} ({:.2f} million transitions/s)\n",
                     plural(result.states, "state"), plural(result.transitions, "transition"), result.depth,
                     seconds_text(result.seconds),
                     plural(options.threads, options.start_worker ? "worker" : "thread"),
                     result.seconds > 0 ? static_cast<double>(result.transitions) / result.seconds / 1e6 : 0);
  out += fmt::format("  memory    {} for visited states and frontier\n", bytes_text(result.memory_bytes));
  out += fmt::format("  dedup     {}\n", dedup_text(options, result));
  if (result.edges) out += fmt::format("  code      {}\n", edges_text(options, *result.edges));
  std::vector<std::string> reached, missed;
  for (const MarkInfo& mark : check.marks())
    ((result.marks & mark.bit) != 0 ? reached : missed).push_back(printable(mark.says));
  if (!reached.empty()) out += fmt::format("  reached   {}\n", fmt::join(reached, "; "));
  if (!missed.empty()) out += fmt::format("  never     {}\n", fmt::join(missed, "; "));
  // A search that ended at a finding says nothing about the rest.
  if (!result.not_tried.empty() && result.verdict != Verdict::kFail)
    out += fmt::format("  not tried {}\n", not_tried_text(result.not_tried));
  return out;
}

}  // namespace sisyfs
