#include "finding/check.h"

#include <fmt/format.h>

#include "explore/worker_messages.h"

namespace sisyfs {

Result<Story> Check::tell(const Trace& trace) const {
  const Result<std::vector<Step>> named = steps(trace);
  if (!named) return named.error();
  Replayed replayed = replay(*named);
  if (!replayed.cannot_happen.empty()) return bad_input(replayed.cannot_happen);
  return std::move(replayed.story);
}

void Check::serve(WorkerLink& search) const {
  search.send(message::encode(message::Refused{"this target has no workers in other processes"}));
}

Result<TriedOps> Check::ops_after(std::span<const Op>) const {
  return bad_input("its steps are no ops; link and index have ops with --set via=disk");
}

Status Check::follow(const Script&) {
  return bad_input(
      "--script: it is a model in steps, which has no ops; link and index have ops with --set via=disk");
}

Status Check::follow_ace(uint32_t) {
  return bad_input(
      "--workload ace: it is a model in steps, which has no ops; link and index have ops with --set "
      "via=disk");
}

namespace detail {

Status accepts(const SearchOptions& options, const Offers& offers) {
  const bool walks = options.order == SearchOrder::kWalk;
  const bool best_first = is_best_first(options.order);
  if (is_coarse(options.dedup) && !offers.shape)
    return bad_input(
        "this target has no tree that could be known again: use --dedup exact, or --via disk where "
        "there is one");
  if (walks && options.dedup != Dedup::kExact && options.dedup != Dedup::kNone)
    return bad_input("walks merge no states: use --dedup exact, which counts them, or none");
  if (is_coarse(options.dedup) && options.order == SearchOrder::kDepthFirst)
    return bad_input(
        "dedup by shape or tree needs --search bfs: which of the merged states stands for the others must "
        "not depend on threads");
  if (best_first && options.dedup == Dedup::kBitstate)
    return bad_input("a best-first search keeps its states: use --dedup exact or none, or --search bfs");
  if (options.order == SearchOrder::kMostRecovery && !offers.recovery)
    return bad_input(
        "--search recovery needs a target whose recovery writes to a disk after a power cut: link and index "
        "only "
        "with --via disk");
  if (options.order == SearchOrder::kCoverage && !offers.edges)
    return bad_input(
        "--search coverage needs a plug-in that was compiled for it: with -fsanitize-coverage=trace-pc (gcc) "
        "or "
        "trace-pc-guard (clang), and without a sanitizer");
  if (options.checkpoint && options.order == SearchOrder::kCoverage)
    return bad_input(
        "--search coverage cannot be saved: which edges were reached is known to its process only");
  if (options.checkpoint && walks)
    return bad_input("walks are not saved, as each starts anew: go on by another --seed");
  if (options.checkpoint && !offers.generations)
    return bad_input(
        "this search cannot be saved: --checkpoint needs --search bfs, recovery or rare, and no bitstate; "
        "link and index also --via disk or --search rare");
  return {};
}

Error no_such_choice(size_t position, Choice choice) {
  return bad_input(
      fmt::format("step {} of the trace asks for choice {}, which is not possible there: the trace "
                  "belongs to another target, other options or another version",
                  position + 1, static_cast<uint64_t>(choice)));
}

std::string impossible_step(const Step& step) {
  return fmt::format("step {}{} is not possible there", step.id, step.op.empty() ? "" : " (" + step.op + ")");
}

}  // namespace detail
}  // namespace sisyfs
