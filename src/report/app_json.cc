#include "report/app_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "report/app_text.h"

namespace sisyfs {
namespace {

using Json = nlohmann::ordered_json;

Json call_json(const AppRecording& recording, EventId event) {
  return {{"number", event + 1}, {"text", printable(recording.files.log.events()[event].text)}};
}

// Lines stay lines.
std::string said_text(const std::string& said) {
  std::string out;
  for (size_t at = 0; at < said.size();) {
    const size_t end = std::min(said.find('\n', at), said.size());
    if (!out.empty()) out += '\n';
    out += printable(said.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

Json finding_json(const AppRecording& recording, const AppFinding& finding) {
  const AppKindInfo& kind = info(finding.kind);
  Json lost = Json::array();
  for (const FileLoss& loss : finding.losses) {
    Json calls = Json::array();
    for (const EventId event : lost_calls(recording, finding, loss))
      calls.push_back(call_json(recording, event));
    lost.push_back({{"what", loss_text(recording, finding, loss)}, {"calls", std::move(calls)}});
  }
  Json missing = Json::array();
  for (const std::string& line : finding.missing) missing.push_back(printable(line));
  return {{"code", kind.code},
          {"kind", kind.name},
          {"power_cut_after", finding.events},
          {"acknowledged", finding.acked},
          {"lost", std::move(lost)},
          {"lost_acknowledgements", std::move(missing)},
          {"said", said_text(finding.said)},
          {"alike", finding.alike},
          {"story", app_story(recording, finding)}};
}

Json cures_json(const AppRecording& recording, const std::vector<std::vector<FlushChanges::Added>>& cures) {
  Json out = Json::array();
  for (const auto& set : cures) {
    Json flushes = Json::array();
    for (const FlushChanges::Added& one : set)
      flushes.push_back(
          {{"fsync", printable(recording.name_of(one.object))}, {"after", call_json(recording, one.after)}});
    out.push_back(std::move(flushes));
  }
  return out;
}

}  // namespace

nlohmann::ordered_json app_json(const AppRecording& recording, const AppReport& report) {
  Json findings = Json::array(), with = Json::array(), without = Json::array();
  for (const AppFinding& finding : report.result.findings)
    findings.push_back(finding_json(recording, finding));
  for (const RulesVerdict& one : report.rules)
    if (one.found || one.exhausted) (one.found ? with : without).push_back(one.rules->name);
  Json refused = Json::array();
  for (const std::string& call : recording.refused) refused.push_back(call);
  Json out = {{"schema", "sisyfs.app/1"},
              {"version", SISYFS_VERSION},
              {"application", printable(report.application)},
              {"contract", report.search.rules->name},
              {"verdict", report.verdict},
              {"calls", recording.files.log.events().size()},
              {"moments", report.result.moments},
              {"states", report.result.states.text()},
              {"runs", report.result.runs},
              {"losses", report.result.losses},
              {"exhausted", report.result.exhausted},
              {"findings", std::move(findings)},
              {"happens_under", std::move(with)},
              {"does_not_happen_under", std::move(without)},
              {"would_help", cures_json(recording, report.cures)},
              {"refused", std::move(refused)}};
  if (report.audit) {
    Json flushes = Json::array();
    for (const AuditedFlush& flush : report.audit->flushes)
      flushes.push_back(
          {{"call", call_json(recording, flush.event)}, {"verdict", verdict_text(flush.verdict)}});
    out["audit"] = std::move(flushes);
  }
  return out;
}

}  // namespace sisyfs
