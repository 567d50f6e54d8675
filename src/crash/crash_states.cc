#include "crash/crash_states.h"

#include <algorithm>

#include "base/mutant.h"
namespace sisyfs {

CrashStates::CrashStates(const Epoch& epoch, const EnumerationBound& bound) : state_(epoch) {
  restart(epoch, bound);
}

void CrashStates::restart(const Epoch& epoch, const EnumerationBound& bound) {
  state_.restart(epoch);
  digits_.assign(epoch.chains().size(), 0);
  pieces_ = epoch.pieces().size();
  edge_ = std::min<uint64_t>(bound.edge, pieces_);
  dealt_ = 0;
  round_ = Round::kBefore;
  total_ = epoch.count();
  planned_ = total_;
  complete_ = total_ <= StateCount(bound.max_states);
  if (!complete_) plan_edges();
}

// The number of ways to lose exactly d pieces is the coefficient of x^d in the product of
// (1 + x + … + x^length) over the chains. Keeping exactly d is the same number, by symmetry.
void CrashStates::plan_edges() {
  std::vector<StateCount> ways(edge_ + 1, 0), more(edge_ + 1, 0);
  ways[0] = 1;
  for (const Epoch::Chain& chain : state_.epoch().chains()) {
    for (uint64_t d = 0; d <= edge_; d++) {
      more[d] = 0;
      for (uint64_t here = 0; here <= std::min<uint64_t>(d, chain.length); here++) more[d] += ways[d - here];
    }
    ways.swap(more);
  }
  planned_ = 0;
  for (uint64_t d = 0; d <= edge_; d++) {
    planned_ += ways[d];                           // d lost
    if (pieces_ - d > edge_) planned_ += ways[d];  // d kept, and too many lost to have come before
  }
}

CrashState* CrashStates::next() {
  bool more = false;
  switch (round_) {
    case Round::kBefore:
      round_ = complete_ ? Round::kAll : Round::kLosing;
      more = true;  // everything survived: all digits are zero
      break;
    case Round::kAll:
      more = turn_odometer();
      break;
    case Round::kLosing:
      more = deal_again() ||
             (dealt_ < edge_ ? begin_round(Round::kLosing, dealt_ + 1) : begin_round(Round::kKeeping, 0));
      break;
    case Round::kKeeping:
      more = deal_again() || begin_round(Round::kKeeping, dealt_ + 1);
      break;
    case Round::kDone:
      break;
  }
  if (!more) round_ = Round::kDone;
  return more ? &state_ : nullptr;
}

void CrashStates::set_digit(size_t chain, uint32_t digit) {
  digits_[chain] = digit;
  const uint32_t length = state_.epoch().chains()[chain].length;
  state_.keep(static_cast<uint32_t>(chain), round_ == Round::kKeeping ? digit : length - digit);
}

bool CrashStates::turn_odometer() {
  for (size_t c = digits_.size() - (mutant(Mutant::kLastChainSafe) && !digits_.empty() ? 1 : 0); c-- > 0;) {
    if (digits_[c] < state_.epoch().chains()[c].length) {
      set_digit(c, digits_[c] + 1);
      return true;
    }
    set_digit(c, 0);
  }
  return false;
}

// Gives `amount` to the chains from `from` on, to the last ones first: the first vector of its kind.
void CrashStates::deal(size_t from, uint64_t amount) {
  for (size_t c = digits_.size(); c-- > from;) {
    const uint32_t share =
        static_cast<uint32_t>(std::min<uint64_t>(amount, state_.epoch().chains()[c].length));
    set_digit(c, share);
    amount -= share;
  }
}

// The next vector of the same sum: raises the rightmost digit that can be raised at the cost of digits
// right of it, and deals what is left of those anew.
bool CrashStates::deal_again() {
  uint64_t right = 0;
  for (size_t c = digits_.size(); c-- > 0;) {
    if (right > 0 && digits_[c] < state_.epoch().chains()[c].length) {
      set_digit(c, digits_[c] + 1);
      deal(c + 1, right - 1);
      return true;
    }
    right += digits_[c];
  }
  return false;
}

bool CrashStates::begin_round(Round round, uint64_t dealt) {
  if (dealt > edge_ || (round == Round::kKeeping && pieces_ - dealt <= edge_)) return false;
  round_ = round;
  dealt_ = dealt;
  deal(0, dealt);
  return true;
}

}  // namespace sisyfs
