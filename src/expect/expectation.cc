#include "expect/expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/tree_text.h"

namespace sisyfs {
namespace {

// What a tree stands for in the digest of an expectation.
enum Role : uint64_t { kOlder = 1, kNow = 2, kAfter = 3, kOpenNow = 4, kOpenAfter = 5 };

Digest term(Role role, const Tree& tree) { return digest_at(role, tree.digest()); }

}  // namespace

const char* contract_name(Contract contract) {
  switch (contract) {
    case Contract::kAtomic:
      return "atomic";
    case Contract::kStructure:
      return "structure";
  }
  return "?";
}

Expectation::Expectation(Contract contract, Tree start)
    : contract_(contract), now_(std::move(start)), after_(now_) {}

std::span<const Tree> Expectation::older() const {
  return older_ ? std::span<const Tree>(older_->trees) : std::span<const Tree>();
}

void Expectation::begin_op(Tree after) {
  SISYFS_ASSERT(!in_op_, "one call is in flight at a time");
  in_op_ = true;
  after_ = std::move(after);
}

void Expectation::end_op(int error) {
  SISYFS_ASSERT(in_op_, "a call ends after it began");
  in_op_ = false;
  if (error == 0 && after_ == now_)
    now_ = after_;  // what is open may differ
  else if (error == 0)
    advance(after_);
  after_ = now_;
}

void Expectation::advance(Tree next) {
  const Tree previous = std::exchange(now_, std::move(next));
  if (contract_ == Contract::kStructure) return;
  if (!older_) older_ = Shared<Window>(Window{});
  Window& window = older_.edit();
  // The window is a set: a tree that comes again is not older any more.
  if (const auto again = std::find(window.trees.begin(), window.trees.end(), now_);
      again != window.trees.end()) {
    window.sum -= term(kOlder, now_);
    window.trees.erase(again);
  }
  window.sum += term(kOlder, previous);
  window.trees.push_back(previous);
}

void Expectation::promise_all() {
  SISYFS_ASSERT(!in_op_, "a promise is made when its call has returned");
  older_ = Shared<Window>();
}

bool Expectation::crash_allowed(const Tree& recovered) const {
  if (contract_ == Contract::kStructure) return true;
  if (recovered == now_ || (in_op_ && recovered == after_)) return true;
  const std::span<const Tree> trees = older();
  return std::find(trees.begin(), trees.end(), recovered) != trees.end();
}

std::string Expectation::why_not(const Tree& recovered, std::span<const Tree> past) const {
  if (crash_allowed(recovered)) return {};
  const std::string from_now = first_difference(recovered, now_);
  const size_t allowed = older().size() + 1 + (in_op_ && !(after_ == now_) ? 1 : 0);
  if (const auto at = std::find(past.rbegin(), past.rend(), recovered); at != past.rend()) {
    const auto back = at - past.rbegin() + 1;
    return fmt::format("lost durability: the tree {} before what was promised came back; {}",
                       back == 1 ? std::string("just") : fmt::format("{} changes", back), from_now);
  }
  if (allowed == 1) return fmt::format("not the tree that was promised: {}", from_now);
  std::string reason =
      fmt::format("none of the {} allowed trees; against the tree now: {}", allowed, from_now);
  if (in_op_ && !(after_ == now_)) {
    reason += fmt::format("; against what the call leads to: {}", first_difference(recovered, after_));
  }
  return reason;
}

void Expectation::collapse(Tree recovered) {
  in_op_ = false;
  now_ = std::move(recovered);
  after_ = now_;
  older_ = Shared<Window>();
}

Digest Expectation::digest() const {
  Digest sum = term(kNow, now_) + Digest{0, static_cast<uint64_t>(contract_)};
  if (older_) sum += older_->sum;
  if (in_op_) sum += term(kAfter, after_);
  // Handles do not survive a power cut, but decide what may come next.
  if (now_.open_count() != 0) sum += digest_at(kOpenNow, now_.open_digest());
  if (in_op_ && after_.open_count() != 0) sum += digest_at(kOpenAfter, after_.open_digest());
  return sum;
}

}  // namespace sisyfs
