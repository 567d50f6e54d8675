#include "cli/saved_search.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/fingerprint.h"
#include "report/search_names.h"
#include "workload/ace.h"

namespace sisyfs::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<const char*, StopRule> kStops[] = {
    {"never", StopRule::kNever}, {"first", StopRule::kFirst}, {"each", StopRule::kEach}};

const char* name_of_stop(StopRule stop) {
  for (const auto& [name, rule] : kStops)
    if (rule == stop) return name;
  return "";
}

// Everything that decides the findings and counts of a search.
Json identity_json(const Setup& setup, const SearchOptions& options, uint32_t ace) {
  const bool bounded = options.bounds.depth != SearchBounds::kNoDepth;
  Json json{{"version", SISYFS_VERSION},
            {"fingerprint", kFingerprintKind},
            {"target", setup.target},
            {"settings", setup.settings},
            {"search", name_of(options.order)},
            {"dedup", name_of(options.dedup)},
            {"shape_ops", options.shape_ops},
            {"depth_bound", bounded ? Json(options.bounds.depth) : Json()},
            {"stop", name_of_stop(options.stop)},
            {"watched", options.watched}};
  if (ace != 0) json["ace"] = ace;
  return json;
}

// Reads fields, and remembers whether all were present and of the right type.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json), ok_(json.is_object()) {}

  std::string text(const char* name) {
    const Json* field = find(name);
    if (field == nullptr || !field->is_string()) return refuse(std::string());
    return field->get<std::string>();
  }
  uint64_t number(const char* name, uint64_t most) {
    const Json* field = find(name);
    if (field == nullptr || !field->is_number_unsigned() || field->get<uint64_t>() > most)
      return refuse(uint64_t{0});
    return field->get<uint64_t>();
  }
  bool is_null(const char* name) {
    const Json* field = find(name);
    return field != nullptr && field->is_null();
  }
  std::vector<std::string> texts(const char* name) {
    std::vector<std::string> all;
    const Json* field = find(name);
    if (field == nullptr || !field->is_array()) return refuse(all);
    for (const Json& one : *field) {
      if (!one.is_string()) return refuse(all);
      all.push_back(one.get<std::string>());
    }
    return all;
  }
  template <class T>
  T refuse(T nothing) {
    ok_ = false;
    return nothing;
  }
  bool ok() const { return ok_; }

 private:
  const Json* find(const char* name) {
    if (!json_.is_object()) return nullptr;
    const auto at = json_.find(name);
    return at == json_.end() ? nullptr : &*at;
  }
  const Json& json_;
  bool ok_;
};

}  // namespace

Status describe_search(const Setup& setup, SearchOptions& options, uint32_t ace) {
  Json json = identity_json(setup, options, ace);
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (Json::parse(text) != json)
    return bad_input(
        fmt::format("--checkpoint: the path {} is not UTF-8 and cannot be saved: rename it", setup.target));
  options.checkpoint->identity = digest_of(text.data(), text.size());
  json["memory_bytes"] = options.bounds.memory_bytes;
  json["interval_ms"] = options.checkpoint->interval.count();
  options.checkpoint->setup = json.dump();
  return {};
}

Result<SavedSearch> read_search(std::string_view description) {
  const Json json = Json::parse(description, nullptr, false);
  Fields fields(json);
  const std::string version = fields.text("version"), fingerprint = fields.text("fingerprint");
  if (fields.ok() && version != SISYFS_VERSION)
    return bad_input(fmt::format("is from sisyfs {} and this is sisyfs {}: start the search again", version,
                                 SISYFS_VERSION));
  if (fields.ok() && fingerprint != kFingerprintKind)
    return bad_input(fmt::format(
        "has fingerprints of kind '{}' and this machine uses '{}': resume it on the machine that made it, "
        "or start the search again",
        fingerprint, kFingerprintKind));
  SavedSearch saved;
  SearchOptions& o = saved.options;
  saved.setup.target = fields.text("target");
  saved.setup.settings = fields.texts("settings");
  const auto order = find_order(fields.text("search"));
  const auto dedup = find_dedup(fields.text("dedup"));
  o.shape_ops = static_cast<uint32_t>(fields.number("shape_ops", 8));
  if (!fields.is_null("depth_bound"))
    o.bounds.depth = static_cast<uint32_t>(fields.number("depth_bound", SearchBounds::kNoDepth));
  if (json.is_object() && json.contains("ace"))
    saved.ace = static_cast<uint32_t>(fields.number("ace", AceWorkload::kMostOps));
  const std::string stop = fields.text("stop");
  o.watched = fields.number("watched", UINT64_MAX);
  o.bounds.memory_bytes = fields.number("memory_bytes", SIZE_MAX);
  o.checkpoint.emplace();
  o.checkpoint->interval = std::chrono::milliseconds(fields.number("interval_ms", INT64_MAX));
  const auto rule = std::find_if(std::begin(kStops), std::end(kStops),
                                 [&](const auto& known) { return known.first == stop; });
  if (!fields.ok() || !order || !dedup || rule == std::end(kStops))
    return bad_input("was not written by 'sisyfs check'");
  o.order = *order;
  o.dedup = *dedup;
  o.stop = rule->second;
  return saved;
}

}  // namespace sisyfs::cli
