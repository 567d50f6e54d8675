#include "finding/token_bytes.h"

#include <charconv>
#include <map>

#include "base/mutant.h"
#include "finding/pack.h"
#include "finding/token_layout.h"

namespace sisyfs {
namespace {

namespace layout = token_layout;

// A small signed number, of either sign, as a small unsigned one: 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
uint64_t folded(int64_t number) {
  return (static_cast<uint64_t>(number) << 1) ^ static_cast<uint64_t>(number >> 63);
}
int64_t difference(uint32_t from, uint32_t to) { return static_cast<int32_t>(to - from); }
int64_t difference(uint64_t from, uint64_t to) { return static_cast<int64_t>(to - from); }

// The number, where the word is what to_string() gives for it.
bool is_number(std::string_view word, uint64_t& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() && (word.size() == 1 || word[0] != '0');
}

bool fits(char form, std::string_view word) {
  uint64_t number = 0;
  if (form == 'N') return is_number(word, number);
  if (form == 'V') return word.starts_with('v') && is_number(word.substr(1), number);
  return !word.empty();
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t end = 0; end != std::string_view::npos;) {
    end = text.find(' ');
    words.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

const layout::OpForm* form_of(const std::vector<std::string_view>& words) {
  for (const layout::OpForm& form : layout::kOpForms) {
    bool good = form.name == words[0] && form.words.size() + 1 == words.size();
    for (size_t i = 0; good && i < form.words.size(); ++i) good = fits(form.words[i], words[i + 1]);
    if (good) return &form;
  }
  return nullptr;
}

class Writer {
 public:
  Writer() {
    for (const std::string_view text : layout::kStrings) strings_.emplace(text, strings_.size());
  }

  void step(const Step& step) {
    const bool is_cut = step.kind == Step::Kind::kPowerCut;
    const size_t cuts = std::min<size_t>(step.cuts.size(), layout::kCutCount);
    unsigned head = layout::kHead | static_cast<unsigned>(step.kind) << 5 | static_cast<unsigned>(cuts);
    if (step.id != id_ + 1) head |= layout::kHasId;
    if (step.task != task_) head |= layout::kHasTask;
    if (step.failure.kind != InjectedFailure::Kind::kNone) head |= layout::kFails;
    const bool is_plain_advance =
        step.op.empty() && head == (layout::kHead | static_cast<unsigned>(Step::Kind::kAdvance) << 5);
    const bool is_plain_op = !step.op.empty() && head == layout::kHead;
    if (!is_plain_advance && !is_plain_op) {
      byte(head);
      if ((head & layout::kHasId) != 0) number(step.id - id_ - 1);
      if ((head & layout::kHasTask) != 0) number(step.task);
      if ((head & layout::kFails) != 0)
        number(uint64_t{step.failure.nth} << 2 | (static_cast<unsigned>(step.failure.kind) - 1));
      if (cuts == layout::kCutCount) number(step.cuts.size() - cuts);
    }
    if (!is_cut) op(step.op);
    id_ = step.id;
    task_ = step.task;
    for (uint32_t i = 0; i < step.cuts.size(); ++i) cut(step.cuts[i], i);
  }

  void tail(const Finding& finding) {
    byte(layout::kEnd);
    number(finding.others.size());
    for (const Setup& other : finding.others) {
      string(other.target);
      number(other.settings.size());
      for (const std::string& setting : other.settings) string(setting);
    }
    number(finding.surroundings.size());
    for (const auto& [name, value] : finding.surroundings) string(name), string(value);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void byte(unsigned value) { bytes_ += static_cast<char>(value); }
  void number(uint64_t value) { append_number(bytes_, value); }

  void string(std::string_view text) {
    const auto [at, is_new] = strings_.emplace(text, strings_.size());
    number(is_new ? text.size() << 1 | 1 : at->second << 1);
    if (is_new) bytes_ += text;
  }

  void op(const std::string& text) {
    if (text.empty()) return byte(layout::kNoOp);
    const std::vector<std::string_view> words = words_of(text);
    const layout::OpForm* form = form_of(words);
    if (form == nullptr) {
      byte(layout::kTextOp);
      return string(text);
    }
    byte(form->code);
    for (size_t i = 0; i < form->words.size(); ++i) {
      uint64_t value = 0;
      if (form->words[i] == 'S')
        string(words[i + 1]);
      else if (is_number(words[i + 1].substr(form->words[i] == 'V' ? 1 : 0), value))
        number(value);
    }
  }

  void cut(const PowerCut& cut, uint32_t index) {
    number(uint64_t{cut.lost.size()} << 1 | (cut.promises != 0 ? 1 : 0));
    number(cut.after);
    if (cut.promises != 0) number(cut.promises);
    EventName before{.step = id_, .cut = index, .address = address_};
    for (size_t i = 0; i < cut.lost.size();) {
      const size_t run = run_at(cut.lost, i);
      lost(cut.lost[i], before, run, run == 0 ? 0 : stride(cut.lost, i));
      i += run + 1;
      before = cut.lost[i - 1].event;
    }
    address_ = before.address;
  }

  static int64_t stride(const std::vector<LostEvent>& lost, size_t i) {
    return difference(lost[i].event.address, lost[i + 1].event.address);
  }

  // How many of the next events follow event i with the same stride, if it is worth writing them as a run.
  static size_t run_at(const std::vector<LostEvent>& lost, size_t i) {
    size_t run = 0;
    while (i + run + 1 < lost.size()) {
      LostEvent next = lost[i + run];
      ++next.event.nth;
      next.event.address += static_cast<uint64_t>(stride(lost, i));
      if (next != lost[i + run + 1]) break;
      ++run;
    }
    const bool is_short = run != 0 && lost[i].parts.empty() && is_near(stride(lost, i));
    return run >= (is_short ? 4 : 2) ? run : 0;
  }

  static bool is_near(int64_t distance) { return distance >= -32 && distance < 32; }

  void lost(const LostEvent& lost, EventName before, size_t run, int64_t stride) {
    const EventName& event = lost.event;
    unsigned head = layout::kLong;
    if (event.step != before.step) {
      head |= layout::kLostStep;
      before.cut = 0;
      before.nth = 0;
    }
    if (event.cut != before.cut) {
      head |= layout::kLostCut;
      before.nth = 0;
    }
    const int64_t nth = difference(before.nth + 1, event.nth);
    const int64_t address = difference(before.address, event.address);
    if (event.disk != before.disk) head |= layout::kLostDisk;
    if (!lost.parts.empty()) head |= layout::kLostParts;
    if (run != 0) head |= layout::kLostRun;
    if (head == layout::kLong && (nth == 0 || nth == 1) && is_near(address))
      return byte((nth == 1 ? layout::kShortSkips : 0u) | static_cast<unsigned>(address + 32));
    if (nth != 0) head |= layout::kLostNth;
    if (address != 1) head |= layout::kLostAddress;
    byte(head);
    if ((head & layout::kLostStep) != 0) number(folded(difference(before.step, event.step)));
    if ((head & layout::kLostCut) != 0) number(event.cut);
    if ((head & layout::kLostNth) != 0) number(folded(nth));
    if ((head & layout::kLostDisk) != 0) number(event.disk);
    if ((head & layout::kLostAddress) != 0) number(folded(address));
    if ((head & layout::kLostParts) != 0) parts(lost.parts);
    if ((head & layout::kLostRun) != 0) {
      number(mutant(Mutant::kRunsAreOne) ? 0 : run - 1);
      number(folded(stride));
    }
  }

  void parts(const std::vector<uint32_t>& parts) {
    number(parts.size());
    uint32_t next = 0;  // the smallest that the next part can be
    for (const uint32_t part : parts) {
      number(part - next);
      next = part + 1;
    }
  }

  std::string bytes_;
  std::map<std::string, size_t, std::less<>> strings_;
  uint32_t id_ = 0, task_ = 0;  // of the step before
  uint64_t address_ = 0;        // of the last lost event
};

}  // namespace

std::string token_bytes(const Finding& finding) {
  Writer writer;
  for (const Step& step : finding.steps) writer.step(step);
  unsigned header = 0;
  if (!finding.others.empty() || !finding.surroundings.empty()) {
    header |= layout::kHasTail;
    writer.tail(finding);
  }
  const std::string& plain = writer.bytes();
  std::string packed;
  if (plain.size() <= layout::kMostUnpacked) packed = pack(plain);
  const bool shorter = !packed.empty() && packed.size() < plain.size();
  if (shorter) header |= layout::kPacked;
  return static_cast<char>(header) + (shorter ? packed : plain);
}

}  // namespace sisyfs
