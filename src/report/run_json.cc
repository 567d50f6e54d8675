#include "report/run_json.h"

#include <fmt/format.h>

#include "finding/finding_json.h"
#include "finding/token.h"
#include "report/search_names.h"

namespace sisyfs {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(WriteStatus status) {
  switch (status) {
    case WriteStatus::kPending:
      return "pending";
    case WriteStatus::kPersisted:
      return "persisted";
    case WriteStatus::kTorn:
      return "torn";
    case WriteStatus::kLost:
      return "lost";
  }
  return "";
}

const char* name_of(StoryStep::Kind kind) {
  switch (kind) {
    case StoryStep::Kind::kStart:
      return "start";
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

// Without its number and what became of it.
Json to_json(const WriteRecord& write) {
  Json json{{"disk", write.disk},
            {"address", write.address},
            {"blocks", write.blocks},
            {"label", write.label},
            {"content", write.content}};
  if (write.fua) json["fua"] = true;
  return json;
}

Json to_json(const TrialCall& call) {
  Json json{{"call", call.call}, {"answer", call.answer.empty() ? Json() : Json(call.answer)}};
  json["writes"] = Json::array();
  for (const WriteRecord& write : call.writes) json["writes"].push_back(to_json(write));
  return json;
}

Json to_json(const StoryStep& step) {
  Json json{{"kind", name_of(step.kind)}, {"step", step.step}};
  if (step.kind != StoryStep::Kind::kCrash) {
    json["task"] = step.task;
    json["op"] = step.op;
  }
  json["text"] = step.text;
  if (!step.writes.empty()) json["writes"] = step.writes;
  if (step.kind == StoryStep::Kind::kCrash) json["lost"] = step.lost;
  for (const Observation& seen : step.observed) {
    json["observed"].push_back(
        {{"code", info(seen.kind).code}, {"name", info(seen.kind).name}, {"text", seen.text}});
    if (!seen.where.empty()) json["observed"].back()["where"] = seen.where;
  }
  for (const TrialCall& call : step.trial) json["trial"].push_back(to_json(call));
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

Json names_json(std::span<const FindingKind> kinds) {
  Json names = Json::array();
  for (const FindingKind kind : kinds) names.push_back(info(kind).name);
  return names;
}

}  // namespace

Json to_json(const ToldFinding& told) {
  Json json = to_json(told.finding);
  json["ops"] = told.story.ops();
  json["crashes"] = told.story.crashes();
  if (!told.story.system.empty()) json["system"] = told.story.system;
  json["token"] = make_token(told.finding);
  if (const auto& confirmed = told.confirmed)
    json["confirmed"] = {{"times", confirmed->times},
                         {"of", confirmed->of},
                         {"differs", confirmed->differs.empty() ? Json() : Json(confirmed->differs)}};
  json["story"] = Json::array();
  for (const StoryStep& step : told.story.steps) json["story"].push_back(to_json(step));
  json["writes"] = Json::array();
  for (const WriteRecord& write : told.story.writes) {
    Json one{{"number", write.number}};
    one.update(to_json(write));
    one["status"] = name_of(write.status);
    json["writes"].push_back(std::move(one));
    if (write.over != 0) json["writes"].back()["over"] = write.over;
  }
  return json;
}

Json to_json(const Setup& setup, const Check& check, const SearchOptions& options, const SearchResult& result,
             const std::vector<ToldFinding>& findings) {
  const KindTable& kinds = check.kinds();
  const bool bounded = options.bounds.depth != SearchBounds::kNoDepth;
  Json json{{"schema", kRunSchema},
            {"version", SISYFS_VERSION},
            {"target", setup.target},
            {"settings", setup.settings},
            {"verdict", name_of(result.verdict)},
            {"only", (kinds.all() & ~options.watched) == 0 ? Json() : names_json(kinds.in(options.watched))},
            {"met", names_json(kinds.in(result.met))},
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
  for (const MarkInfo& mark : check.marks())
    json["marks"][std::string(mark.says)] = (result.marks & mark.bit) != 0;
  json["not_tried"] = Json::array();
  for (const NotTried& one : result.not_tried)
    json["not_tried"].push_back(
        {{"what", one.what}, {"setting", one.setting.empty() ? Json() : Json(one.setting)}});
  json["findings"] = Json::array();
  for (const ToldFinding& finding : findings) json["findings"].push_back(to_json(finding));
  return json;
}

}  // namespace sisyfs
