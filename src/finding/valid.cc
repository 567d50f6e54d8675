#include "finding/valid.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "target/options.h"

namespace sisyfs {
namespace {

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; });
}

Status validate_setup(const Setup& setup, const std::string& place) {
  if (setup.target.empty())
    return bad_input(fmt::format("{}target: is empty; name the target, as in 'sisyfs targets'", place));
  if (setup.target.find('\0') != std::string::npos)
    return bad_input(fmt::format("{}target: has a zero byte; remove it", place));
  if (setup.settings.size() > kMostSettings)
    return bad_input(fmt::format("{}settings: has {} entries, the limit is {}; remove some", place,
                                 setup.settings.size(), kMostSettings));
  for (size_t i = 0; i < setup.settings.size(); ++i) {
    const std::string& setting = setup.settings[i];
    const size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos || has_control_characters(setting))
      return bad_input(fmt::format("{}settings[{}]: is not of the form name=value; write it so", place, i));
  }
  if (Status s = Options::each_once(setup.settings); !s)
    return bad_input(fmt::format("{}settings: {}", place, s.error().message));
  return {};
}

size_t text_of(const Setup& setup) {
  size_t text = setup.target.size();
  for (const std::string& setting : setup.settings) text += setting.size();
  return text;
}

// Bytes of everything that is text, but for the ops.
size_t text_of(const Finding& finding) {
  size_t text = text_of(finding.setup);
  for (const Setup& other : finding.others) text += text_of(other);
  for (const auto& [name, value] : finding.surroundings) text += name.size() + value.size();
  return text;
}

// Goes through the steps, and counts what has a limit for all of them together.
class StepRules {
 public:
  explicit StepRules(const Finding& finding) : steps_(finding.steps), text_(text_of(finding)) {}

  Status check() {
    if (steps_.size() > kMostSteps)
      return bad_input(
          fmt::format("steps: has {} entries, the limit is {}; remove some", steps_.size(), kMostSteps));
    for (step_ = 0; step_ < steps_.size(); ++step_)
      if (Status s = check_step(); !s) return s;
    return {};
  }

 private:
  Status check_step() {
    const Step& step = steps_[step_];
    if (step.id == 0) return broken("", "has the id 0; ids start at 1");
    if (step_ > 0 && step.id <= steps_[step_ - 1].id)
      return broken("", fmt::format("has the id {} after the id {}; ids rise, and none comes twice", step.id,
                                    steps_[step_ - 1].id));
    if (has_control_characters(step.op)) return broken("", "has a control character in its op; remove it");
    text_ += step.op.size();
    if (text_ > kMostText)
      return broken("", fmt::format("the texts up to here have more than {} bytes; remove some", kMostText));
    const bool is_cut = step.kind == Step::Kind::kPowerCut;
    if (is_cut && !step.op.empty()) return broken("", "is a power cut and has an op; remove one of the two");
    if (step.op.empty() && (step.kind == Step::Kind::kOp || step.kind == Step::Kind::kBegin))
      return broken("", "has no op; give one such as 'create /a'");
    const bool fails = step.failure.kind != InjectedFailure::Kind::kNone;
    if (fails != (step.failure.nth != 0))
      return broken("", "has a failing call without a kind or a number; numbers start at 1");
    if (is_cut && fails) return broken("", "is a power cut and fails a call; remove one of the two");
    cuts_ += step.cuts.size();
    if (cuts_ > kMostCuts)
      return broken("", fmt::format("there are more than {} power cuts up to here; remove some", kMostCuts));
    for (cut_ = 0; cut_ < step.cuts.size(); ++cut_)
      if (Status s = check_cut(step, step.cuts[cut_]); !s) return s;
    return {};
  }

  Status check_cut(const Step& step, const PowerCut& cut) {
    lost_ += cut.lost.size();
    if (lost_ > kMostLost)
      return broken(fmt::format(".cuts[{}]", cut_),
                    fmt::format("there are more than {} lost events up to here; remove some", kMostLost));
    using Name = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;
    Name last{};
    bool rising = true;  // then no event can come twice
    for (size_t i = 0; i < cut.lost.size(); ++i) {
      const EventName& event = cut.lost[i].event;
      if (const std::string wrong = wrong_with(step, cut.lost[i]); !wrong.empty())
        return broken(fmt::format(".cuts[{}].lost[{}]", cut_, i), wrong);
      const Name name{event.step, event.cut, event.nth, event.disk};
      rising = rising && last < name;
      last = name;
    }
    if (rising) return {};
    std::set<Name> seen;
    for (size_t i = 0; i < cut.lost.size(); ++i) {
      const EventName& event = cut.lost[i].event;
      if (!seen.insert({event.step, event.cut, event.nth, event.disk}).second)
        return broken(fmt::format(".cuts[{}].lost[{}]", cut_, i), "names an event again; name it once");
    }
    return {};
  }

  std::string wrong_with(const Step& step, const LostEvent& lost) {
    const EventName& event = lost.event;
    if (event.step == 0 && event.cut != 0) return "names a power cut of step 0, the start, which has none";
    if (event.step > step.id)
      return fmt::format("names the step {}, which comes after its own step {}; name an earlier one",
                         event.step, step.id);
    if (event.nth == 0) return "has the number 0; the events of a step are numbered from 1";
    parts_ += lost.parts.size();
    if (parts_ > kMostParts)
      return fmt::format("there are more than {} parts up to here; remove some", kMostParts);
    if (std::adjacent_find(lost.parts.begin(), lost.parts.end(), std::greater_equal<>()) != lost.parts.end())
      return "has parts that do not rise; write each part once, the smallest first";
    return {};
  }

  Error broken(const std::string& within, std::string_view what) const {
    return bad_input(fmt::format("steps[{}]{}: {}", step_, within, what));
  }

  const std::vector<Step>& steps_;
  size_t step_ = 0, cut_ = 0;  // where the check is
  size_t text_, cuts_ = 0, lost_ = 0, parts_ = 0;
};

}  // namespace

Status validate(const Finding& finding) {
  if (Status s = validate_setup(finding.setup, ""); !s) return s;
  if (finding.others.size() > kMostOthers)
    return bad_input(fmt::format("others: has more than {} entries; remove some", kMostOthers));
  for (size_t i = 0; i < finding.others.size(); ++i)
    if (Status s = validate_setup(finding.others[i], fmt::format("others[{}].", i)); !s) return s;
  if (finding.surroundings.size() > kMostOthers)
    return bad_input(fmt::format("surroundings: has more than {} entries; remove some", kMostOthers));
  if (finding.surroundings.contains(""))
    return bad_input("surroundings: has a fact without a name; remove it or name it");
  if (text_of(finding) > kMostText)
    return bad_input(
        fmt::format("settings and surroundings: have more than {} bytes; remove some", kMostText));
  return StepRules(finding).check();
}

}  // namespace sisyfs
