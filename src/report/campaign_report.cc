#include "report/campaign_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/printable.h"
#include "judge/catalogue.h"
#include "report/run_json.h"

namespace sisyfs {
namespace {

using Json = nlohmann::ordered_json;

size_t longest_name(const CampaignReport& report) {
  size_t longest = 5;
  for (const StageReport& stage : report.stages) longest = std::max(longest, stage.name.size());
  return longest;
}

std::string headline(const CampaignReport& report, const TextStyle& style) {
  const auto in = [&](const char* code, std::string_view word) {
    return style.colour ? fmt::format("\033[1{}m{}\033[0m", code, word) : std::string(word);
  };
  const std::string target =
      fmt::format("{}{}{}", printable(report.setup.target), report.setup.settings.empty() ? "" : " ",
                  printable(fmt::format("{}", fmt::join(report.setup.settings, " "))));
  if (report.verdict == Verdict::kFail) return fmt::format("{}: {}\n", in(";31", "FAIL"), target);
  if (report.verdict == Verdict::kPass)
    return fmt::format("{}: {}: every stage is exhausted\n", in(";32", "PASS"), target);
  if (report.is_budget && report.stopped != Stop::kInterrupted)
    return fmt::format("{}: {}: nothing found within the budget of {}\n", in("", "NOTHING FOUND"), target,
                       report.bound);
  const char* why = report.stopped == Stop::kInterrupted ? "interrupted" : "stopped at the bound";
  return fmt::format("{}: {}: {}, {}, before every stage was exhausted; nothing was found\n",
                     in("", "UNKNOWN"), target, why, report.bound);
}

// How far a stage went.
std::string reach_of(const StageReport& stage) {
  if (!stage.left_out.empty()) return "left out: " + printable(stage.left_out);
  if (stage.is_walks)
    return stage.walks == 0 ? "not begun"
                            : fmt::format("{} walks of {} steps", count_text(stage.walks), stage.walk_length);
  if (stage.exhausted) return "all states";
  if (stage.rounds == 0) return stage.cut ? "depth 1 begun" : "not begun";
  return fmt::format("depth {}{}", stage.rounds,
                     stage.cut ? fmt::format(", {} begun", stage.rounds + 1) : "");
}

// With few characters.
std::string short_count(uint64_t n) {
  if (n == 0) return "-";
  return n < 1'000'000'000'000 ? count_text(n) : fmt::format("{:.1e}", static_cast<double>(n));
}

std::string line_of(const StageReport& stage, size_t width) {
  std::string line = fmt::format("    {:<{}}  {:<25}", stage.name, width, reach_of(stage));
  if (stage.states != 0)
    line += fmt::format(" {:>11} {:>15} {:>7}", count_text(stage.states), short_count(stage.crash_states),
                        seconds_text(stage.seconds));
  if (!stage.found.empty()) line += "  FOUND " + names_of(stage.found);
  return line + "\n";
}

std::string never_tried(const std::vector<NotTried>& all) {
  std::string out;
  for (const NotTried& one : all) {
    out += (out.empty() ? "" : "; ") + one.what;
    if (!one.setting.empty()) out += fmt::format(" (--set {})", one.setting);
  }
  return out;
}

const char* word_of(Verdict verdict) {
  return verdict == Verdict::kPass ? "pass" : verdict == Verdict::kFail ? "fail" : "unknown";
}

}  // namespace

std::string campaign_table(const CampaignReport& report, const TextStyle& style) {
  std::string out = headline(report, style);
  if (!report.only.empty())
    out += fmt::format("  only      {} was looked for\n", fmt::join(report.only, ", "));
  const size_t width = longest_name(report);
  out += fmt::format("  {:<{}}  {:<25} {:>11} {:>15} {:>7}\n", "stage", width + 2, "exhausted", "states",
                     "crash states", "time");
  for (const StageReport& stage : report.stages) out += line_of(stage, width);
  out += fmt::format("  searched  {} on {} {}\n", seconds_text(report.seconds), report.threads,
                     report.threads == 1 ? "worker" : "workers");
  if (!report.reached.empty()) out += fmt::format("  reached   {}\n", fmt::join(report.reached, "; "));
  if (!report.never.empty()) out += fmt::format("  never     {}\n", fmt::join(report.never, "; "));
  if (!report.not_tried.empty())
    out += fmt::format("  not tried {}\n", printable(never_tried(report.not_tried)));
  return out;
}

Json campaign_json(const CampaignReport& report) {
  Json json{
      {"schema", kCampaignSchema},
      {"version", SISYFS_VERSION},
      {"target", report.setup.target},
      {"settings", report.setup.settings},
      {"verdict", word_of(report.verdict)},
      {"says", report.verdict == Verdict::kUnknown && report.is_budget && report.stopped != Stop::kInterrupted
                   ? "nothing found within the budget"
                   : ""},
      {"bound", report.bound},
      {"budget", report.is_budget},
      {"interrupted", report.stopped == Stop::kInterrupted},
      {"only", report.only.empty() ? Json() : Json(report.only)},
      {"threads", report.threads},
      {"seconds", report.seconds}};
  json["stages"] = Json::array();
  for (const StageReport& stage : report.stages) {
    Json one{{"name", stage.name},
             {"says", stage.says},
             {"settings", stage.settings},
             {"left_out", stage.left_out.empty() ? Json() : Json(stage.left_out)},
             {"depth", stage.is_walks ? Json() : Json(stage.rounds)},
             {"walks", stage.is_walks ? Json(stage.walks) : Json()},
             {"walk_length", stage.is_walks ? Json(stage.walk_length) : Json()},
             {"exhausted", stage.exhausted},
             {"cut", stage.cut},
             {"states", stage.states},
             {"transitions", stage.transitions},
             {"crash_states", stage.crash_states},
             {"crash_states_left_out", stage.left_out_states},
             {"recoveries", stage.recoveries},
             {"seconds", stage.seconds},
             {"found", Json::array()}};
    for (const FindingKind kind : stage.found) one["found"].push_back(info(kind).name);
    json["stages"].push_back(std::move(one));
  }
  json["marks"] = Json::object();
  for (const std::string& mark : report.reached) json["marks"][mark] = true;
  for (const std::string& mark : report.never) json["marks"][mark] = false;
  json["not_tried"] = Json::array();
  for (const NotTried& one : report.not_tried)
    json["not_tried"].push_back(
        {{"what", one.what}, {"setting", one.setting.empty() ? Json() : Json(one.setting)}});
  json["findings"] = Json::array();
  for (const ToldFinding& finding : report.findings) json["findings"].push_back(to_json(finding));
  return json;
}

}  // namespace sisyfs
