#include "explore/harvest.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "base/mutant.h"

namespace sisyfs {

void FirstMet::note(FindingBits kinds, uint32_t depth, uint32_t parent, Choice choice) {
  for (FindingBits left = kinds; left != 0; left &= left - 1) {
    const int kind = std::countr_zero(left);
    FirstTransition& met = met_[static_cast<size_t>(kind)];
    const bool known = (known_ >> kind & 1) != 0;
    const bool later = std::tie(met.depth, met.parent) <= std::tie(depth, parent);
    if (known && later && !mutant(Mutant::kLastWayFound)) continue;
    met = {depth, parent, choice};
    known_ |= FindingBits{1} << kind;
  }
}

void FirstMet::merge(const FirstMet& other) {
  for (FindingBits left = other.known_; left != 0; left &= left - 1) {
    const FirstTransition& met = other.met_[static_cast<size_t>(std::countr_zero(left))];
    note(left & -left, met.depth, met.parent, met.choice);
  }
}

std::vector<FoundTrace> FirstMet::traces(const NodeTree& tree, FindingBits wanted) const {
  std::vector<FoundTrace> found;
  for (FindingBits left = known_ & wanted; left != 0; left &= left - 1) {
    const auto kind = static_cast<uint32_t>(std::countr_zero(left));
    found.push_back({kind, tree.path_to(met_[kind].parent)});
    found.back().trace.push_back(met_[kind].choice);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const FoundTrace& a, const FoundTrace& b) { return a.trace.size() < b.trace.size(); });
  return found;
}

void FirstMet::save(CheckpointSummary& to) const {
  to.met = known_;
  to.first_met = met_;
}

bool FirstMet::restore(const CheckpointSummary& from, const std::vector<uint32_t>& depths) {
  known_ = from.met;
  met_ = from.first_met;
  for (const FirstTransition& met : transitions())
    if (met.parent >= depths.size() || met.depth != depths[met.parent] + 1) {
      known_ = 0;  // the result of a refused search asks for traces, too
      return false;
    }
  return true;
}

std::vector<FirstTransition> FirstMet::transitions() const {
  std::vector<FirstTransition> all;
  for (FindingBits left = known_; left != 0; left &= left - 1)
    all.push_back(met_[static_cast<size_t>(std::countr_zero(left))]);
  return all;
}

namespace {

// The bound on memory bounds the number of nodes, whatever else is stored.
uint64_t most_nodes(const SearchOptions& options) { return options.bounds.memory_bytes / sizeof(Node); }

constexpr size_t kAhead = 8;  // candidates that are prefetched before they are looked up

bool best_first(const SearchOptions& options) { return options.order != SearchOrder::kBreadthFirst; }

}  // namespace

Harvest::Harvest(const SearchOptions& options, Team& team)
    : options_(options),
      team_(team),
      dedup_(options.dedup != Dedup::kNone),
      depth_bound_(best_first(options) ? std::min(options.bounds.depth, NodeTree::kDeepest)
                                       : options.bounds.depth),
      visited_(dedup_ ? options.bounds.memory_bytes : 0, false, true),
      tree_(most_nodes(options), best_first(options)),
      agenda_(options.order),
      hands_(options.threads) {}

void Harvest::start(const Digest& initial) {
  elsewhere_.initial = initial;
  if (options_.resume != nullptr) {
    if (Status restored = restore(*options_.resume); !restored) return fail(restored.error());
    absorb_pending();
    saves_.resumed_nodes = tree_.size();
    if (head_ == pending_.size() && cursor_ >= agenda_.size()) turn();
  } else {
    hands_[0].tally.states = 1;
    if (dedup_) visited_.insert(initial);
    ended_ = depth_bound_ == 0;
    hands_[0].tally.unexpanded = ended_;
  }
  measure();
  over_ = ended_ || team_.stopped();
  team_.report(0, hands_[0].tally);
  save_if_due(true);
  begin_round();
}

void Harvest::begin_round() {
  round_.first = cursor_;
  round_.started = Clock::now();
  round_.transitions = 0;
  for (Hand& hand : hands_) {
    hand.tally_before = hand.tally;
    hand.met_before = hand.met;
  }
}

void Harvest::fail(Error error) {
  const std::lock_guard lock(trouble_.mutex);
  if (!trouble_.error) trouble_.error = std::move(error);
  broken_ = over_ = true;
  team_.stop(Stop::kHarness);
}

bool Harvest::claim(uint32_t& begin, uint32_t& end) {
  // oversee() checks this flag too, but only every 20 ms.
  if (options_.interrupt != nullptr && options_.interrupt->load(std::memory_order_relaxed))
    team_.stop(Stop::kInterrupted);
  const uint64_t transitions = round_.transitions.load(std::memory_order_relaxed);
  if (team_.stopped() || transitions >= kRound) return false;
  if (transitions != 0 && is_slow(transitions)) return false;
  const uint32_t grain = round_.grain;
  const uint64_t at = cursor_.fetch_add(grain, std::memory_order_relaxed);
  const uint32_t size = agenda_.size();
  if (at >= size) return false;
  begin = static_cast<uint32_t>(at);
  end = static_cast<uint32_t>(std::min<uint64_t>(at + grain, size));
  return true;
}

// A fast round is always finished, so that it ends with exactly as many states as the bound allows. In a slow
// round a single node may take minutes; there, candidates count as states.
void Harvest::report_in_node(unsigned worker) {
  const Hand& hand = hands_[worker];
  team_.report(worker, hand.tally);
  const bool enough = hands_[0].tally_before.states + hand.candidates.size() >= options_.bounds.states;
  if (enough && is_slow(hand.tally.transitions - hand.tally_before.transitions)) team_.stop(Stop::kStates);
}

void Harvest::report_lost(uint32_t node) {
  const std::string which = "a choice on the path to state " + std::to_string(node) +
                            " was possible once and is not possible again";
  const std::lock_guard lock(trouble_.mutex);
  broken_ = true;
  team_.stop(Stop::kHarness);
  if (trouble_.error) return;
  trouble_.error = node < saves_.resumed_nodes ? contradiction(which)
                                               : system_error("the target is not deterministic: " + which);
}

void Harvest::report_trouble(Error error) {
  const std::lock_guard lock(trouble_.mutex);
  broken_ = true;
  team_.stop(Stop::kHarness);
  if (!trouble_.error) trouble_.error = std::move(error);
}

void Harvest::add(const CrashCounts& counts) {
  const std::lock_guard lock(trouble_.mutex);
  elsewhere_.counts += counts;
}

void Harvest::add(const message::Account& account) {
  if (account.edges) {
    const std::lock_guard lock(trouble_.mutex);
    elsewhere_.edges = account.edges;
  }
  if (!account.trouble.empty()) report_trouble(system_error(account.trouble));
}

void Harvest::refuse_finding(uint32_t kind) {
  fail(contradiction("its finding of kind " + std::to_string(kind) + " does not happen"));
}

Error Harvest::contradiction(const std::string& what) {
  return bad_input("the checkpoint does not fit this search, or the target is not deterministic: " + what);
}

// Inserts the successors of this round, in the order of their parents, from where they lie. Those that a
// bound leaves over become pending.
void Harvest::absorb_hands() {
  SISYFS_ASSERT(head_ == pending_.size(), "a search with pending successors has ended");
  pending_.clear();
  head_ = 0;
  bool room = true;
  std::vector<size_t> at(hands_.size());
  for (;;) {
    size_t which = hands_.size();
    uint32_t parent = std::numeric_limits<uint32_t>::max();
    for (size_t i = 0; i < hands_.size(); ++i) {
      if (at[i] == hands_[i].candidates.size() || hands_[i].candidates[at[i]].parent >= parent) continue;
      parent = hands_[i].candidates[at[i]].parent;
      which = i;
    }
    if (which == hands_.size()) break;
    const std::span<const Offspring> all = hands_[which].candidates;
    size_t& next = at[which];
    for (; next < all.size() && all[next].parent == parent; ++next) {
      if (dedup_ && next + kAhead < all.size()) visited_.prefetch(all[next + kAhead].print);
      room = room && keep(all[next]);
      if (!room) pending_.push_back(all[next]);
    }
  }
  for (Hand& hand : hands_) {
    hand.candidates.clear();
    if (!agenda_.counts_marks()) continue;
    agenda_.count_marks(hand.marks);
    hand.marks.fill(0);
  }
}

Seen Harvest::insert(const Digest& print) {
  if (!dedup_) return Seen::kNew;
  const auto grow = [this] {
    measure();
    const size_t others = bytes() - visited_.bytes(), bound = options_.bounds.memory_bytes;
    const size_t kept = others + others / 4;  // a reserve: the number of nodes grows too
    return visited_.grow(bound > kept ? bound - kept : 0, options_.threads);
  };
  if (visited_.crowded(hands_[0].tally.states)) grow();
  Seen seen = visited_.insert(print);
  while (seen == Seen::kNoRoom && grow()) seen = visited_.insert(print);
  return seen;
}

// False when a bound is reached; the candidate then stays pending.
bool Harvest::keep(const Offspring& candidate) {
  Tally& tally = hands_[0].tally;
  if (tally.states >= options_.bounds.states) {
    team_.stop(Stop::kStates);
    return false;
  }
  const Seen seen = tree_.full() ? Seen::kNoRoom : insert(candidate.print);
  if (seen == Seen::kNoRoom) team_.stop(Stop::kMemory);
  if (seen != Seen::kNew) return seen == Seen::kBefore;
  const uint32_t depth = depth_of(candidate.parent) + 1;
  ++tally.states;
  tally.depth = std::max(tally.depth, depth);
  if (depth >= depth_bound_) {
    ++tally.unexpanded;
    return true;
  }
  tree_.add(candidate.parent, candidate.choice, depth);
  agenda_.add(
      tree_.size() - 1,
      {.findings = 0, .marks = candidate.marks, .work = candidate.work, .new_edges = candidate.new_edges});
  return true;
}

void Harvest::absorb_pending() {
  for (; head_ < pending_.size(); ++head_) {
    if (dedup_ && head_ + kAhead < pending_.size()) visited_.prefetch(pending_[head_ + kAhead].print);
    if (!keep(pending_[head_])) return;
  }
}

void Harvest::turn() {
  cursor_ = 0;
  ended_ = !agenda_.turn();
  FindingBits findings = 0;
  for (const Hand& hand : hands_) findings |= hand.tally.findings;
  if (!ended_) team_.heed(findings);
}

void Harvest::measure() {
  size_t sum = (dedup_ ? visited_.bytes() : 0) + tree_.bytes() + agenda_.bytes();
  sum += pending_.capacity() * sizeof(Offspring);
  for (const Hand& hand : hands_) sum += hand.candidates.capacity() * sizeof(Offspring);
  bytes_.store(sum, std::memory_order_relaxed);
}

// The search has ended, and some claimed nodes are not expanded, or only in part. What was gathered goes into
// the result all the same: these states and findings are real. A checkpoint must not contain it.
void Harvest::save_and_abandon_round() {
  over_ = true;
  const auto exchange = [this] {
    for (Hand& hand : hands_) {
      std::swap(hand.tally, hand.tally_before);
      std::swap(hand.met, hand.met_before);
    }
  };
  exchange();
  cursor_ = round_.first;
  save_if_due(false);
  exchange();
  absorb_hands();
  measure();
  team_.report(0, hands_[0].tally);
}

void Harvest::close_round() {
  if (is_broken()) {
    over_ = true;
    return;
  }
  if (round_.unfinished) return save_and_abandon_round();
  cursor_ = std::min<uint64_t>(cursor_, agenda_.size());
  const std::chrono::duration<double> spent = Clock::now() - round_.started;
  round_.one_by_one = spent.count() * kSlowRound > static_cast<double>(round_.transitions) *
                                                       std::chrono::duration<double>(kSlowTime).count();
  const double nodes_per_s = static_cast<double>(cursor_ - round_.first) / std::max(spent.count(), 1e-6);
  absorb_hands();
  if (head_ == pending_.size() && cursor_ >= agenda_.size()) turn();
  set_grain(nodes_per_s);
  measure();
  if (!ended_ && bytes() > options_.bounds.memory_bytes) team_.stop(Stop::kMemory);
  over_ = ended_ || team_.stopped();
  team_.report(0, hands_[0].tally);
  save_if_due(false);
  begin_round();
}

// Large enough that asking for nodes takes no time, small enough that the workers end a round together.
void Harvest::set_grain(double nodes_per_s) {
  round_.grain = round_.one_by_one ? 1 : kGrain;
  if (!options_.start_worker || round_.one_by_one) return;
  const double each = nodes_per_s / options_.threads * kGrainSeconds;
  const uint64_t share = (agenda_.size() - cursor_) / (uint64_t{8} * options_.threads);
  const uint64_t most = std::min<uint64_t>(kMostGrain, share);
  round_.grain =
      static_cast<uint32_t>(std::clamp(each, 1.0, static_cast<double>(std::max<uint64_t>(most, 1))));
}

double Harvest::seconds() const {
  const std::chrono::duration<double> now = Clock::now() - times_.started;
  return times_.seconds_before + now.count();
}

void Harvest::conclude(SearchResult& result) const {
  FirstMet met;
  for (const Hand& hand : hands_) {
    hand.tally.merge_into(result);
    met.merge(hand.met);
  }
  result.traces = met.traces(tree_, options_.watched);
  static_cast<CrashCounts&>(result) += elsewhere_.counts;
  result.edges = elsewhere_.edges;
  result.stopped = broken_ ? Stop::kHarness : team_.stop_reason();
  result.exhausted = ended_ && !broken_ && result.unexpanded == 0;
  result.seconds = seconds();
  result.memory_bytes = bytes();
  result.trouble = trouble_.error;
  result.checkpoints_written = saves_.written;
  if (dedup_ && options_.digest_visited) result.visited = visited_.digest();
  if (dedup_) result.merge_probability = VisitedSet::merge_probability(result.states);
}

}  // namespace sisyfs
