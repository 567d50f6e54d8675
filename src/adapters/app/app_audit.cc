#include "adapters/app/app_audit.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sisyfs {
namespace {

// Whether the flush makes anything durable that was not.
bool does_something(const FileLog& log, const FileRules& rules, EventId event) {
  const FileStates with(log, rules, event + 1);
  const FileStates without(log, rules, event + 1, {.dropped = {event}, .added = {}});
  for (SlotId slot = 0; slot < log.slots(); ++slot)
    if (with.low(with.all(), slot) != without.low(without.all(), slot)) return true;
  return false;
}

bool is_flush(const FileEvent& event) {
  return event.kind == FileEventKind::kFsync || event.kind == FileEventKind::kFdatasync ||
         event.kind == FileEventKind::kSync;
}

// A flush of the object right behind the last lost call, for each loss.
std::vector<FlushChanges::Added> cures(const AppRecording& recording, const AppFinding& finding) {
  std::vector<FlushChanges::Added> out;
  for (const FileLoss& loss : finding.losses) {
    const auto versions = recording.files.log.versions(loss.slot);
    EventId last = 0;
    for (size_t i = loss.version + 1; i < versions.size() && versions[i].event < finding.events; ++i)
      last = versions[i].event;
    const FlushChanges::Added cure{last, recording.files.log.slot_of(loss.slot).object};
    if (std::find(out.begin(), out.end(), cure) == out.end()) out.push_back(cure);
  }
  return out;
}

}  // namespace

Result<AppAudit> audit_flushes(AppCheck& check, const AppSearch& search) {
  const FileLog& log = check.recording().files.log;
  AppAudit out;
  for (EventId e = 0; e < log.events().size(); ++e) {
    if (!is_flush(log.events()[e])) continue;
    AuditedFlush flush;
    flush.event = e;
    if (!does_something(log, *search.rules, e)) {
      flush.verdict = AuditedFlush::Verdict::kIdle;
    } else {
      auto result = check.search(search, {.dropped = {e}, .added = {}});
      if (!result) return result.error();
      flush.verdict = !result->findings.empty() ? AuditedFlush::Verdict::kNeeded
                      : result->stopped         ? AuditedFlush::Verdict::kUnknown
                                                : AuditedFlush::Verdict::kSuperfluous;
      flush.without = std::move(result->findings);
      out.stopped |= result->stopped;
    }
    out.flushes.push_back(std::move(flush));
  }
  return out;
}

Result<std::vector<std::vector<FlushChanges::Added>>> missing_flushes(AppCheck& check,
                                                                      const AppSearch& search,
                                                                      const AppResult& result) {
  std::vector<std::vector<FlushChanges::Added>> out;
  std::set<FlushChanges::Added> single;
  for (const AppFinding& finding : result.findings)
    for (const FlushChanges::Added& cure : cures(check.recording(), finding)) single.insert(cure);
  for (const FlushChanges::Added& cure : single) {
    const auto tried = check.search(search, {.dropped = {}, .added = {cure}});
    if (!tried) return tried.error();
    if (tried->findings.empty() && !tried->stopped) out.push_back({cure});
  }
  if (!out.empty()) return out;
  // One after the other, until nothing is found; then those that are not needed are taken out again.
  constexpr size_t kMost = 32;
  FlushChanges changes;
  AppResult now = result;
  while (!now.findings.empty() && changes.added.size() < kMost) {
    bool any = false;
    for (const AppFinding& finding : now.findings)
      for (const FlushChanges::Added& cure : cures(check.recording(), finding))
        if (std::find(changes.added.begin(), changes.added.end(), cure) == changes.added.end()) {
          changes.added.push_back(cure);
          any = true;
        }
    if (!any) return out;
    auto tried = check.search(search, changes);
    if (!tried) return tried.error();
    if (tried->stopped) return out;
    now = *std::move(tried);
  }
  if (!now.findings.empty()) return out;
  for (size_t i = changes.added.size(); i-- > 0;) {
    FlushChanges fewer = changes;
    fewer.added.erase(fewer.added.begin() + static_cast<ptrdiff_t>(i));
    const auto tried = check.search(search, fewer);
    if (!tried) return tried.error();
    if (tried->findings.empty() && !tried->stopped) changes = std::move(fewer);
  }
  std::sort(changes.added.begin(), changes.added.end());
  out.push_back(std::move(changes.added));
  return out;
}

Result<std::vector<RulesVerdict>> under_all_rules(AppCheck& check, const AppSearch& search,
                                                  std::chrono::milliseconds each) {
  std::vector<RulesVerdict> out;
  for (const FileRules& rules : all_file_rules()) {
    AppSearch other = search;
    other.rules = &rules;
    other.losses = UINT32_MAX;
    other.until = std::chrono::steady_clock::now() + each;
    const auto result = check.search(other);
    if (!result) return result.error();
    out.push_back({&rules, !result->findings.empty(), result->exhausted});
  }
  return out;
}

}  // namespace sisyfs
