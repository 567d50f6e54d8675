#include "judge/disk_story.h"

#include <fmt/format.h>

#include <algorithm>

#include "judge/disk_system.h"
#include "tree/tree_text.h"

namespace sisyfs {
namespace {

// What was written, in the target's words, or its first bytes as numbers.
std::string content_of(const TargetKind& kind, Target& target, const Event& event) {
  constexpr size_t kShown = 16;
  if (event.kind == EventKind::kDiscard) return kind.disks.is_flash() ? "erased" : "discarded";
  const size_t size = kind.disks.block_size;
  std::vector<std::byte> bytes(size * event.count.value);
  for (uint64_t i = 0; i < event.count.value; ++i) {
    if (const Block* block = event.block(i))
      std::copy(block->bytes().begin(), block->bytes().end(),
                bytes.begin() + static_cast<ptrdiff_t>(i * size));
  }
  const NamesBlocks* names = target.names_blocks();
  std::string text = names == nullptr ? std::string() : names->describe_write(event.first.value, bytes);
  if (!text.empty()) return text;
  for (size_t i = 0; i < std::min(bytes.size(), kShown); ++i)
    text += fmt::format("{}{:02x}", i == 0 ? "" : " ", static_cast<unsigned>(bytes[i]));
  return bytes.size() > kShown ? text + " ..." : text;
}

// What an access that had no effect was, and what is right.
struct StrayText {
  FindingKind kind;
  std::string observed;
  const char* expected;
};

StrayText text_of_stray(const Event& event, const Geometry& disk) {
  if (event.access == Access::kProgramAgain)
    return {FindingKind::kFlashMisuse,
            fmt::format("programs page {}, which is not erased", event.first.value),
            "only erased pages are programmed"};
  if (event.access == Access::kErasePart)
    return {FindingKind::kFlashMisuse,
            fmt::format("erases {} from page {} on, with erase units of {} pages",
                        event.count.value == 1 ? "1 page" : fmt::format("{} pages", event.count.value),
                        event.first.value, disk.erase_blocks),
            "whole units are erased"};
  return {FindingKind::kOutOfRange,
          fmt::format("{} block {} of a disk of {}", event.access == Access::kRead ? "reads" : "writes",
                      event.first.value, disk.block_count.value),
          "accesses stay on the disk"};
}

// "torn: of blocks 2 to 4 it kept 2, 4", where the device cuts writes into blocks and into nothing else.
std::string torn_text(const CrashState& cut, uint32_t write) {
  const Epoch& epoch = cut.epoch();
  if (epoch.model().scattered) return "torn";
  std::string kept;
  const uint64_t begin = epoch.writes()[write].first.value;
  uint64_t last = begin;
  for (uint32_t p = 0; p < epoch.pieces().size(); ++p) {
    if (epoch.pieces()[p].write != write) continue;
    for (const Epoch::Slot& slot : epoch.slots_of(epoch.pieces()[p])) {
      const uint64_t address = epoch.places()[slot.place].address.value;
      last = std::max(last, address);
      if (cut.piece_kept(p)) kept += fmt::format("{}{}", kept.empty() ? "" : ", ", address);
    }
  }
  return fmt::format("torn: of blocks {} to {} it kept {}", begin, last, kept);
}

// What a system must do that had one of the faults of target/target.h, by the finding that it is.
struct FaultText {
  FindingKind kind;
  const char* expected;
};
constexpr FaultText kFaultTexts[] = {
    {FindingKind::kTargetDied, "every call returns"},
    {FindingKind::kTargetHung, "every call returns"},
    {FindingKind::kMemoryLeak, "all memory is given back at unmount"},
    {FindingKind::kHeapMisuse, "memory is used as it was allocated, and freed once"},
    {FindingKind::kRunawayMemory, "memory stays within its limit"},
};

std::string answer_of(const OpResult& result) {
  if (result.error != 0) return errno_text(result.error);
  return result.value == 0 ? "0" : fmt::format("{}", result.value);
}

}  // namespace

DiskTeller::DiskTeller(const DiskSystem& system) : rig_(system.rigs()), before_calls_("the first mount") {}

void DiskTeller::step(const DiskSystemState& from, Choice choice, const DiskSystemState&) {
  const DiskMove move = DiskMove::of(choice);
  if (!rig_->go(from, move)) return;
  const Op op = rig_->ops()[move.op].op;
  if (from.damaged)
    tell_repair(op);
  else
    tell_op(op, rig_->is_cut());
  // A call that fails has no number; the next one takes its place.
  calls_.resize(from.expectation.calls());
  calls_.push_back(fmt::format("'{}' (step {})", to_text(op), story_.steps.size()));
  past_.push_back(from.expectation.now());
  if (rig_->is_cut()) return tell_crash(op);
  // The op has ended: of its writes those are still in doubt that are left in the log.
  DiskSystemState end;
  rig_->put_end(end);
  if (!end.over) {
    std::vector<const Event*> events;
    size_t left = 0;
    for (const Event* event : end.disk.log.events(events))
      left += event->changes_blocks() && !event->tied_to_previous;
    std::vector<uint32_t> in_doubt;
    for (size_t i = story_.writes.size(); i-- > 0 && in_doubt.size() < left;) {
      if (story_.writes[i].fate == Fate::kPending) in_doubt.push_back(story_.writes[i].number);
    }
    settle_others(in_doubt);
  }
}

void DiskTeller::settle_others(const std::vector<uint32_t>& in_doubt) {
  for (WriteRecord& record : story_.writes) {
    if (record.fate == Fate::kPending &&
        std::find(in_doubt.begin(), in_doubt.end(), record.number) == in_doubt.end())
      record.fate = Fate::kPersisted;
  }
}

void DiskTeller::tell_op(const Op& op, bool cut) {
  StoryStep step;
  step.kind = op.kind == OpKind::kRead ? StoryStep::Kind::kVerify : StoryStep::Kind::kOp;
  step.op = to_text(op);
  const uint32_t findings = rig_->outcome().findings;
  const bool dead = found_dead(findings);
  step.text = cut || dead ? "does not return" : fmt::format("answers {}", answer_of(rig_->result()));
  if (const uint32_t failed = rig_->failed_access())
    step.text += fmt::format("; access {} to the disk fails", failed);
  if (const uint32_t failed = rig_->failed_allocation())
    step.text += fmt::format("; allocation {} fails", failed);
  if (rig_->stable() != Stable::kNothing)
    step.text += fmt::format("; says that {} stable",
                             rig_->stable() == Stable::kThisCallToo ? "it is" : "all before it is");
  tell_writes(step, rig_->log(), rig_->events_before());
  const bool answered_wrong = rig_->result() != rig_->expected();
  const auto found = [&](FindingKind kind) { return (findings & bit(kind)) != 0; };
  for (const FaultText& fault : kFaultTexts) {
    if (!found(fault.kind)) continue;
    // Where the walk after the op is known from elsewhere it must be seen once more.
    const HasFaults& faults = *rig_->target().has_faults();
    if (faults.fault_text().empty()) rig_->walk_again();
    step.observed.push_back({fault.kind, faults.fault_text()});
    step.expected.emplace_back(fault.expected);
  }
  if (found(FindingKind::kWrongErrno) || (found(FindingKind::kHiddenError) && answered_wrong)) {
    const FindingKind kind =
        found(FindingKind::kWrongErrno) ? FindingKind::kWrongErrno : FindingKind::kHiddenError;
    const bool same_answer = answer_of(rig_->result()) == answer_of(rig_->expected());
    step.observed.push_back({kind, same_answer ? "what it read is not what was written"
                                               : fmt::format("it answers {}", answer_of(rig_->result()))});
    step.expected.push_back(same_answer ? "the data that was written there"
                                        : fmt::format("it answers {}", answer_of(rig_->expected())));
  }
  for (const FindingKind kind :
       {FindingKind::kWrongEffect, FindingKind::kFailedChange, FindingKind::kHiddenError}) {
    if (!found(kind) || (kind == FindingKind::kHiddenError && answered_wrong)) continue;
    const Walk& walk = rig_->walk_again();
    step.observed.push_back({kind, walk.error != 0 ? fmt::format("{} cannot be read: {}", walk.where.text(),
                                                                 errno_text(walk.error))
                                                   : first_difference(walk.tree, rig_->tree_after())});
    step.expected.push_back(kind == FindingKind::kFailedChange
                                ? "the tree as it was: the op has failed"
                                : "the tree that the reference has after this op");
  }
  story_.steps.push_back(std::move(step));
}

// A repair of the damaged disk that the search starts with.
void DiskTeller::tell_repair(const Op& op) {
  StoryStep step;
  step.op = to_text(op);
  step.text = "of the damaged disk, and mount";
  tell_writes(step, rig_->log(), rig_->events_before());
  std::vector<const Event*> events;
  rig_->log().events(events);
  if (!events.empty() && events.back()->kind == EventKind::kFlush) settle_others({});
  tell_recovery(step);
  story_.steps.push_back(std::move(step));
}

// What the op, or recovery, did to the disk. A write in several runs is one write.
void DiskTeller::tell_writes(StoryStep& step, const Log& log, size_t from) {
  std::vector<const Event*> events;
  log.events(events);
  for (size_t i = from; i < events.size(); ++i) {
    const Event& event = *events[i];
    if (event.kind == EventKind::kStray) {
      StrayText stray = text_of_stray(event, rig_->kind().disks);
      step.observed.push_back({stray.kind, std::move(stray.observed)});
      step.expected.emplace_back(stray.expected);
    }
    if (!event.changes_blocks()) continue;
    if (event.tied_to_previous && !story_.writes.empty()) continue;
    WriteRecord record;
    record.number = static_cast<uint32_t>(story_.writes.size()) + 1;
    record.address = static_cast<uint32_t>(event.first.value);
    record.blocks = static_cast<uint32_t>(event.count.value);
    if (const NamesBlocks* names = rig_->target().names_blocks())
      record.label = names->name_block(event.first.value);
    record.content = content_of(rig_->kind(), rig_->target(), event);
    record.op = step.op;
    record.over = last_write_to(record.address, record.blocks);
    step.writes.push_back(record.number);
    story_.writes.push_back(std::move(record));
  }
}

uint32_t DiskTeller::last_write_to(uint32_t address, uint32_t blocks) const {
  for (size_t i = story_.writes.size(); i-- > 0;) {
    const WriteRecord& w = story_.writes[i];
    if (w.fate != Fate::kLost && w.address < address + blocks && address < w.address + w.blocks)
      return w.number;
  }
  return 0;
}

// Of a problem with a block: who wrote there last, and over what.
std::string DiskTeller::fate_of_block(const Problem& problem, const ProblemKind& kind) const {
  if (kind.block < 0) return {};
  const auto block = static_cast<uint32_t>(problem.context[static_cast<size_t>(kind.block)]);
  const uint32_t last = last_write_to(block, 1);
  if (last == 0) return {};
  const WriteRecord& writer = story_.writes[last - 1];
  std::string text = fmt::format("; last written by write {} of '{}'", last, writer.op);
  if (writer.over == 0) return text + ", over what was there at the start";
  const WriteRecord& before = story_.writes[writer.over - 1];
  return text + fmt::format(", over write {} of '{}': {}", writer.over, before.op, before.content);
}

// What became of the writes of a log that was cut before one of its events.
void DiskTeller::tell_cut(StoryStep& step, uint32_t level, const Log& log) {
  CrashState& cut = rig_->cuts().crash_state(level);
  const std::span<const Epoch::Write> all = cut.epoch().writes();
  // What earlier power cuts left open was told there.
  const uint32_t frozen = cut.epoch().frozen_pieces();
  const uint32_t first = frozen == 0                             ? 0
                         : frozen == cut.epoch().pieces().size() ? static_cast<uint32_t>(all.size())
                                                                 : cut.epoch().pieces()[frozen].write;
  const std::span<const Epoch::Write> pending = all.subspan(first);

  // The newest writes are those in doubt; the one before has the number that fits its place, and so on.
  std::vector<uint32_t> numbers(pending.size(), 0);
  size_t story = story_.writes.size();
  for (size_t w = pending.size(); w-- > 0;) {
    while (story > 0 && (story_.writes[story - 1].fate != Fate::kPending ||
                         story_.writes[story - 1].address != pending[w].first.value))
      --story;
    if (story == 0) break;
    numbers[w] = story_.writes[--story].number;
  }
  // What had not been issued yet is as good as lost.
  std::vector<uint32_t> unissued;
  std::vector<const Event*> events;
  log.events(events);
  for (size_t i = events.size(), number = story_.writes.size();
       i-- > rig_->cuts().event(level) && number > 0;) {
    if (!events[i]->changes_blocks() || events[i]->tied_to_previous) continue;
    unissued.push_back(static_cast<uint32_t>(number--));
  }
  std::vector<uint32_t> unsettled = numbers;
  unsettled.insert(unsettled.end(), unissued.begin(), unissued.end());
  settle_others(unsettled);
  const bool raw_flash = rig_->kind().disks.is_flash();
  for (size_t w = 0; w < pending.size(); ++w) {
    if (numbers[w] == 0) continue;
    const WriteFate fate = cut.fate(first + static_cast<uint32_t>(w));
    write(numbers[w]).fate = fate == WriteFate::kLost   ? Fate::kLost
                             : fate == WriteFate::kTorn ? Fate::kTorn
                                                        : Fate::kPersisted;
    if (fate == WriteFate::kLost) step.lost.push_back(numbers[w]);
    if (fate == WriteFate::kTorn)
      step.text += fmt::format("; write {} was {}", numbers[w],
                               raw_flash ? "cut off" : torn_text(cut, first + static_cast<uint32_t>(w)));
  }
  for (size_t i = unissued.size(); i-- > 0;) {
    write(unissued[i]).fate = Fate::kLost;
    step.lost.push_back(unissued[i]);
  }
}

void DiskTeller::tell_crash(const Op& op) {
  StoryStep step;
  step.kind = StoryStep::Kind::kCrash;
  const bool returned = rig_->crash_after_return() && rig_->result().error == 0;
  if (returned) {
    StoryStep& last = story_.steps.back();
    last.text.replace(0, last.text.find(';'), fmt::format("answers {}", answer_of(rig_->result())));
  }
  step.text = fmt::format("the power goes {} '{}'", returned ? "after" : "in the middle of", to_text(op));
  tell_cut(step, 0, rig_->log());
  for (uint32_t level = 1; level <= rig_->cuts().level(); ++level) {
    story_.steps.push_back(std::move(step));
    step = {};
    step.kind = StoryStep::Kind::kCrash;
    step.op = "recovery";
    step.text = "the power goes again, in the middle of recovery";
    tell_writes(step, rig_->cuts().log(level), 0);
    tell_cut(step, level, rig_->cuts().log(level));
  }
  story_.image = rig_->cuts().crash_state(rig_->cuts().level()).image();
  tell_recovery(step);
  story_.steps.push_back(std::move(step));
  before_calls_ = fmt::format("the recovery in step {}", story_.steps.size());
}

std::string DiskTeller::broken_promise() const {
  const auto broken = rig_->crash_expectation().broken_promise(rig_->recovered().tree);
  if (!broken) return {};
  const std::string& who =
      broken->call > 0 && broken->call <= calls_.size() ? calls_[broken->call - 1] : before_calls_;
  return fmt::format("what {} promised, {}; after the power cut {}", who, broken->promised,
                     broken->came_back);
}

void DiskTeller::tell_recovery(StoryStep& step) {
  const uint32_t findings = rig_->crash_outcome().findings;
  const auto found = [&](FindingKind kind) { return (findings & bit(kind)) != 0; };
  const RecoveryNotes notes = rig_->notes();
  const std::span<const ProblemKind> kinds = rig_->kind().words.problems;
  const auto observe = [&](FindingKind kind, std::string text, std::string expected) {
    step.observed.push_back({kind, std::move(text)});
    if (!expected.empty()) step.expected.push_back(std::move(expected));
  };
  std::string repaired;
  for (const RepairReport* report : {&notes.repair, &notes.check}) {
    for (const Problem& problem : report->problems) {
      if (report == &notes.check && std::find(notes.repair.problems.begin(), notes.repair.problems.end(),
                                              problem) != notes.repair.problems.end())
        continue;  // told
      std::string text = to_text(problem, rig_->kind(), rig_->target());
      const auto named = find_kind(kinds[problem.kind].code);
      // What was damaged before we came is worth a finding only if it stays.
      const bool expected = rig_->from_damaged() && problem.repaired;
      if (named && named->name == kinds[problem.kind].name && !expected)
        observe(named->kind, text.substr(text.find(": ") + 2) + fate_of_block(problem, kinds[problem.kind]),
                "");  // its code and name are told anyway
      else if (!problem.repaired)
        observe(FindingKind::kNotClean, text, "");
      else
        repaired += fmt::format("{}{}", repaired.empty() ? "; repaired: " : ", ", text);
    }
  }
  step.text += repaired;
  for (const FaultText& fault : kFaultTexts)
    if (found(fault.kind)) observe(fault.kind, notes.fault, fault.expected);
  if (found(FindingKind::kNotClean))
    step.expected.emplace_back("its own check is clean once it has repaired");
  if (found(FindingKind::kNotMountable))
    observe(FindingKind::kNotMountable, fmt::format("mount answers {}", errno_text(notes.mount_error)),
            "it mounts");
  if (found(FindingKind::kNotWalkable))
    observe(FindingKind::kNotWalkable,
            fmt::format("{} cannot be read: {}", notes.walk.where.text(), errno_text(notes.walk.error)),
            "everything can be read");
  if (found(FindingKind::kNotAllowed) && rig_->from_damaged())
    observe(FindingKind::kNotAllowed,
            first_difference(rig_->recovered().tree, rig_->crash_expectation().now()),
            "all that was there and is not damaged");
  else if (found(FindingKind::kNotAllowed))
    observe(FindingKind::kNotAllowed, rig_->crash_expectation().why_not(rig_->recovered().tree, past_),
            fmt::format("what the contract '{}' allows", contract_name(rig_->kind().claims.contract)));
  const bool told = !found(FindingKind::kNotAllowed) || rig_->from_damaged();
  if (const std::string broken = told ? "" : broken_promise(); !broken.empty())
    step.expected.push_back(broken);
  if (found(FindingKind::kNotRepeatable))
    observe(FindingKind::kNotRepeatable, first_difference(rig_->recovered().tree, rig_->cuts().tree_before()),
            "what recovery brings back when it is not interrupted");
  if (found(FindingKind::kTwoOutcomes))
    observe(FindingKind::kTwoOutcomes,
            notes.mounted_alone.error != 0
                ? fmt::format("without its check: {}", errno_text(notes.mounted_alone.error))
                : "without its check: " + first_difference(notes.mounted_alone.tree, rig_->recovered().tree),
            "what the check and the mount bring back");
  if (found(FindingKind::kNotUsable))
    observe(FindingKind::kNotUsable, notes.unusable, "it can be used like a new one");
  // Of each kind the first.
  std::vector<const Event*> events;
  uint32_t told_strays = 0;
  for (const Event* event : notes.log.events(events)) {
    if (event->kind != EventKind::kStray) continue;
    const StrayText stray = text_of_stray(*event, rig_->kind().disks);
    if (!found(stray.kind) || (told_strays & bit(stray.kind)) != 0) continue;
    told_strays |= bit(stray.kind);
    observe(stray.kind, fmt::format("{} {}", notes.strayed, stray.observed), stray.expected);
  }
}

}  // namespace sisyfs
