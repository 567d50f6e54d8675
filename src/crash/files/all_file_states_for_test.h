// For tests: the states that a power cut leaves of a log, by trying all assignments.
//
// The reference, AllFileStates, takes each assignment of versions to slots and asks the rules, as
// file_rules.h tells them, whether it may be. It shares nothing with FileStates but the log.
#pragma once

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "crash/files/file_log.h"
#include "crash/files/file_rules.h"
#include "crash/files/file_states.h"

namespace sisyfs {

// A version for each slot.
using Versions = std::vector<uint32_t>;

class AllFileStates {
 public:
  AllFileStates(const FileLog& log, const FileRules& rules, EventId events, const FlushChanges& changes = {})
      : log_(log), rules_(rules), events_(events), durable_(log.slots(), 0) {
    for (SlotId slot = 0; slot < log.slots(); ++slot) newest_.push_back(last_before(slot, events));
    for (EventId e = 0; e < events; ++e) {
      const FileEvent& event = log.events()[e];
      if (!changes.dropped.contains(e)) flush(event.object, event.promise, e + 1);
      for (const auto& [after, object] : changes.added)
        if (after == e) flush(object, FilePromise::kAll, e + 1);
    }
    keep_whole_calls(durable_);
    Versions state(durable_);
    collect(0, state);
  }

  const std::set<Versions>& states() const { return states_; }
  const Versions& durable() const { return durable_; }

 private:
  bool is_data(SlotId slot) const {
    return log_.slot_of(slot).kind == SlotKind::kSize || log_.slot_of(slot).kind == SlotKind::kPage;
  }
  uint32_t last_before(SlotId slot, EventId event) const {
    uint32_t last = 0;
    for (uint32_t i = 1; i < log_.versions(slot).size(); ++i)
      if (log_.versions(slot)[i].event < event) last = i;
    return last;
  }
  static bool has(const Versions& state, const FileStep& step) { return state[step.slot] >= step.version; }
  bool has_any(const Versions& state, const FileEvent& event) const {
    return std::any_of(event.steps.begin(), event.steps.end(), [&](auto& step) { return has(state, step); });
  }
  bool has_all(const Versions& state, const FileEvent& event) const {
    return std::all_of(event.steps.begin(), event.steps.end(), [&](auto& step) { return has(state, step); });
  }
  // What of the data of the file there was before the event.
  bool has_data(const Versions& state, FileId file, EventId event) const {
    for (SlotId slot = 0; slot < log_.slots(); ++slot)
      if (log_.slot_of(slot).object == file && is_data(slot) && state[slot] < last_before(slot, event))
        return false;
    return true;
  }

  bool make_durable(SlotId slot, uint32_t version) {
    if (durable_[slot] >= version) return false;
    durable_[slot] = version;
    return true;
  }
  void flush(FileId object, FilePromise promise, EventId end) {
    if (promise == FilePromise::kNone) return;
    const bool everything = promise == FilePromise::kEverything || rules_.all_in_order;
    bool new_size = false;
    for (SlotId slot = 0; slot < log_.slots(); ++slot) {
      const bool is_meant =
          log_.slot_of(slot).object == object && (promise != FilePromise::kData || is_data(slot));
      if (!everything && !is_meant) continue;
      const bool is_new = make_durable(slot, last_before(slot, end));
      if (is_meant && log_.slot_of(slot).kind == SlotKind::kSize) new_size |= is_new;
    }
    if (promise == FilePromise::kData && !new_size) return;
    if (rules_.fsync_names) flush_names(object, end);
    if (!rules_.fsync_all_metadata) return;
    for (EventId e = 0; e < end; ++e)
      if (log_.events()[e].kind != FileEventKind::kWrite)
        for (const FileStep& step : log_.events()[e].steps) make_durable(step.slot, step.version);
  }
  void flush_names(FileId object, EventId end) {
    for (SlotId slot = 0; slot < log_.slots(); ++slot) {
      if (log_.slot_of(slot).kind != SlotKind::kEntry) continue;
      bool is_name = false;
      for (uint32_t i = 0; i <= last_before(slot, end); ++i)
        is_name |= log_.versions(slot)[i].value == object;
      if (is_name && make_durable(slot, last_before(slot, end))) flush_names(log_.slot_of(slot).object, end);
    }
  }
  // A call that is no write is kept as a whole.
  void keep_whole_calls(Versions& state) const {
    for (bool again = true; again;) {
      again = false;
      for (EventId e = 0; e < events_; ++e) {
        const FileEvent& event = log_.events()[e];
        if (event.kind == FileEventKind::kWrite || !has_any(state, event) || has_all(state, event)) continue;
        for (const FileStep& step : event.steps) state[step.slot] = std::max(state[step.slot], step.version);
        again = true;
      }
    }
  }

  bool is_allowed(const Versions& state) const {
    bool version_lost = false, metadata_lost = false;
    for (EventId e = 0; e < events_; ++e) {
      const FileEvent& event = log_.events()[e];
      const bool is_write = event.kind == FileEventKind::kWrite;
      for (const FileStep& step : event.steps) {
        if (rules_.all_in_order && has(state, step) && version_lost) return false;
        if (is_write) version_lost |= !has(state, step);
        if (is_write && rules_.size_needs_data && has(state, step) && !has_new_data(state, event, step))
          return false;
      }
      if (is_write || event.steps.empty()) continue;
      if (has_any(state, event) != has_all(state, event)) return false;
      const bool is_kept = has_all(state, event);
      version_lost |= !is_kept;
      if (rules_.metadata_in_order && is_kept && metadata_lost && !has_all(durable_, event)) return false;
      metadata_lost |= !is_kept;
      if (!is_kept) continue;
      if (rules_.replace_needs_data && event.replaced != kNoFile && !has_data(state, event.object, e))
        return false;
      if (!rules_.close_needs_data) continue;
      for (EventId closed = 0; closed < e; ++closed)
        if (log_.events()[closed].kind == FileEventKind::kClose &&
            !has_data(state, log_.events()[closed].object, closed))
          return false;
    }
    return true;
  }
  // The data of a write behind the old end of the file.
  bool has_new_data(const Versions& state, const FileEvent& event, const FileStep& size) const {
    if (log_.slot_of(size.slot).kind != SlotKind::kSize) return true;
    const uint64_t old_size = log_.versions(size.slot)[size.version - 1].value;
    return std::all_of(event.steps.begin(), event.steps.end(), [&](const FileStep& step) {
      const Slot& slot = log_.slot_of(step.slot);
      return slot.kind != SlotKind::kPage || (slot.page + 1) * kFilePageBytes <= old_size || has(state, step);
    });
  }

  void collect(SlotId slot, Versions& state) {
    if (slot == log_.slots()) {
      if (is_allowed(state)) states_.insert(state);
      return;
    }
    for (state[slot] = durable_[slot]; state[slot] <= newest_[slot]; ++state[slot]) collect(slot + 1, state);
  }

  const FileLog& log_;
  const FileRules& rules_;
  const EventId events_;
  Versions newest_, durable_;
  std::set<Versions> states_;
};

// All states that FileStates reaches by picks in a random order.
class PickedStates {
 public:
  PickedStates(const FileLog& log, const FileStates& states, std::mt19937& random)
      : states_(states), random_(random), order_(log.slots()), now_(log.slots()) {
    for (SlotId slot = 0; slot < log.slots(); ++slot) order_[slot] = slot;
    go(0, states.all());
  }
  // One for each way: a state that is reached twice is there twice.
  const std::vector<Versions>& reached() const { return reached_; }

 private:
  void go(size_t at, const FileStates::Ranges& ranges) {
    if (at == order_.size()) {
      reached_.push_back(now_);
      return;
    }
    // What is picked next may differ from branch to branch.
    std::swap(order_[at], order_[at + random_() % (order_.size() - at)]);
    const SlotId slot = order_[at];
    for (uint32_t version = states_.low(ranges, slot); version <= states_.high(ranges, slot); ++version) {
      FileStates::Ranges picked = ranges;
      states_.pick(picked, slot, version);
      now_[slot] = version;
      const std::vector<SlotId> order = order_;
      go(at + 1, picked);
      order_ = order;
    }
  }

  const FileStates& states_;
  std::mt19937& random_;
  std::vector<SlotId> order_;
  Versions now_;
  std::vector<Versions> reached_;
};

}  // namespace sisyfs
