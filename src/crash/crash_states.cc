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
  samples_ = sampled_ = draws_ = 0;
  seed_ = bound.seed;
  newest_only_ = bound.newest_only;
  if (newest_only_) planned_ = 1;
  all_ = newest_only_ ? total_ == StateCount(1) : total_ <= StateCount(bound.max_states);
  if (all_ || newest_only_) return;
  const StateCount edges = count_edges();
  // If the samples would be all states between the edges, all states are enumerated instead.
  all_ = bound.samples != 0 && !total_.saturated() && total_ <= edges + StateCount(bound.samples);
  if (all_) return;
  samples_ = bound.samples;
  planned_ = edges + StateCount(samples_);
}

// The number of ways to lose exactly d pieces is the coefficient of x^d in the product of
// (1 + x + … + x^length) over the chains. Keeping exactly d is the same number, by symmetry.
StateCount CrashStates::count_edges() const {
  std::vector<StateCount> ways(edge_ + 1, 0), more(edge_ + 1, 0);
  ways[0] = 1;
  for (const Epoch::Chain& chain : state_.epoch().chains()) {
    for (uint64_t d = 0; d <= edge_; d++) {
      more[d] = 0;
      for (uint64_t here = 0; here <= std::min<uint64_t>(d, chain.length); here++) more[d] += ways[d - here];
    }
    ways.swap(more);
  }
  StateCount edges = 0;
  for (uint64_t d = 0; d <= edge_; d++) {
    edges += ways[d];                           // d lost
    if (pieces_ - d > edge_) edges += ways[d];  // d kept, unless few enough are lost to be counted already
  }
  return edges;
}

CrashState* CrashStates::next() {
  bool more = false;
  if (newest_only_ && round_ != Round::kBefore) round_ = Round::kDone;
  switch (round_) {
    case Round::kBefore:
      round_ = all_ ? Round::kAll : Round::kLosing;
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
      more = deal_again() || begin_round(Round::kKeeping, dealt_ + 1) || begin_sampling();
      break;
    case Round::kSampling:
      more = draw();
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

// Deals `amount` to the chains from `from` on, to the last ones first: the first vector with this sum.
void CrashStates::deal(size_t from, uint64_t amount) {
  for (size_t c = digits_.size(); c-- > from;) {
    const uint32_t share =
        static_cast<uint32_t>(std::min<uint64_t>(amount, state_.epoch().chains()[c].length));
    set_digit(c, share);
    amount -= share;
  }
}

// The next vector with the same sum: raises the rightmost digit that can take one from the digits right of
// it, and deals the rest of those anew.
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

bool CrashStates::begin_sampling() {
  if (samples_ == 0) return false;
  round_ = Round::kSampling;
  const Epoch& epoch = state_.epoch();
  epoch_digest_ = digest_at(seed_, epoch.digest());
  piece_keys_.clear();
  for (const Epoch::Piece& piece : epoch.pieces()) piece_keys_.push_back(epoch.digest_of(piece));
  drawn_.clear();
  return draw();
}

// There are more states between the edges than samples are wanted, so a new one is always found. After kTries
// draws of known ones, the odometer goes on from the last one drawn.
bool CrashStates::draw() {
  constexpr int kTries = 100;
  if (sampled_++ == samples_) return false;
  for (int tries = 0; tries < kTries; tries++) {
    draw_once();
    if (is_new_sample()) return true;
  }
  do (void)turn_odometer();
  while (!is_new_sample());
  return true;
}

void CrashStates::draw_once() {
  const Digest drawn = digest_at(draws_++, epoch_digest_);
  const std::span<const Epoch::Piece> pieces = state_.epoch().pieces();
  std::fill(digits_.begin(), digits_.end(), 0);
  for (size_t p = 0; p < pieces.size(); p++) {
    if (mul_fold(piece_keys_[p].lo ^ drawn.lo, piece_keys_[p].hi ^ ~drawn.lo) < drawn.hi)
      digits_[pieces[p].chain]++;
  }
  for (size_t c = 0; c < digits_.size(); c++) set_digit(c, digits_[c]);
}

bool CrashStates::is_new_sample() {
  const uint64_t lost = state_.lost_pieces();
  if (lost <= edge_ || pieces_ - lost <= edge_) return false;
  return drawn_.insert(sisyfs::digest_of(digits_.data(), digits_.size() * sizeof(digits_[0]))) ||
         mutant(Mutant::kSampleAgain);
}

}  // namespace sisyfs
