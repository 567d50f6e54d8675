#include "explore/serve_search.h"

namespace sisyfs {
namespace {

// A worker waits for its search as long as that lives.
constexpr std::chrono::hours kPatient{1};

}  // namespace

namespace detail {

bool SearchEnd::take_in(std::chrono::milliseconds patience) {
  const Receipt receipt = gone_ ? Receipt::kGone : link_.receive(bytes_, patience);
  if (receipt == Receipt::kNothing) return false;
  std::optional<message::Any> order;
  if (receipt == Receipt::kMessage) order = message::decode(bytes_);
  if (!order) {
    gone_ = told_to_stop_ = true;
    return false;
  }
  if (std::holds_alternative<message::Stop>(*order))
    told_to_stop_ = true;
  else
    orders_.push_back(*std::move(order));
  return true;
}

std::optional<message::Any> SearchEnd::next() {
  for (;;) {
    while (!orders_.empty()) {
      message::Any order = std::move(orders_.front());
      orders_.pop_front();
      const bool is_work =
          std::holds_alternative<message::Expand>(order) || std::holds_alternative<message::Walk>(order);
      if (!told_to_stop_ || !is_work) return order;
    }
    if (gone_) return std::nullopt;
    take_in(kPatient);
  }
}

void SearchEnd::send(const message::Any& message) {
  if (!link_.send(message::encode(message))) gone_ = told_to_stop_ = true;
}

bool SearchEnd::told_to_stop() {
  if (told_to_stop_ || Clock::now() - looked_ < kLookEach) return told_to_stop_;
  looked_ = Clock::now();
  while (take_in(std::chrono::milliseconds(0))) {
  }
  return told_to_stop_;
}

}  // namespace detail

std::optional<message::Begin> await_begin(WorkerLink& link) {
  detail::SearchEnd search(link);
  const std::optional<message::Any> first = search.next();
  const auto* begin = first ? std::get_if<message::Begin>(&*first) : nullptr;
  return begin == nullptr ? std::nullopt : std::optional(*begin);
}

}  // namespace sisyfs
