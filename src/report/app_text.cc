#include "report/app_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/printable.h"

namespace sisyfs {
namespace {

constexpr size_t kMostLines = 40, kMostSaid = 12;

const char* what_of(SlotKind kind) {
  switch (kind) {
    case SlotKind::kEntry:
      return "the name";
    case SlotKind::kSize:
      return "the size";
    case SlotKind::kPage:
      return "the data";
    case SlotKind::kMode:
      return "the mode";
    case SlotKind::kAttribute:
      return "the attribute";
  }
  return "";
}

}  // namespace

const AppKindInfo& info(AppFinding::Kind kind) {
  static constexpr AppKindInfo kAll[] = {
      {"A1", "wrong-after-power-cut", "the check rejects what a power cut left"},
      {"A2", "lost-acknowledgement", "what was acknowledged is gone after a power cut"},
      {"A3", "check-died", "the recovery or the check dies on what a power cut left"},
      {"A4", "check-hung", "the recovery or the check does not end on what a power cut left"},
      {"A5", "unknown-content", "the directory is neither as it was nor as it should be"},
  };
  switch (kind) {
    case AppFinding::Kind::kWrong:
      return kAll[0];
    case AppFinding::Kind::kLostAck:
      return kAll[1];
    case AppFinding::Kind::kDied:
      return kAll[2];
    case AppFinding::Kind::kLate:
      return kAll[3];
    case AppFinding::Kind::kOtherContents:
      break;
  }
  return kAll[4];
}

std::vector<EventId> lost_calls(const AppRecording& recording, const AppFinding& finding,
                                const FileLoss& loss) {
  std::vector<EventId> out;
  const auto versions = recording.files.log.versions(loss.slot);
  for (size_t i = loss.version + 1; i < versions.size() && versions[i].event < finding.events; ++i)
    out.push_back(versions[i].event);
  return out;
}

const char* verdict_text(AuditedFlush::Verdict verdict) {
  switch (verdict) {
    case AuditedFlush::Verdict::kNeeded:
      return "needed";
    case AuditedFlush::Verdict::kSuperfluous:
      return "superfluous";
    case AuditedFlush::Verdict::kIdle:
      return "nothing to do";
    case AuditedFlush::Verdict::kUnknown:
      break;
  }
  return "unknown";
}

std::string loss_text(const AppRecording& recording, const AppFinding& finding, const FileLoss& loss) {
  const Slot& slot = recording.files.log.slot_of(loss.slot);
  const std::string object = printable(recording.name_of(slot.object));
  std::string out = what_of(slot.kind);
  if (slot.kind == SlotKind::kEntry)
    out += " " +
           printable(slot.object == kRootFile ? slot.name : recording.name_of(slot.object) + "/" + slot.name);
  else if (slot.kind == SlotKind::kAttribute)
    out += fmt::format(" {} of {}", printable(slot.name), object);
  else
    out += " of " + object;
  if (slot.kind == SlotKind::kPage && slot.page != 0)
    out += fmt::format(" at {}", slot.page * kFilePageBytes);
  const std::vector<EventId> events = lost_calls(recording, finding, loss);
  if (!events.empty())
    out += fmt::format(" ({}", printable(recording.files.log.events()[events.front()].text));
  if (events.size() > 1) out += fmt::format(", and {} later calls", events.size() - 1);
  return out + (events.empty() ? "" : ")");
}

std::string app_story(const AppRecording& recording, const AppFinding& finding) {
  const FileLog& log = recording.files.log;
  std::set<EventId> lost;
  std::set<FileId> objects;
  std::set<std::pair<FileId, std::string>> names;
  for (const FileLoss& loss : finding.losses) {
    for (const EventId event : lost_calls(recording, finding, loss)) {
      lost.insert(event);
      objects.insert(log.events()[event].object);
    }
    const Slot& slot = log.slot_of(loss.slot);
    if (slot.kind == SlotKind::kEntry)
      names.emplace(slot.object, slot.name);
    else
      objects.insert(slot.object);
  }
  std::vector<EventId> shown;
  for (EventId e = 0; e < finding.events; ++e) {
    const FileEvent& event = log.events()[e];
    const bool is_ack = event.kind == FileEventKind::kAck || event.kind == FileEventKind::kExit;
    const bool flushes_directory =
        event.promise != FilePromise::kNone &&
        std::any_of(names.begin(), names.end(), [&](const auto& name) { return name.first == event.object; });
    if (is_ack || flushes_directory || objects.contains(event.object) ||
        names.contains({event.directory, event.name}) ||
        names.contains({event.new_directory, event.new_name}))
      shown.push_back(e);
  }
  std::string out;
  const size_t skip = shown.size() > kMostLines ? shown.size() - kMostLines : 0;
  if (skip != 0) out += fmt::format("          ... {} calls before\n", skip);
  for (size_t i = skip; i < shown.size(); ++i) {
    const FileEvent& event = log.events()[shown[i]];
    const bool is_ack = event.kind == FileEventKind::kAck;
    out += fmt::format("  {:6}  {}{}{}\n", shown[i] + 1, is_ack ? "acknowledged: " : "",
                       printable(event.text), lost.contains(shown[i]) ? "   <- lost" : "");
  }
  out +=
      fmt::format("          the power goes{}\n", finding.events == log.events().size() ? " at the end" : "");
  for (const FileLoss& loss : finding.losses)
    out += fmt::format("            lost: {}\n", loss_text(recording, finding, loss));
  for (const std::string& line : finding.missing)
    out += fmt::format("          gone, although it was acknowledged: {}\n", printable(line));
  size_t lines = 0;
  for (size_t at = 0; at < finding.said.size() && lines < kMostSaid; ++lines) {
    const size_t end = std::min(finding.said.find('\n', at), finding.said.size());
    out += fmt::format("          {}\n", printable(finding.said.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

}  // namespace sisyfs
