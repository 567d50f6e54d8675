#include <fmt/format.h>

#include <algorithm>

#include "finding/pack.h"
#include "finding/token_bytes.h"
#include "finding/token_layout.h"
#include "finding/valid.h"

namespace sisyfs {
namespace {

namespace layout = token_layout;

constexpr const char* kEndsEarly = "the token ends in the middle of a step: copy the whole word";

uint64_t unfolded(uint64_t number) { return (number >> 1) ^ (0 - (number & 1)); }

// Reads from the front of a string of bytes. After the first error every read gives zeros, and nothing is
// counted any more, so that loops end.
class Reader {
 public:
  explicit Reader(std::string_view bytes)
      : bytes_(bytes), strings_(layout::kStrings.begin(), layout::kStrings.end()) {}

  Status read(bool has_tail, Finding& finding) {
    bool ended = false;
    while (!failed() && !bytes_.empty() && !ended) {
      const uint8_t head = byte();
      if (head == layout::kEnd) {
        ended = true;
      } else if (head >= layout::kReserved && head < layout::kEnd) {
        fail(fmt::format(
            "the token has a step of kind {}, which this program does not know: use the sisyfs that "
            "printed it",
            head));
      } else if (finding.steps.size() == kMostSteps) {
        fail(fmt::format("the token has more than {} steps: give a shorter finding", kMostSteps));
      } else {
        finding.steps.push_back(step(head));
      }
    }
    if (!failed() && ended != has_tail) fail("the token says wrongly where its steps end: copy it again");
    if (has_tail && !failed()) tail(finding);
    if (!failed() && !bytes_.empty()) fail("the token goes on behind its end: copy it again");
    if (failed()) return bad_input(error_);
    return {};
  }

 private:
  bool failed() const { return !error_.empty(); }
  void fail(std::string error) {
    if (error_.empty()) error_ = std::move(error);
    bytes_ = {};
  }

  uint8_t byte() {
    if (bytes_.empty()) {
      fail(kEndsEarly);
      return 0;
    }
    const auto value = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }

  uint64_t number() {
    const bool some = !bytes_.empty();
    const std::optional<uint64_t> value = take_number(bytes_);
    if (value) return *value;
    fail(some && !bytes_.empty() ? "the token has a malformed number: copy the whole word" : kEndsEarly);
    return 0;
  }

  uint32_t number32() {
    const uint64_t value = number();
    if (value > UINT32_MAX)
      fail(fmt::format("the token has {} where 32 bits are the limit: copy it again", value));
    return static_cast<uint32_t>(value);
  }

  // A count of things of which `left` may still come.
  size_t count(size_t left, const char* what) {
    const uint64_t value = number();
    if (value <= left) return value;
    fail(fmt::format("the token has too many {}: give a shorter finding", what));
    return 0;
  }

  std::string string() {
    const uint64_t value = number();
    const uint64_t at = value >> 1;
    const bool is_new = (value & 1) != 0;
    if (failed()) return {};
    if (at >= (is_new ? bytes_.size() + 1 : strings_.size())) {
      fail(is_new ? kEndsEarly : "the token names a string that it does not have: copy it again");
      return {};
    }
    if (is_new) {
      strings_.emplace_back(bytes_.substr(0, at));
      bytes_.remove_prefix(at);
    }
    const std::string& text = is_new ? strings_.back() : strings_[at];
    text_ += text.size();
    if (text_ <= kMostText) return text;
    fail(fmt::format("the token has more than {} bytes of text: give a shorter finding", kMostText));
    return {};
  }

  Step step(uint8_t head) {
    Step step;
    step.id = id_ + 1;
    step.task = task_;
    if (head == layout::kPlainAdvance) {
      step.kind = Step::Kind::kAdvance;
    } else if (head < layout::kHead) {
      step.op = op(head);
    } else {
      step.kind = static_cast<Step::Kind>((head & layout::kKind) >> 5);
      if ((head & layout::kHasId) != 0) step.id += number32();
      if ((head & layout::kHasTask) != 0) step.task = number32();
      if ((head & layout::kFails) != 0) step.failure = failure();
      size_t cuts = head & layout::kCutCount;
      if (cuts == layout::kCutCount) cuts += count(kMostCuts, "power cuts");
      if (step.kind != Step::Kind::kPowerCut) step.op = op(byte());
      cuts_ += cuts;
      if (cuts_ > kMostCuts) fail("the token has too many power cuts: give a shorter finding");
      for (uint32_t i = 0; i < cuts && !failed(); ++i) step.cuts.push_back(cut(step.id, i));
    }
    id_ = step.id;
    task_ = step.task;
    return step;
  }

  InjectedFailure failure() {
    const uint64_t value = number();
    const uint64_t kind = value & 3;
    if (kind >= layout::kFailures.size() || (value >> 2) > UINT32_MAX)
      fail("the token fails a call that this program does not know: use the sisyfs that printed it");
    return {static_cast<InjectedFailure::Kind>(kind + 1), static_cast<uint32_t>(value >> 2)};
  }

  std::string op(uint8_t code) {
    if (failed() || code == layout::kNoOp) return {};
    if (code == layout::kTextOp) return string();
    if (code >= layout::kOpForms.size()) {
      fail(fmt::format(
          "the token has the op code {}, which this program does not know: use the sisyfs that printed it",
          code));
      return {};
    }
    const layout::OpForm& form = layout::kOpForms[code];
    std::string text(form.name);
    for (const char word : form.words) {
      text += ' ';
      if (word == 'S')
        text += string();
      else
        text += fmt::format("{}{}", word == 'V' ? "v" : "", number());
    }
    return text;
  }

  PowerCut cut(uint32_t step, uint32_t index) {
    PowerCut cut;
    const uint64_t head = number();
    cut.after = number32();
    if ((head & 1) != 0) cut.promises = number32();
    if ((head >> 1) > kMostLost - lost_) fail("the token has too many lost events: give a shorter finding");
    if (failed()) return cut;
    const size_t lost = head >> 1;
    lost_ += lost;
    EventName before{.step = step, .cut = index, .address = address_};
    while (cut.lost.size() < lost && !failed()) {
      read_lost(before, cut.lost, lost - cut.lost.size());
      before = cut.lost.back().event;
    }
    address_ = before.address;
    return cut;
  }

  // Appends one event and the run after it, if there is one; at most `left` events.
  void read_lost(EventName event, std::vector<LostEvent>& lost, size_t left) {
    const uint8_t head = byte();
    if (head < layout::kLong) {
      event.nth += (head & layout::kShortSkips) != 0 ? 2 : 1;
      event.address += (head & layout::kShortAddress) - uint64_t{32};
      lost.push_back({event, {}});
      return;
    }
    if ((head & layout::kLostStep) != 0) {
      event.step += static_cast<uint32_t>(unfolded(number()));
      event.cut = 0;
      event.nth = 0;
    }
    if ((head & layout::kLostCut) != 0) {
      event.cut = number32();
      event.nth = 0;
    }
    event.nth += 1;
    if ((head & layout::kLostNth) != 0) event.nth += static_cast<uint32_t>(unfolded(number()));
    if ((head & layout::kLostDisk) != 0) event.disk = number32();
    event.address += (head & layout::kLostAddress) != 0 ? unfolded(number()) : 1;
    lost.push_back({event, {}});
    if ((head & layout::kLostParts) != 0) lost.back().parts = parts();
    if ((head & layout::kLostRun) == 0) return;
    const uint64_t run = number() + 1;
    const uint64_t stride = unfolded(number());
    if (run == 0 || run >= left)
      fail("the token has a run that is longer than its list of lost events: copy it again");
    // The parts of the first are those of each.
    const LostEvent first = lost.back();
    if (!failed()) parts_ += first.parts.size() * run;
    if (parts_ > kMostParts) fail("the token has too many parts: give a shorter finding");
    for (size_t i = 1; i <= run && !failed(); ++i) {
      lost.push_back(first);
      lost.back().event.nth += static_cast<uint32_t>(i);
      lost.back().event.address += i * stride;
    }
  }

  std::vector<uint32_t> parts() {
    std::vector<uint32_t> parts;
    const size_t size = count(kMostParts - parts_, "parts");
    parts_ += size;
    uint64_t next = 0;
    while (parts.size() < size && !failed()) {
      const uint64_t part = next + number32();
      if (part > UINT32_MAX) fail("the token has a part beyond 32 bits: copy it again");
      parts.push_back(static_cast<uint32_t>(part));
      next = part + 1;
    }
    return parts;
  }

  void tail(Finding& finding) {
    for (size_t others = count(kMostOthers, "targets"); others > 0 && !failed(); --others) {
      Setup& setup = finding.others.emplace_back();
      setup.target = string();
      for (size_t i = count(kMostSettings, "settings"); i > 0 && !failed(); --i)
        setup.settings.push_back(string());
    }
    for (size_t facts = count(kMostOthers, "facts"); facts > 0 && !failed(); --facts) {
      std::string name = string();
      if (!finding.surroundings.emplace(std::move(name), string()).second)
        fail("the token has a fact of the surroundings twice: copy it again");
    }
  }

  std::string_view bytes_;
  std::vector<std::string> strings_;
  std::string error_;
  uint32_t id_ = 0, task_ = 0;  // of the step before
  uint64_t address_ = 0;        // of the last lost event
  size_t text_ = 0, cuts_ = 0, lost_ = 0, parts_ = 0;
};

}  // namespace

Status read_token_bytes(std::string_view bytes, Finding& finding) {
  if (bytes.empty()) return bad_input("the token has no steps, not even their header: copy the whole word");
  const auto header = static_cast<uint8_t>(bytes.front());
  bytes.remove_prefix(1);
  if ((header & ~(layout::kPacked | layout::kHasTail)) != 0)
    return bad_input(
        fmt::format("the token has the header {:#04x}, of which this program does not know all: use the "
                    "sisyfs that printed it",
                    header));
  const bool has_tail = (header & layout::kHasTail) != 0;
  if ((header & layout::kPacked) == 0) return Reader(bytes).read(has_tail, finding);
  const std::optional<std::string> plain = unpack(bytes, layout::kMostUnpacked);
  if (!plain) return bad_input("the token cannot be unpacked: it was changed; copy it again");
  return Reader(*plain).read(has_tail, finding);
}

}  // namespace sisyfs
