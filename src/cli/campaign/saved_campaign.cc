#include "cli/campaign/saved_campaign.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace sisyfs::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "sisyfs.saved-campaign/1";
constexpr uint32_t kMostRounds = 1'000'000;
constexpr const char* kEnds[] = {"done", "exhausted", "cut"};

// Reads fields, and remembers whether all were there and of the right type.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json), ok_(json.is_object()) {}

  void read(const char* name, std::string& to) {
    if (const Json* field = find(name); field != nullptr && field->is_string())
      to = field->get<std::string>();
    else
      ok_ = false;
  }
  void read(const char* name, bool& to) {
    if (const Json* field = find(name); field != nullptr && field->is_boolean())
      to = field->get<bool>();
    else
      ok_ = false;
  }
  void read(const char* name, double& to) {
    const Json* field = find(name);
    ok_ = ok_ && field != nullptr && field->is_number();
    if (ok_) to = field->get<double>();
    ok_ = ok_ && std::isfinite(to) && to >= 0;
  }
  void read(const char* name, uint64_t& to) {
    if (const Json* field = find(name); field != nullptr && field->is_number_unsigned())
      to = field->get<uint64_t>();
    else
      ok_ = false;
  }
  void read(const char* name, uint32_t& to) {
    uint64_t wide = 0;
    read(name, wide);
    ok_ = ok_ && wide <= UINT32_MAX;
    to = static_cast<uint32_t>(wide);
  }
  void read(const char* name, std::vector<std::string>& to) {
    const Json* field = find(name);
    ok_ = ok_ && field != nullptr && field->is_array();
    for (size_t i = 0; ok_ && i < field->size(); ++i) {
      ok_ = (*field)[i].is_string();
      if (ok_) to.push_back((*field)[i].get<std::string>());
    }
  }
  void require(bool holds) { ok_ = ok_ && holds; }
  bool ok() const { return ok_; }

 private:
  const Json* find(const char* name) const {
    if (!ok_) return nullptr;
    const auto at = json_.find(name);
    return at == json_.end() ? nullptr : &*at;
  }
  const Json& json_;
  bool ok_;
};

// Calls use(name, field) for each field of a task that is kept as it is.
template <class Task, class Use>
void each_field(Task& task, Use use) {
  use("stage", task.stage);
  use("round", task.round);
  use("limit", task.limit);
  use("cost", task.cost);
  use("seconds", task.seconds);
  use("at_memory_bound", task.at_memory_bound);
  use("left_out", task.left_out);
  use("walks", task.walks);
  use("states", task.states);
  use("transitions", task.transitions);
  use("crash_states", task.crash_states);
  use("recoveries", task.recoveries);
  use("left_out_states", task.left_out_states);
  use("performed", task.performed);
  use("reached", task.reached);
  use("missed", task.missed);
  use("not_tried", task.not_tried);
}
template <class Saved, class Use>
void each_field_of_all(Saved& saved, Use use) {
  use("target", saved.target);
  use("settings", saved.settings);
  use("bound", saved.bound);
  use("budget", saved.budget);
  use("counts_states", saved.counts_states);
  use("is_budget", saved.is_budget);
  use("stages", saved.stages);
  use("seed", saved.seed);
  use("only", saved.only);
  use("all", saved.all);
  use("memory_bytes", saved.memory_bytes);
  use("smallest_blocks", saved.smallest_blocks);
  use("findings", saved.findings);
}

bool read_task(const Json& json, DoneTask& task) {
  Fields fields(json);
  each_field(task, [&](const char* name, auto& field) { fields.read(name, field); });
  std::string end;
  fields.read("end", end);
  const auto known = std::find(std::begin(kEnds), std::end(kEnds), end);
  fields.require(known != std::end(kEnds));
  fields.require(task.round >= 1 && task.round <= kMostRounds);
  if (fields.ok()) task.end = static_cast<Schedule::End>(known - std::begin(kEnds));
  return fields.ok();
}

}  // namespace

std::string campaign_text(const SavedCampaign& saved) {
  Json json{{"schema", kSchema}, {"version", SISYFS_VERSION}};
  each_field_of_all(saved, [&](const char* name, const auto& field) { json[name] = field; });
  json["done"] = Json::array();
  for (const DoneTask& task : saved.done) {
    Json one = Json::object();
    each_field(task, [&](const char* name, const auto& field) { one[name] = field; });
    one["end"] = kEnds[static_cast<size_t>(task.end)];
    json["done"].push_back(std::move(one));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool is_campaign(std::string_view beginning) { return beginning.starts_with('{'); }

Result<SavedCampaign> parse_campaign(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  Fields fields(json);
  std::string schema, version;
  fields.read("schema", schema);
  fields.read("version", version);
  if (!fields.ok() || schema != kSchema) return bad_input("is no campaign that 'sisyfs check' has saved");
  if (version != SISYFS_VERSION)
    return bad_input(fmt::format("is from sisyfs {} and this is sisyfs {}: start the campaign again", version,
                                 SISYFS_VERSION));
  SavedCampaign saved;
  each_field_of_all(saved, [&](const char* name, auto& field) { fields.read(name, field); });
  const auto done = json.find("done");
  fields.require(done != json.end() && done->is_array());
  for (size_t i = 0; fields.ok() && i < done->size(); ++i) {
    saved.done.emplace_back();
    fields.require(read_task((*done)[i], saved.done.back()));
  }
  if (!fields.ok()) return bad_input("is no campaign that 'sisyfs check' has saved");
  return saved;
}

}  // namespace sisyfs::cli
