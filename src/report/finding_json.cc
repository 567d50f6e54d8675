#include "report/finding_json.h"

#include <fmt/format.h>

#include "report/search_names.h"

namespace sisyfs {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(Fate fate) {
  switch (fate) {
    case Fate::kPending:
      return "pending";
    case Fate::kPersisted:
      return "persisted";
    case Fate::kTorn:
      return "torn";
    case Fate::kLost:
      return "lost";
  }
  return "";
}

const char* name_of(StoryStep::Kind kind) {
  switch (kind) {
    case StoryStep::Kind::kBegin:
      return "begin";
    case StoryStep::Kind::kWrite:
      return "write";
    case StoryStep::Kind::kFinish:
      return "finish";
    case StoryStep::Kind::kOp:
      return "op";
    case StoryStep::Kind::kVerify:
      return "verify";
    case StoryStep::Kind::kCrash:
      return "crash";
  }
  return "op";
}

Json to_json(const StoryStep& step) {
  Json json{{"kind", name_of(step.kind)}};
  if (step.kind != StoryStep::Kind::kCrash) {
    json["task"] = step.task;
    json["op"] = step.op;
  }
  json["text"] = step.text;
  if (!step.writes.empty()) json["writes"] = step.writes;
  if (step.kind == StoryStep::Kind::kCrash) json["lost"] = step.lost;
  for (const Observation& seen : step.observed)
    json["observed"].push_back(
        {{"code", info(seen.kind).code}, {"name", info(seen.kind).name}, {"text", seen.text}});
  if (!step.expected.empty()) json["expected"] = step.expected;
  return json;
}

const char* name_of(Verdict verdict) {
  return verdict == Verdict::kPass ? "pass" : verdict == Verdict::kFail ? "fail" : "unknown";
}

const char* name_of(Stop stop) {
  switch (stop) {
    case Stop::kNo:
      return "";
    case Stop::kFinding:
      return "finding";
    case Stop::kInterrupted:
      return "interrupted";
    case Stop::kTime:
      return "time";
    case Stop::kStates:
      return "states";
    case Stop::kMemory:
      return "memory";
    case Stop::kHarness:
      return "harness";
  }
  return "";
}

Json walk_json(const SearchOptions& options) {
  if (options.order != SearchOrder::kWalk) return {};
  return {{"walks", options.walk.walks}, {"length", options.walk.length}, {"seed", options.walk.seed}};
}

Json edges_json(const std::optional<EdgeCount>& edges) {
  if (!edges) return {};
  return {{"reached", edges->reached}, {"known", edges->known == 0 ? Json() : Json(edges->known)}};
}

Json names_json(uint32_t kinds) {
  Json names = Json::array();
  for (const FindingInfo& kind : catalogue())
    if ((kinds & bit(kind.kind)) != 0) names.push_back(kind.name);
  return names;
}

}  // namespace

Json to_json(const Finding& finding) {
  const FindingInfo& kind = info(finding.kind);
  Json json{{"schema", kFindingSchema},
            {"version", SISYFS_VERSION},
            {"target", finding.setup.target},
            {"settings", finding.setup.settings},
            {"code", kind.code},
            {"name", kind.name},
            {"severity", kind.severity == Severity::kCritical ? "critical" : "repairable"},
            {"says", kind.says},
            {"depth", finding.trace.size()},
            {"ops", finding.story.ops()},
            {"crashes", finding.story.crashes()},
            {"token", make_token({finding.kind, finding.setup, finding.trace})}};
  json["choices"] = Json::array();
  for (Choice c : finding.trace) json["choices"].push_back(static_cast<uint32_t>(c));
  json["steps"] = Json::array();
  for (const StoryStep& step : finding.story.steps) json["steps"].push_back(to_json(step));
  json["writes"] = Json::array();
  for (const WriteRecord& write : finding.story.writes) {
    json["writes"].push_back({{"number", write.number},
                              {"address", write.address},
                              {"blocks", write.blocks},
                              {"label", write.label},
                              {"content", write.content},
                              {"fate", name_of(write.fate)}});
    if (write.over != 0) json["writes"].back()["over"] = write.over;
  }
  return json;
}

Json to_json(const Setup& setup, const SearchOptions& options, const SearchResult& result,
             std::span<const MarkInfo> marks, const std::vector<Finding>& findings) {
  const bool bounded = options.bounds.depth != SearchBounds::kNoDepth;
  Json json{{"schema", kRunSchema},
            {"version", SISYFS_VERSION},
            {"target", setup.target},
            {"settings", setup.settings},
            {"verdict", name_of(result.verdict)},
            {"only", (known_kinds() & ~options.watched) == 0 ? Json() : names_json(options.watched)},
            {"met", names_json(result.met)},
            {"exhausted", result.exhausted},
            {"stopped_by", result.stopped == Stop::kNo ? Json() : Json(name_of(result.stopped))},
            {"search", name_of(options.order)},
            {"walk", walk_json(options)},
            {"dedup", name_of(options.dedup)},
            {"threads", options.threads},
            {"depth_bound", bounded ? Json(options.bounds.depth) : Json()},
            {"depth", result.depth},
            {"states", result.states},
            {"transitions", result.transitions},
            {"unexpanded", result.unexpanded},
            {"left_out", result.left_out},
            {"sampled", result.sampled},
            {"crash_states", result.crash_states},
            {"recoveries", result.recoveries},
            {"edges", edges_json(result.edges)},
            {"visited_digest", fmt::format("{:016x}{:016x}", result.visited.hi, result.visited.lo)},
            {"merge_probability", result.merge_probability},
            {"memory_bytes", result.memory_bytes},
            {"seconds", result.seconds},
            {"checkpoint", options.checkpoint ? Json(options.checkpoint->path) : Json()}};
  json["marks"] = Json::object();
  for (const MarkInfo& mark : marks) json["marks"][std::string(mark.says)] = (result.marks & mark.bit) != 0;
  json["findings"] = Json::array();
  for (const Finding& finding : findings) json["findings"].push_back(to_json(finding));
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::vector<Replay>> replays_in(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded())
    return bad_input("the file is not JSON, or was cut off: give a file that check --json wrote");
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_string())
    return bad_input("the file has no \"schema\": give a file that check --json wrote");
  const std::string schema = json["schema"];
  if (schema != kFindingSchema && schema != kRunSchema)
    return bad_input(fmt::format("the file has schema '{}', this program reads '{}' and '{}'", schema,
                                 kFindingSchema, kRunSchema));
  std::vector<Replay> replays;
  const auto add = [&](const Json& finding) -> Status {
    if (!finding.is_object() || !finding.contains("token") || !finding["token"].is_string())
      return bad_input("a finding in the file has no \"token\"");
    if (finding.contains("schema") && finding["schema"] != kFindingSchema)
      return bad_input(fmt::format("a finding in the file has the schema {}, this program reads '{}'",
                                   finding["schema"].dump(), kFindingSchema));
    Result<Replay> replay = parse_token(finding["token"].get<std::string>());
    if (!replay) return replay.error();
    replays.push_back(*std::move(replay));
    return {};
  };
  if (schema == kFindingSchema) {
    if (Status s = add(json); !s) return s.error();
    return replays;
  }
  if (!json.contains("findings") || !json["findings"].is_array())
    return bad_input("the run in the file has no \"findings\"");
  for (const Json& finding : json["findings"])
    if (Status s = add(finding); !s) return s.error();
  if (replays.empty()) return bad_input("the run in the file found nothing: there is nothing to replay");
  return replays;
}

}  // namespace sisyfs
