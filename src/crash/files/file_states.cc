#include "crash/files/file_states.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace sisyfs {
namespace {

bool is_data(SlotKind kind) { return kind == SlotKind::kSize || kind == SlotKind::kPage; }

// Whether the versions of such an event are kept or lost together.
bool is_one(FileEventKind kind) { return kind != FileEventKind::kWrite; }

}  // namespace

// Finds what is durable and what needs what, among all chains: the slots, and then the journal.
class FileStates::Builder {
 public:
  Builder(const FileLog& log, const FileRules& rules, EventId events, const FlushChanges& changes)
      : log_(log), rules_(rules), events_(events), journal_(static_cast<Chain>(log.slots())) {
    ranges_.high.resize(log.slots() + 1);
    ranges_.low.resize(log.slots() + 1);
    chains_.needs.resize(log.slots() + 1);
    chains_.needed_by.resize(log.slots() + 1);
    for (SlotId slot = 0; slot < log.slots(); ++slot) ranges_.high[slot] = before(slot, events);
    keep_promises(changes);
    keep_ties();
    order();
    std::vector<Chain> changed;
    for (Chain chain = 0; chain <= journal_; ++chain) changed.push_back(chain);
    narrow(chains_, ranges_, changed);
  }

  Ranges& ranges() { return ranges_; }
  Chains& chains() { return chains_; }

 private:
  // The newest version of the slot that came before the event.
  uint32_t before(SlotId slot, EventId event) const {
    const auto versions = log_.versions(slot);
    const auto end = std::partition_point(versions.begin() + 1, versions.end(),
                                          [&](const FileVersion& one) { return one.event < event; });
    return static_cast<uint32_t>(end - versions.begin()) - 1;
  }

  void keep(SlotId slot, EventId event) {
    ranges_.low[slot] = std::max(ranges_.low[slot], before(slot, event));
  }

  void keep_promises(const FlushChanges& changes) {
    for (EventId e = 0; e < events_; ++e) {
      const FileEvent& event = log_.events()[e];
      if (event.promise != FilePromise::kNone && !changes.dropped.contains(e))
        flush(event.object, event.promise, e + 1);
      for (const FlushChanges::Added& added : changes.added)
        if (added.after == e) flush(added.object, FilePromise::kAll, e + 1);
    }
  }

  // All of this that came before the event is durable.
  void flush(FileId object, FilePromise promise, EventId event) {
    if (promise == FilePromise::kEverything || rules_.all_in_order) {
      for (SlotId slot = 0; slot < log_.slots(); ++slot) keep(slot, event);
      return;
    }
    bool grew = false;
    for (const SlotId slot : log_.slots_of(object)) {
      const SlotKind kind = log_.slot_of(slot).kind;
      if (promise == FilePromise::kData && !is_data(kind)) continue;
      grew |= kind == SlotKind::kSize && ranges_.low[slot] < before(slot, event);
      keep(slot, event);
    }
    if (promise == FilePromise::kData && !grew) return;  // fdatasync leaves the metadata alone
    if (rules_.fsync_names) keep_names(object, event);
    if (!rules_.fsync_all_metadata) return;
    for (EventId e = 0; e < event; ++e)
      if (log_.events()[e].kind != FileEventKind::kWrite)
        for (const FileStep& step : log_.events()[e].steps)
          ranges_.low[step.slot] = std::max(ranges_.low[step.slot], step.version);
  }

  // The names that the object has or had, and those of the directories that they are in.
  void keep_names(FileId object, EventId event) {
    for (SlotId slot = 0; slot < log_.slots(); ++slot) {
      if (log_.slot_of(slot).kind != SlotKind::kEntry) continue;
      const uint32_t last = before(slot, event);
      const auto versions = log_.versions(slot).first(last + 1);
      const bool names = std::any_of(versions.begin(), versions.end(),
                                     [&](const FileVersion& one) { return one.value == object; });
      if (!names || ranges_.low[slot] >= last) continue;
      ranges_.low[slot] = last;
      keep_names(log_.slot_of(slot).object, event);
    }
  }

  // What is tied to something durable is durable.
  void keep_ties() {
    for (bool more = true; more;) {
      more = false;
      for (EventId e = 0; e < events_; ++e) {
        const FileEvent& event = log_.events()[e];
        if (!is_one(event.kind) || !std::any_of(event.steps.begin(), event.steps.end(),
                                                [&](const FileStep& step) { return is_kept(step); }))
          continue;
        for (const FileStep& step : event.steps)
          if (!is_kept(step)) ranges_.low[step.slot] = step.version, more = true;
      }
    }
  }
  bool is_kept(const FileStep& step) const { return ranges_.low[step.slot] >= step.version; }

  void order() {
    for (EventId e = 0; e < events_; ++e) {
      const FileEvent& event = log_.events()[e];
      if (event.kind == FileEventKind::kClose && rules_.close_needs_data) closed_.push_back(e);
      if (event.steps.empty()) continue;
      const bool is_write = !is_one(event.kind);
      if (rules_.all_in_order && is_write) {
        for (const FileStep& step : event.steps) to_journal({step});
      } else if (rules_.all_in_order || (rules_.metadata_in_order && !is_write)) {
        to_journal(event.steps);
      } else if (!is_write) {
        tie(event.steps);
      }
      if (is_write && rules_.size_needs_data) need_data_of_write(event);
      if (event.replaced != kNoFile && rules_.replace_needs_data)
        need_data(event.steps.front(), event.object, e);
    }
  }

  void to_journal(const std::vector<FileStep>& steps) {
    const bool is_durable =
        std::all_of(steps.begin(), steps.end(), [&](const FileStep& step) { return is_kept(step); });
    const std::vector<EventId> closed = std::exchange(closed_, {});
    if (is_durable) {
      for (const EventId e : closed)
        for (const SlotId slot : log_.slots_of(log_.events()[e].object))
          if (is_data(log_.slot_of(slot).kind)) keep(slot, e);
      return;
    }
    const uint32_t place = ++ranges_.high[journal_];
    for (const FileStep& step : steps) {
      need(step.slot, step.version, journal_, place);
      need(journal_, place, step.slot, step.version);
    }
    for (const EventId e : closed)
      for (const SlotId slot : log_.slots_of(log_.events()[e].object))
        if (is_data(log_.slot_of(slot).kind)) need(journal_, place, slot, before(slot, e));
  }

  void tie(const std::vector<FileStep>& steps) {
    for (size_t i = 0; i < steps.size() && steps.size() > 1; ++i) {
      const FileStep& next = steps[(i + 1) % steps.size()];
      need(steps[i].slot, steps[i].version, next.slot, next.version);
    }
  }

  // The size needs the pages behind the old end.
  void need_data_of_write(const FileEvent& event) {
    for (const FileStep& size : event.steps) {
      if (log_.slot_of(size.slot).kind != SlotKind::kSize) continue;
      const uint64_t end = log_.versions(size.slot)[size.version - 1].value;
      for (const FileStep& page : event.steps)
        if (log_.slot_of(page.slot).kind == SlotKind::kPage &&
            (log_.slot_of(page.slot).page + 1) * kFilePageBytes > end)
          need(size.slot, size.version, page.slot, page.version);
    }
  }

  void need_data(const FileStep& step, FileId object, EventId event) {
    for (const SlotId slot : log_.slots_of(object))
      if (is_data(log_.slot_of(slot).kind)) need(step.slot, step.version, slot, before(slot, event));
  }

  void need(Chain from, uint32_t version, Chain other, uint32_t other_version) {
    if (other_version == 0) return;
    chains_.needs[from].push_back({version, other, other_version});
    chains_.needed_by[other].push_back({other_version, from, version});
  }

  const FileLog& log_;
  const FileRules& rules_;
  const EventId events_;
  const Chain journal_;
  Ranges ranges_;
  Chains chains_;
  std::vector<EventId> closed_;  // since the last entry of the journal
};

FileStates::FileStates(const FileLog& log, const FileRules& rules, EventId events,
                       const FlushChanges& changes)
    : log_(log), rules_(rules) {
  Builder built(log, rules, events, changes);
  const Ranges& ranges = built.ranges();
  const size_t all = ranges.low.size();
  open_.assign(all, kNotOpen);
  for (Chain chain = 0; chain < all; ++chain) {
    if (ranges.low[chain] >= ranges.high[chain]) continue;
    open_[chain] = static_cast<Chain>(slot_of_.size());
    slot_of_.push_back(chain);
    start_.low.push_back(ranges.low[chain]);
    start_.high.push_back(ranges.high[chain]);
  }
  fixed_.assign(ranges.low.begin(), ranges.low.end() - 1);
  newest_.resize(log.slots());
  for (SlotId slot = 0; slot < log.slots(); ++slot) {
    const auto versions = log.versions(slot);
    newest_[slot] = static_cast<uint32_t>(
        std::partition_point(versions.begin() + 1, versions.end(),
                             [&](const FileVersion& one) { return one.event < events; }) -
        versions.begin() - 1);
  }
  const auto among_open = [&](const std::vector<std::vector<Need>>& from) {
    std::vector<std::vector<Need>> out(slot_of_.size());
    for (size_t i = 0; i < out.size(); ++i)
      for (const Need& one : from[slot_of_[i]])
        if (open_[one.other] != kNotOpen)
          out[i].push_back({one.version, open_[one.other], one.other_version});
    return out;
  };
  chains_.needs = among_open(built.chains().needs);
  chains_.needed_by = among_open(built.chains().needed_by);
}

uint32_t FileStates::low(const Ranges& ranges, SlotId slot) const {
  return open_[slot] == kNotOpen ? fixed_[slot] : ranges.low[open_[slot]];
}
uint32_t FileStates::high(const Ranges& ranges, SlotId slot) const {
  return open_[slot] == kNotOpen ? fixed_[slot] : ranges.high[open_[slot]];
}

void FileStates::narrow(const Chains& chains, Ranges& ranges, std::vector<Chain>& changed) {
  while (!changed.empty()) {
    const Chain chain = changed.back();
    changed.pop_back();
    for (const Need& need : chains.needs[chain])
      if (ranges.low[chain] >= need.version && ranges.low[need.other] < need.other_version) {
        ranges.low[need.other] = need.other_version;
        changed.push_back(need.other);
      }
    for (const Need& need : chains.needed_by[chain])
      if (ranges.high[chain] < need.version && ranges.high[need.other] >= need.other_version) {
        ranges.high[need.other] = need.other_version - 1;
        changed.push_back(need.other);
      }
    SISYFS_ASSERT(ranges.low[chain] <= ranges.high[chain], "what is picked from a range is part of a state");
  }
}

void FileStates::pick(Ranges& ranges, SlotId slot, uint32_t version) const {
  const Chain chain = open_[slot];
  if (chain == kNotOpen || ranges.low[chain] == ranges.high[chain]) return;
  SISYFS_ASSERT(ranges.low[chain] <= version && version <= ranges.high[chain], "a version of the range");
  ranges.low[chain] = ranges.high[chain] = version;
  std::vector<Chain> changed{chain};
  narrow(chains_, ranges, changed);
}

uint64_t FileStates::value(SlotId slot, uint32_t version) const {
  const uint64_t value = log_.versions(slot)[version].value;
  const bool is_lost =
      version == 0 && newest_[slot] != 0 && value == 0 && log_.slot_of(slot).kind == SlotKind::kPage;
  return is_lost && rules_.stale_data ? FileContents::kGarbagePage : value;
}

std::vector<SlotId> FileStates::open_slots() const {
  std::vector<SlotId> out;
  for (const SlotId slot : slot_of_)
    if (slot < log_.slots()) out.push_back(slot);
  return out;
}

// --- counting -------------------------------------------------------------------------------------------

// Counts by parts that do not depend on each other. Within a part, each version of the chain with the most
// needs is tried in turn, which makes smaller parts.
class FileStates::Counter {
 public:
  explicit Counter(const FileStates& states) : states_(states) {}

  StateCount count(const Ranges& ranges, const std::vector<Chain>& among) {
    StateCount all = 1;
    for (const std::vector<Chain>& part : parts(ranges, among)) all *= count_part(ranges, part);
    return all;
  }

 private:
  static constexpr uint64_t kMostTries = 200'000;

  bool is_active(const Ranges& ranges, Chain chain, const Need& need) const {
    return ranges.low[chain] < need.version && need.version <= ranges.high[chain] &&
           ranges.low[need.other] < need.other_version && need.other_version <= ranges.high[need.other];
  }

  std::vector<std::vector<Chain>> parts(const Ranges& ranges, const std::vector<Chain>& among) const {
    std::vector<std::vector<Chain>> out;
    std::set<Chain> left;
    for (const Chain chain : among)
      if (ranges.low[chain] < ranges.high[chain]) left.insert(chain);
    while (!left.empty()) {
      std::vector<Chain> part{*left.begin()};
      left.erase(left.begin());
      for (size_t i = 0; i < part.size(); ++i)
        for (const auto* needs : {&states_.chains_.needs, &states_.chains_.needed_by})
          for (const Need& need : (*needs)[part[i]])
            if (is_active(ranges, part[i], need) && left.erase(need.other) != 0) part.push_back(need.other);
      out.push_back(std::move(part));
    }
    return out;
  }

  StateCount count_part(const Ranges& ranges, const std::vector<Chain>& part) {
    if (part.size() == 1) return ranges.high[part[0]] - ranges.low[part[0]] + 1;
    const auto degree = [&](Chain chain) {
      size_t count = 0;
      for (const auto* needs : {&states_.chains_.needs, &states_.chains_.needed_by})
        for (const Need& need : (*needs)[chain]) count += is_active(ranges, chain, need) ? 1 : 0;
      return count;
    };
    Chain busiest = part[0];
    size_t most = 0;
    for (const Chain chain : part)
      if (const size_t count = degree(chain); count > most) most = count, busiest = chain;
    StateCount all = 0;
    for (uint32_t version = ranges.low[busiest]; version <= ranges.high[busiest]; ++version) {
      if (++tries_ > kMostTries) return StateCount::most();
      Ranges picked = ranges;
      picked.low[busiest] = picked.high[busiest] = version;
      std::vector<Chain> changed{busiest};
      narrow(states_.chains_, picked, changed);
      all += count(picked, part);
    }
    return all;
  }

  const FileStates& states_;
  uint64_t tries_ = 0;
};

StateCount FileStates::count(const Ranges& ranges) const {
  std::vector<Chain> all(slot_of_.size());
  for (Chain chain = 0; chain < all.size(); ++chain) all[chain] = chain;
  return Counter(*this).count(ranges, all);
}

}  // namespace sisyfs
