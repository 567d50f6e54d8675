#include "finding/finding_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "finding/valid.h"

namespace sisyfs {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> kKindNames = {"op", "begin", "advance", "cut"};
constexpr std::array<std::string_view, 2> kFailureNames = {"access", "allocation"};
constexpr std::array<std::string_view, 9> kReportKeys = {
    "depth", "ops", "crashes", "token", "story", "writes", "explanation", "system", "confirmed"};
constexpr size_t kMostKeys = 1000;
constexpr int kDeepest = 100;

// --- writing -----------------------------------------------------------------------------------------

Json to_json(const LostEvent& lost) {
  const EventName& event = lost.event;
  Json json{{"step", event.step}};
  if (event.cut != 0) json["cut"] = event.cut;
  json["nth"] = event.nth;
  if (event.disk != 0) json["disk"] = event.disk;
  json["address"] = event.address;
  if (!lost.parts.empty()) json["parts"] = lost.parts;
  return json;
}

Json to_json(const PowerCut& cut) {
  Json json{{"after", cut.after}};
  if (cut.promises != 0) json["promises"] = cut.promises;
  json["lost"] = Json::array();
  for (const LostEvent& lost : cut.lost) json["lost"].push_back(to_json(lost));
  return json;
}

Json to_json(const Step& step) {
  Json json{{"id", step.id}};
  if (step.kind != Step::Kind::kOp) json["kind"] = kKindNames[static_cast<size_t>(step.kind)];
  const bool of_a_task = step.kind == Step::Kind::kBegin || step.kind == Step::Kind::kAdvance;
  if (of_a_task || step.task != 0) json["task"] = step.task;
  if (!step.op.empty()) json["op"] = step.op;
  if (step.failure.kind != InjectedFailure::Kind::kNone)
    json["fails"][std::string(kFailureNames[static_cast<size_t>(step.failure.kind) - 1])] = step.failure.nth;
  for (const PowerCut& cut : step.cuts) json["cuts"].push_back(to_json(cut));
  return json;
}

Json to_json(const Setup& setup) { return {{"target", setup.target}, {"settings", setup.settings}}; }

// --- reading -----------------------------------------------------------------------------------------

// Where a value is: a chain of keys and indices up to the root, made into text only for an error.
struct Place {
  const Place* parent = nullptr;
  std::string_view key;  // empty: an index
  size_t index = 0;

  Place at(std::string_view name) const { return {this, name, 0}; }
  Place at(size_t i) const { return {this, {}, i}; }

  std::string text() const {
    const std::string above = parent == nullptr ? "" : parent->text();
    if (parent == nullptr) return "";
    if (key.empty()) return fmt::format("{}[{}]", above, index);
    return fmt::format("{}{}{}", above, above.empty() ? "" : ".", key);
  }
};

// Reads values out of JSON. The first error counts; after it every read gives a zero or nothing.
class Reader {
 public:
  bool failed() const { return !error_.empty(); }
  Error error() const { return bad_input(error_); }

  void fail(const Place& place, std::string_view what) {
    if (!error_.empty()) return;
    const std::string where = place.text();
    error_ = fmt::format("{}: {}", where.empty() ? "the finding" : where, what);
  }

  // Whether it is an object with none but these keys.
  template <class... Lists>
  bool object(const Json& json, const Place& place, const Lists&... lists) {
    if (!json.is_object()) {
      fail(place, fmt::format("is {}; write an object in braces", json.type_name()));
      return false;
    }
    for (const auto& [key, value] : json.items()) {
      const auto has = [&key = key](const auto& list) {
        return std::find(std::begin(list), std::end(list), key) != std::end(list);
      };
      if ((has(lists) || ...)) continue;
      fail(place, fmt::format("has the unknown key {}; remove it or correct its name", shown(key)));
      return false;
    }
    return true;
  }

  // The array of that key, and an empty one where there is none or something else.
  const Json& array(const Json& json, const Place& place, const char* key, bool required) {
    static const Json kEmpty = Json::array();
    const Json* value = find(json, place, key, required);
    if (value == nullptr) return kEmpty;
    if (value->is_array()) return *value;
    fail(place.at(key), fmt::format("is {}; write a list in brackets", value->type_name()));
    return kEmpty;
  }

  std::string string(const Json& json, const Place& place, const char* key, bool required) {
    const Json* value = find(json, place, key, required);
    return value == nullptr ? std::string() : string(*value, place.at(key));
  }
  std::string string(const Json& json, const Place& place) {
    if (json.is_string()) return json.get<std::string>();
    fail(place, fmt::format("is {}; write a text in quotes", json.type_name()));
    return {};
  }

  template <class Number>
  void number(const Json& json, const Place& place, const char* key, bool required, Number& out) {
    if (const Json* value = find(json, place, key, required); value != nullptr)
      out = number<Number>(*value, place.at(key));
  }
  template <class Number>
  Number number(const Json& json, const Place& place) {
    constexpr uint64_t kMost = std::numeric_limits<Number>::max();
    if (json.is_number_unsigned() && json.get<uint64_t>() <= kMost)
      return static_cast<Number>(json.get<uint64_t>());
    const std::string is = json.is_number() ? json.dump() : json.type_name();
    fail(place, fmt::format("is {}; write a whole number from 0 to {}", is, kMost));
    return 0;
  }

  static std::string shown(std::string_view text) {
    return Json(text.substr(0, 40)).dump(-1, ' ', true, Json::error_handler_t::replace);
  }

 private:
  const Json* find(const Json& json, const Place& place, const char* key, bool required) {
    const auto at = json.find(key);
    if (at != json.end()) return &*at;
    if (required) fail(place, fmt::format("has no '{}'; add it", key));
    return nullptr;
  }

  std::string error_;
};

template <size_t kCount>
size_t position(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

LostEvent read_lost(Reader& reader, const Json& json, const Place& place) {
  LostEvent lost;
  static constexpr std::array<std::string_view, 6> kKeys = {"step", "cut", "nth", "disk", "address", "parts"};
  if (!reader.object(json, place, kKeys)) return lost;
  reader.number(json, place, "step", true, lost.event.step);
  reader.number(json, place, "cut", false, lost.event.cut);
  reader.number(json, place, "nth", true, lost.event.nth);
  reader.number(json, place, "disk", false, lost.event.disk);
  reader.number(json, place, "address", true, lost.event.address);
  const Place at = place.at("parts");
  for (const Json& part : reader.array(json, place, "parts", false)) {
    if (reader.failed()) break;
    lost.parts.push_back(reader.number<uint32_t>(part, at.at(lost.parts.size())));
  }
  if (json.contains("parts") && lost.parts.empty())
    reader.fail(at, "is empty; leave it out where all of the event was lost");
  return lost;
}

PowerCut read_cut(Reader& reader, const Json& json, const Place& place) {
  PowerCut cut;
  static constexpr std::array<std::string_view, 3> kKeys = {"after", "promises", "lost"};
  if (!reader.object(json, place, kKeys)) return cut;
  reader.number(json, place, "after", true, cut.after);
  reader.number(json, place, "promises", false, cut.promises);
  const Place at = place.at("lost");
  for (const Json& lost : reader.array(json, place, "lost", false)) {
    if (reader.failed()) break;
    cut.lost.push_back(read_lost(reader, lost, at.at(cut.lost.size())));
  }
  return cut;
}

InjectedFailure read_failure(Reader& reader, const Json& json, const Place& place) {
  InjectedFailure failure;
  if (!reader.object(json, place, kFailureNames)) return failure;
  if (json.size() != 1) {
    reader.fail(place,
                fmt::format("names {} calls; name one, {}", json.size(), fmt::join(kFailureNames, " or ")));
    return failure;
  }
  const std::string name = json.begin().key();
  failure.kind = static_cast<InjectedFailure::Kind>(position(kFailureNames, name) + 1);
  failure.nth = reader.number<uint32_t>(json.front(), place.at(name));
  if (failure.nth == 0) reader.fail(place.at(name), "is 0; the calls of an op are numbered from 1");
  return failure;
}

Step read_step(Reader& reader, const Json& json, const Place& place) {
  Step step;
  static constexpr std::array<std::string_view, 6> kKeys = {"id", "kind", "task", "op", "fails", "cuts"};
  if (!reader.object(json, place, kKeys)) return step;
  reader.number(json, place, "id", true, step.id);
  if (json.contains("kind")) {
    const std::string name = reader.string(json, place, "kind", true);
    const size_t kind = position(kKindNames, name);
    if (kind == kKindNames.size())
      reader.fail(place.at("kind"),
                  fmt::format("is {}; write one of {}", Reader::shown(name), fmt::join(kKindNames, ", ")));
    else
      step.kind = static_cast<Step::Kind>(kind);
  }
  reader.number(json, place, "task", false, step.task);
  step.op = reader.string(json, place, "op", false);
  if (json.contains("fails")) step.failure = read_failure(reader, json["fails"], place.at("fails"));
  const Place at = place.at("cuts");
  for (const Json& cut : reader.array(json, place, "cuts", false)) {
    if (reader.failed()) break;
    step.cuts.push_back(read_cut(reader, cut, at.at(step.cuts.size())));
  }
  return step;
}

// Of an array, which is at `place`.
std::vector<Step> read_steps(Reader& reader, const Json& json, const Place& place) {
  std::vector<Step> steps;
  if (json.size() > kMostSteps)
    reader.fail(place, fmt::format("has {} entries, the limit is {}; remove some", json.size(), kMostSteps));
  for (const Json& step : json) {
    if (reader.failed()) break;
    steps.push_back(read_step(reader, step, place.at(steps.size())));
  }
  return steps;
}

Setup read_setup(Reader& reader, const Json& json, const Place& place) {
  Setup setup;
  setup.target = reader.string(json, place, "target", true);
  const Place at = place.at("settings");
  for (const Json& setting : reader.array(json, place, "settings", true)) {
    if (reader.failed()) break;
    setup.settings.push_back(reader.string(setting, at.at(setup.settings.size())));
  }
  return setup;
}

void read_others(Reader& reader, const Json& json, const Place& place, std::vector<Setup>& others) {
  static constexpr std::array<std::string_view, 2> kKeys = {"target", "settings"};
  const Place at = place.at("others");
  for (const Json& other : reader.array(json, place, "others", false)) {
    if (reader.failed()) break;
    const Place here = at.at(others.size());
    if (reader.object(other, here, kKeys)) others.push_back(read_setup(reader, other, here));
  }
}

void read_surroundings(Reader& reader, const Json& json, const Place& place,
                       std::map<std::string, std::string>& surroundings) {
  if (!json.is_object())
    return reader.fail(place, "is not an object; write name and text of each fact in braces");
  for (const auto& [name, value] : json.items()) surroundings[name] = reader.string(value, place.at(name));
}

void read_kind(Reader& reader, const Json& json, const Place& root, FindingKind& kind) {
  const std::string code = reader.string(json, root, "code", true);
  if (reader.failed()) return;
  const auto known = find_kind(code);
  if (!known || known->code != code)
    return reader.fail(root.at("code"),
                       fmt::format("is {}, which this program does not know; write a code of "
                                   "docs/findings-catalogue.md",
                                   Reader::shown(code)));
  kind = known->kind;
  for (const char* key : {"version", "name", "severity", "says"}) reader.string(json, root, key, false);
  if (json.contains("name") && !reader.failed() && json["name"] != known->name)
    reader.fail(root.at("name"),
                fmt::format("is {}, but the code {} is {}; change one of the two",
                            Reader::shown(json["name"].get<std::string>()), code, known->name));
}

Status check_schema(const Json& json) {
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_string())
    return bad_input("the finding has no \"schema\"; give a file that check --json wrote");
  const std::string schema = json["schema"];
  if (schema == kFindingSchema) return {};
  if (schema == "sisyfs.finding/1")
    return bad_input(
        fmt::format("the finding has the schema sisyfs.finding/1, which named choices of one "
                    "build; this program reads {}: run the check again",
                    kFindingSchema));
  return bad_input(
      fmt::format("the finding has the schema {}, this program reads {}: use the sisyfs that wrote it",
                  Reader::shown(schema), kFindingSchema));
}

}  // namespace

Json to_json(const std::vector<Step>& steps) {
  Json json = Json::array();
  for (const Step& step : steps) json.push_back(to_json(step));
  return json;
}

Json to_json(const Finding& finding) {
  const FindingInfo& kind = info(finding.kind);
  Json json{{"schema", kFindingSchema},
            {"version", SISYFS_VERSION},
            {"target", finding.setup.target},
            {"settings", finding.setup.settings}};
  for (const Setup& other : finding.others) json["others"].push_back(to_json(other));
  for (const auto& [name, value] : finding.surroundings) json["surroundings"][name] = value;
  json["code"] = kind.code;
  json["name"] = kind.name;
  json["severity"] = kind.severity == Severity::kCritical ? "critical" : "repairable";
  json["says"] = kind.says;
  json["steps"] = to_json(finding.steps);
  return json;
}

std::span<const std::string_view> report_keys() { return kReportKeys; }

Result<std::vector<Step>> steps_from_json(const Json& json) {
  Reader reader;
  const Place root, place = root.at("steps");
  if (!json.is_array()) return bad_input("steps: is not a list; write it in brackets");
  Finding finding;
  finding.setup.target = "any";
  finding.steps = read_steps(reader, json, place);
  if (reader.failed()) return reader.error();
  if (Status s = validate(finding); !s) return s.error();
  return std::move(finding.steps);
}

Result<Finding> finding_from_json(const Json& json) {
  if (Status s = check_schema(json); !s) return s.error();
  static constexpr std::array<std::string_view, 11> kKeys = {"schema",   "version",      "target", "settings",
                                                             "others",   "surroundings", "code",   "name",
                                                             "severity", "says",         "steps"};
  Reader reader;
  const Place root;
  Finding finding;
  if (!reader.object(json, root, kKeys, kReportKeys)) return reader.error();
  finding.setup = read_setup(reader, json, root);
  read_others(reader, json, root, finding.others);
  if (json.contains("surroundings"))
    read_surroundings(reader, json["surroundings"], root.at("surroundings"), finding.surroundings);
  read_kind(reader, json, root, finding.kind);
  finding.steps = read_steps(reader, reader.array(json, root, "steps", true), root.at("steps"));
  if (reader.failed()) return reader.error();
  if (Status s = validate(finding); !s) return s.error();
  return finding;
}

Result<Json> parse_json(std::string_view text) {
  std::vector<std::vector<std::string>> keys;  // of each object that is open
  std::string wrong;
  const auto look = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDeepest && wrong.empty())
      wrong = fmt::format("nests its values deeper than {} levels", kDeepest);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && wrong.empty()) {
      std::vector<std::string>& known = keys.back();
      const std::string key = parsed.get<std::string>();
      if (std::find(known.begin(), known.end(), key) != known.end())
        wrong = fmt::format("has the key {} twice in one object", Reader::shown(key));
      else if (known.size() == kMostKeys)
        wrong = fmt::format("has an object with more than {} keys", kMostKeys);
      known.push_back(key);
    }
    return wrong.empty();
  };
  Json json = Json::parse(text, look, false);
  if (!wrong.empty()) return bad_input(fmt::format("the file {}; correct it, or run the check again", wrong));
  if (json.is_discarded())
    return bad_input("the file is not JSON, or was cut off; give a file that check --json wrote");
  return json;
}

Result<std::vector<Finding>> findings_in(std::string_view text,
                                         std::initializer_list<std::string_view> run_schemas) {
  const Result<Json> json = parse_json(text);
  if (!json) return json.error();
  std::vector<Finding> findings;
  const bool is_run = json->is_object() && json->contains("schema") &&
                      std::any_of(run_schemas.begin(), run_schemas.end(),
                                  [&](std::string_view schema) { return (*json)["schema"] == schema; });
  if (!is_run) {
    Result<Finding> finding = finding_from_json(*json);
    if (!finding) return finding.error();
    findings.push_back(*std::move(finding));
    return findings;
  }
  if (!json->contains("findings") || !(*json)["findings"].is_array())
    return bad_input("the run in the file has no \"findings\"; give a file that check --json wrote");
  for (const Json& each : (*json)["findings"]) {
    Result<Finding> finding = finding_from_json(each);
    if (!finding) return bad_input(fmt::format("findings[{}]: {}", findings.size(), finding.error().message));
    findings.push_back(*std::move(finding));
  }
  if (findings.empty()) return bad_input("the run in the file found nothing: there is nothing to replay");
  return findings;
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sisyfs
