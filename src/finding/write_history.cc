#include "finding/write_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "disk/media.h"
#include "finding/write_text.h"

namespace sisyfs {

WriteHistory::WriteHistory(const Geometry& geometry, Target& target) : geometry_(geometry), target_(target) {}

WriteRecord WriteHistory::record_of(const Event& event, const Image& after) const {
  WriteRecord record;
  record.disk = event.disk;
  record.address = event.first.value - geometry_.first_block_of(event.disk).value;
  record.blocks = event.count.value;
  record.fua = event.flags.fua;
  if (NamesBlocks* const names = target_.names_blocks()) {
    Media media(after);
    record.label = names->name_block(event.first.value, media);
  }
  record.content = words_of(target_, event, geometry_);
  record.is_bytes = record.content.empty();
  if (record.is_bytes) record.content = bytes_of(event, geometry_);
  return record;
}

std::vector<std::pair<uint64_t, WriteRecord>> WriteHistory::records(const Log& log, size_t from, size_t end,
                                                                    Image disk) const {
  std::vector<std::pair<uint64_t, WriteRecord>> all;
  std::vector<const Event*> events;
  log.events(events);
  end = std::min(end, events.size());
  for (size_t i = from; i < end;) {
    const Event& event = *events[i];
    do {
      if (!events[i]->changes_blocks()) continue;
      for (uint64_t block = 0; block < events[i]->count.value; ++block)
        disk.set(events[i]->first + BlockCount(block), BlockRef::share(events[i]->block(block)));
    } while (++i < end && events[i]->tied_to_previous);
    if (event.changes_blocks()) all.emplace_back(log.serial_of(event), record_of(event, disk));
  }
  return all;
}

std::vector<uint32_t> WriteHistory::add(const Log& log, size_t from, const std::string& op,
                                        const Image& before) {
  std::vector<uint32_t> added;
  for (auto& [serial, record] : records(log, from, SIZE_MAX, before)) {
    record.number = static_cast<uint32_t>(writes_.size()) + 1;
    record.op = op;
    record.over = last_write_to(record.disk, record.address, record.blocks);
    added.push_back(record.number);
    numbers_[serial] = record.number;
    pending_.insert(serial);
    for (uint64_t block = 0; block < record.blocks; ++block)
      writers_[{record.disk, record.address + block}].push_back(record.number);
    writes_.push_back(std::move(record));
  }
  return added;
}

void WriteHistory::label(const std::vector<uint32_t>& numbers, const std::vector<std::string>& labels) {
  for (size_t i = 0; i < std::min(numbers.size(), labels.size()); ++i) {
    std::string& label = at(numbers[i]).label;
    if (!label.empty()) label.insert(0, ", ");
    label.insert(0, labels[i]);
  }
}

std::vector<WriteRecord> WriteHistory::describe(const Log& log, size_t from, size_t end, const Image& before,
                                                uint32_t number) const {
  std::vector<WriteRecord> described;
  for (auto& [serial, record] : records(log, from, end, before)) {
    described.push_back(std::move(record));
    described.back().number = number++;
  }
  return described;
}

// A write that was lost stays lost, and is forgotten here.
uint32_t WriteHistory::last_write_to(uint32_t disk, uint64_t address, uint64_t blocks) {
  uint32_t last = 0;
  const auto end = writers_.lower_bound({disk, address + blocks});
  for (auto block = writers_.lower_bound({disk, address}); block != end; ++block) {
    std::vector<uint32_t>& numbers = block->second;
    while (!numbers.empty() && at(numbers.back()).status == WriteStatus::kLost) numbers.pop_back();
    if (!numbers.empty()) last = std::max(last, numbers.back());
  }
  return last;
}

void WriteHistory::settle(uint64_t serial, WriteRecord& record, WriteStatus status) {
  record.status = status;
  pending_.erase(serial);
}

void WriteHistory::persist_others(const std::set<uint64_t>& in_doubt) {
  for (auto next = pending_.begin(); next != pending_.end();) {
    const uint64_t serial = *next++;
    if (!in_doubt.contains(serial)) settle(serial, at(numbers_.at(serial)), WriteStatus::kPersisted);
  }
}

void WriteHistory::persist_all_but(const Log& in_doubt) {
  std::vector<const Event*> events;
  std::set<uint64_t> serials;
  for (const Event* event : in_doubt.events(events)) serials.insert(in_doubt.serial_of(*event));
  persist_others(serials);
}

void WriteHistory::cut(const CrashState& state, uint64_t next_serial, StoryStep& step) {
  const Epoch& epoch = state.epoch();
  std::set<uint64_t> unsettled;
  for (const Epoch::Write& write : epoch.writes()) unsettled.insert(write.serial);
  const auto unissued = numbers_.lower_bound(next_serial);
  for (auto write = unissued; write != numbers_.end(); ++write) unsettled.insert(write->first);
  persist_others(unsettled);
  for (uint32_t w = 0; w < epoch.writes().size(); ++w) {
    const auto number = numbers_.find(epoch.writes()[w].serial);
    if (number == numbers_.end() || number->first >= next_serial) continue;
    WriteRecord& record = at(number->second);
    switch (state.survival(w)) {
      case Survival::kKept:
        settle(number->first, record, WriteStatus::kPersisted);
        break;
      case Survival::kLost:
        settle(number->first, record, WriteStatus::kLost);
        step.lost.push_back(record.number);
        break;
      default:
        settle(number->first, record, WriteStatus::kTorn);
        step.text += fmt::format("; write {} was {}", record.number,
                                 geometry_.is_flash() ? cut_off_text(state, w) : torn_text(state, w));
    }
  }
  // Writes that had not been issued are lost too.
  for (auto write = unissued; write != numbers_.end(); ++write) {
    settle(write->first, at(write->second), WriteStatus::kLost);
    step.lost.push_back(write->second);
  }
}

std::string WriteHistory::history_of(BlockAddress block) {
  const uint32_t disk = geometry_.disk_of(block);
  const uint32_t last = last_write_to(disk, block.value - geometry_.first_block_of(disk).value, 1);
  if (last == 0) return {};
  WriteRecord& writer = at(last);
  writer.is_named = true;
  std::string text = fmt::format("; last written by write {} of '{}'", last, writer.op);
  if (writer.over == 0) return text + ", over what was there at the start";
  WriteRecord& before = at(writer.over);
  before.is_named = true;
  return text + fmt::format(", over write {} of '{}': {}", writer.over, before.op, before.content);
}

}  // namespace sisyfs
