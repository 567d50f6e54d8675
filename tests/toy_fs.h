// ToyFs: a small file system on a disk, with options for how it writes and what it forgets. It provides twins
// for each contract: a bug that only this contract finds, and a system that meets it and no stronger one.
//
//   toy::Habits habits;
//   habits.any_order = true;                       // names come back in any order
//   setup.kind = toy::kind_of(habits, toy::Claim{Contract::kFsync});
//
// While it runs it is correct, because it works on the reference tree. Its bugs are in what reaches the disk.
// A tree is a list of facts (this name leads to this inode, this inode has this size, this unit holds these
// bytes), and an op changes some of them:
//
//   blocks 0 and 1     all facts, written alternately; the higher generation counts
//   then kLog blocks   records of facts that changed since, in order
//   then kLog blocks   the same for data alone, if the habit is to write it apart
//
// Recovery reads the facts, applies the records, and drops names whose inode does not exist.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "disk/media.h"
#include "target/target.h"
#include "workload/write_parts.h"

namespace sisyfs::toy {

inline constexpr uint32_t kUnit = 4;  // bytes
inline constexpr uint16_t kLog = 16;

enum class When : uint8_t {
  kThrough,  // every op is written and flushed
  kAtOnce,   // every op is written; fsync and sync flush
  kAsked,    // fsync writes and flushes what it speaks of and nothing else, sync everything
};

// What it does when the device fails a write or a flush.
enum class OnError : uint8_t {
  kNothing,  // no call says so, and what was to be written is given up
  kDrops,    // the call says so, and what was to be written is given up
  kRetries,  // the call says so, and the next one writes it again
};

// The first lines are ways to work, those from `backwards` on are mistakes.
struct Habits {
  When when = When::kAtOnce;
  bool torn_data = false;  // each data unit is a write of its own
  OnError on_error = OnError::kNothing;
  OpSet at_once = {};             // with When::kAsked: ops that write and flush what they have changed
  bool split_writes = false;      // each data unit of a write is a record of its own, with the size up to it
  bool backwards = false;         // with it, and a mistake: from the last unit to the first
  bool any_order = false;         // recovery takes every record, also behind one that is missing
  bool stale_data = false;        // units that were lost hold what lay there before, not zeros
  bool late_inode = false;        // a name is written before its inode, and recovery keeps it
  bool comes_back_empty = false;  // recovery starts anew if there is anything to recover
  bool forgets_renames = false;   // fsync of a file keeps its name, but no rename
  bool forgets_dirs = false;      // fsync of a directory does nothing
  bool half_exchange = false;     // each entry of an exchange is a record of its own
  bool keeps_punched = false;     // what a punched hole held stays on the disk
  OpSet forgets = {};             // these calls do nothing
  // With kEarlierCalls an op that changes something flushes what came before it and says that this is stable,
  // with kThisCallToo it says so of itself, which is written through; too early (a mistake): before the
  // flush.
  Stable says = Stable::kNothing;
  bool says_too_early = false;
};

// What it says of itself.
struct Claim {
  Contract contract = Contract::kFsync;
  bool sync_mount = false;
  bool fsync_names = false;
  bool split_writes = false;
  OpSet durable = {};
  bool retries_sync = true;
  OpSet more = {};  // further ops that it has
};

class ToyFs : public Target, public SavesMemory {
 public:
  static constexpr uint32_t kBlockSize = 512;

  ToyFs(const Habits& habits, const Claim& claim) : habits_(habits), claim_(claim) {}

  SavesMemory* saves_memory() override { return this; }

  int format(Media& disk) override {
    Record record;
    record.generation = 1;
    record.put(facts_of(Tree()));
    disk_ = &disk;
    return write(1, record), flush(), 0;
  }

  int mount(Media& disk) override {
    disk_ = &disk;
    memory_ = Memory();
    failed_ = false;
    Record best;
    for (const uint64_t at : {0, 1}) {
      const Record record = read(at);
      if (record.magic == kMagic && record.generation > best.generation) best = record;
    }
    if (best.generation == 0) return EIO;
    memory_.generation = best.generation;
    std::map<uint32_t, Fact> facts;
    best.put_over(facts);
    std::map<uint8_t, Record> records;
    const size_t found = read_log(2, !habits_.any_order, records) + read_log(2 + kLog, false, records);
    for (const auto& [order, record] : records) record.put_over(facts);
    if (found != 0 && habits_.comes_back_empty) facts.clear();
    build(facts);
    memory_.mounted = true;
    if (!failed_ && found != 0 && !memory_.broken) checkpoint();
    return failed_ ? EIO : 0;
  }

  int unmount() override {
    // One that gives up what it could not write does not get it back by unmounting.
    failed_ = false;
    if (habits_.on_error == OnError::kDrops)
      keep([](const Fact&) { return true; });
    else
      checkpoint();
    return power_cut(), failed_ ? EIO : 0;
  }
  void power_cut() override { memory_ = Memory(); }

  OpResult apply(const Op& op) override {
    Tree after = memory_.tree;
    const OpResult result = sisyfs::apply(op, after);
    if (result.error != 0) return result;
    const Memory memory = memory_;
    failed_ = false;
    // Two files that are equal are exchanged too.
    const bool changes = !(after == memory_.tree) || op.kind == OpKind::kExchange;
    if (changes) {
      const Tree before = std::exchange(memory_.tree, std::move(after));
      for (const std::vector<Fact>& record : records_of(op, before)) note(op, record);
    }
    const bool forgotten = habits_.forgets.has(op.kind);
    static constexpr OpSet kAll(OpKind::kSync, OpKind::kSyncfs, OpKind::kCommit);
    static constexpr OpSet kFileOnly(OpKind::kFsync, OpKind::kFdatasync, OpKind::kWriteSync, OpKind::kMsync);
    if (kAll.has(op.kind) && !forgotten) keep([](const Fact&) { return true; });
    if (kFileOnly.has(op.kind)) keep_file(op, forgotten);
    if (!failed_ || habits_.on_error == OnError::kNothing) return result;
    // What was written of it will be written over.
    const std::vector<Fact> left = std::exchange(memory_, memory).waiting;
    if (habits_.on_error == OnError::kDrops && !changes) give_up(op, left);
    return OpResult::of(EIO);
  }

  Walk walk() override {
    Walk walk;
    walk.tree = memory_.tree;
    walk.where = Path("/");
    walk.error = memory_.broken ? EIO : 0;
    return walk;
  }

  Snapshot save() const override {
    if (!memory_.mounted) return Snapshot();
    const std::vector<Fact> facts = facts_of(memory_.tree);
    const uint64_t rest[] = {memory_.generation, memory_.records, memory_.data_records, memory_.broken};
    return Snapshot(
        memory_, digest_at(1, digest_of(facts.data(), facts.size() * sizeof(Fact))) +
                     digest_at(2, digest_of(memory_.waiting.data(), memory_.waiting.size() * sizeof(Fact))) +
                     digest_at(3, digest_of(rest, sizeof rest)));
  }
  void load(const Snapshot& snapshot, Media& disk) override {
    disk_ = &disk;
    memory_ = snapshot.empty() ? Memory() : snapshot.as<Memory>();
  }

 private:
  static constexpr uint32_t kMagic = 0x746f7921;
  enum Kind : uint8_t { kInode = 1, kEntry, kData };
  enum Type : uint8_t { kGone, kFile, kDirectory, kRenamed };

  struct Fact {
    uint8_t kind = 0;
    uint8_t of = 0;      // an inode; of an entry the directory
    uint8_t at = 0;      // of an entry its name, of data its unit
    uint8_t type = 0;    // of an inode; kRenamed for an entry that a rename has changed
    uint32_t value = 0;  // the size of an inode, the inode of an entry, the bytes of a unit; 0: none

    uint32_t key() const { return uint32_t{kind} << 16 | uint32_t{of} << 8 | at; }
    friend bool operator==(const Fact&, const Fact&) = default;
  };
  struct Record {
    uint32_t magic = 0;
    uint16_t generation = 0;
    uint8_t count = 0;
    uint8_t order = 0;  // in both logs
    std::array<Fact, 63> facts{};

    void put(std::span<const Fact> from) {
      SISYFS_ASSERT(from.size() <= facts.size(), "a toy has few files");
      magic = kMagic;
      count = static_cast<uint8_t>(from.size());
      std::copy(from.begin(), from.end(), facts.begin());
    }
    void put_over(std::map<uint32_t, Fact>& known) const {
      for (uint8_t i = 0; i < count; ++i) known[facts[i].key()] = facts[i];
    }
  };
  static_assert(sizeof(Record) == kBlockSize);

  struct Memory {
    bool mounted = false;
    bool broken = false;  // a name leads nowhere
    uint16_t generation = 0;
    uint16_t records = 0, data_records = 0;
    Tree tree;
    std::vector<Fact> waiting;  // changes that were not written, with When::kAsked
  };

  static std::vector<Fact> facts_of(const Tree& tree) {
    std::map<uint32_t, Fact> facts;
    const auto add = [&](const Fact& fact) { facts[fact.key()] = fact; };
    for (uint32_t id = 0; id < tree.node_limit(); ++id) {
      if (!tree.has_node(NodeId{id})) continue;
      const Tree::Node& node = tree.node(NodeId{id});
      const auto inode = static_cast<uint8_t>(tree.birth(NodeId{id}));
      const bool directory = node.type == FileType::kDirectory;
      add({kInode, inode, 0, directory ? kDirectory : kFile, static_cast<uint32_t>(node.data.size())});
      for (uint8_t unit = 0; !directory && unit * kUnit < node.data.size(); ++unit) {
        uint32_t bytes = 0;
        node.data.read(unit * kUnit, std::as_writable_bytes(std::span(&bytes, 1)));
        if (bytes != 0) add({kData, inode, unit, 0, bytes});
      }
      if (!directory) continue;
      for (const Tree::Entry& e : tree.children(node))
        add({kEntry, inode, static_cast<uint8_t>(e.name()[0]), 0, tree.birth(e.node)});
    }
    std::vector<Fact> out;
    for (const auto& [key, fact] : facts) out.push_back(fact);
    return out;
  }

  static std::vector<Fact> changes(const std::vector<Fact>& before, const std::vector<Fact>& after) {
    std::map<uint32_t, Fact> out;
    for (const Fact& fact : before) out[fact.key()] = {fact.kind, fact.of, fact.at, kGone, 0};
    for (const Fact& fact : after) out[fact.key()] = fact;
    for (const Fact& fact : before) {
      if (const auto at = out.find(fact.key()); at->second == fact) out.erase(at);
    }
    std::vector<Fact> changed;
    for (const auto& [key, fact] : out) changed.push_back(fact);
    return changed;
  }

  // The tree of these facts, and with the numbers that its inodes have from now on.
  void build(const std::map<uint32_t, Fact>& facts) {
    memory_.tree = Tree();
    std::map<uint32_t, NodeId> known;
    build(facts, 0, kRootNode, known);
  }
  void build(const std::map<uint32_t, Fact>& facts, uint32_t directory, NodeId to,
             std::map<uint32_t, NodeId>& known) {
    for (const auto& [key, entry] : facts) {
      if (entry.kind != kEntry || entry.of != directory || entry.value == 0) continue;
      const std::string_view name(reinterpret_cast<const char*>(&entry.at), 1);
      const auto inode = facts.find(uint32_t{kInode} << 16 | entry.value << 8);
      if (inode == facts.end() || inode->second.type == kGone) {
        memory_.broken = memory_.broken || habits_.late_inode;
        continue;
      }
      const bool is_directory = inode->second.type == kDirectory;
      if (const auto again = known.find(entry.value); again != known.end()) {
        if (!is_directory) memory_.tree.add_name(again->second, to, name);
        continue;
      }
      const NodeId node = memory_.tree.make(to, name, is_directory ? FileType::kDirectory : FileType::kFile);
      known[entry.value] = node;
      if (is_directory)
        build(facts, entry.value, node, known);
      else
        build_data(facts, inode->second, node);
    }
  }
  void build_data(const std::map<uint32_t, Fact>& facts, const Fact& inode, NodeId node) {
    memory_.tree.resize(node, inode.value);
    for (uint32_t unit = 0; unit * kUnit < inode.value; ++unit) {
      const auto data = facts.find(uint32_t{kData} << 16 | uint32_t{inode.of} << 8 | unit);
      uint32_t bytes = data == facts.end() ? 0 : data->second.value;
      if (data == facts.end() && habits_.stale_data) bytes = 0x5a5a5a5a;
      if (bytes != 0) memory_.tree.write(node, unit * kUnit, std::as_bytes(std::span(&bytes, 1)));
    }
  }

  Record read(uint64_t at) {
    Record record;
    if (disk_->read(BlockAddress(at), std::as_writable_bytes(std::span(&record, 1))) != IoStatus::kOk)
      failed_ = true;
    return record;
  }
  void write(uint64_t at, const Record& record) {
    const std::span<const Record> bytes(&record, 1);
    if (disk_->write(BlockAddress(at), std::as_bytes(bytes)) != IoStatus::kOk) failed_ = true;
  }
  void flush() {
    if (disk_->flush() != IoStatus::kOk) failed_ = true;
  }

  // The records of a log; how many there are, also behind a gap: they must not be there when it is filled.
  size_t read_log(uint64_t first, bool stop_at_gap, std::map<uint8_t, Record>& records) {
    size_t found = 0;
    bool whole = true;
    for (uint64_t i = 0; i < kLog; ++i) {
      const Record record = read(first + i);
      const bool there = record.magic == kMagic && record.generation == memory_.generation;
      whole = whole && there;
      if (!there) continue;
      ++found;
      if (whole || !stop_at_gap) records[record.order] = record;
    }
    return found;
  }

  // Everything at once; the logs begin anew.
  void checkpoint() {
    std::map<uint32_t, Fact> facts;
    for (const Fact& fact : facts_of(memory_.tree)) facts[fact.key()] = fact;
    build(facts);
    Record record;
    record.put(facts_of(memory_.tree));
    record.generation = ++memory_.generation;
    write(record.generation % 2, record);
    flush();
    memory_.records = memory_.data_records = 0;
    memory_.waiting.clear();
  }

  void append(uint16_t& count, uint64_t first, std::span<const Fact> facts) {
    if (facts.empty()) return;
    Record record;
    record.put(facts);
    record.generation = memory_.generation;
    record.order = static_cast<uint8_t>(memory_.records + memory_.data_records);
    write(first + count++, record);
  }

  void issue(const std::vector<Fact>& facts) {
    if (memory_.records + 2 > kLog || memory_.data_records + 2 > kLog) return checkpoint();
    std::vector<Fact> rest;
    for (const Fact& fact : facts) {
      const bool apart = habits_.torn_data && fact.kind == kData && fact.value != 0;
      if (apart)
        append(memory_.data_records, 2 + kLog, std::span(&fact, 1));
      else
        rest.push_back(fact);
    }
    if (!habits_.late_inode) return append(memory_.records, 2, rest);
    const auto inodes =
        std::stable_partition(rest.begin(), rest.end(), [](const Fact& f) { return f.kind == kEntry; });
    append(memory_.records, 2, {rest.begin(), inodes});
    append(memory_.records, 2, {inodes, rest.end()});
  }

  // The facts that the op changed, as records: one, or one for each unit of a write.
  std::vector<std::vector<Fact>> records_of(const Op& op, const Tree& before) const {
    std::vector<Fact> facts = facts_of(before);
    std::vector<std::vector<Fact>> records;
    const auto add = [&](const Tree& reached) {
      std::vector<Fact> next = facts_of(reached);
      records.push_back(changes(facts, next));
      facts = std::move(next);
    };
    if (habits_.split_writes && !habits_.backwards) each_part(op, before, kUnit, add);
    add(memory_.tree);
    if (habits_.half_exchange && op.kind == OpKind::kExchange && records[0].size() > 1)
      records = {{records[0].begin(), records[0].begin() + 1}, {records[0].begin() + 1, records[0].end()}};
    // Backwards: the size with the last unit, then the unit before it, ...
    const bool backwards = habits_.backwards && kWriteOps.has(op.kind);
    while (backwards && records.back().size() > 1 &&
           records.back()[records.back().size() - 2].kind == kData) {
      std::vector<Fact>& last = records.back();
      std::vector<Fact> rest;
      for (const Fact& fact : last)
        if (fact.kind == kData && fact.at != last.back().at) rest.push_back(fact);
      std::erase_if(last, [&](const Fact& f) { return f.kind == kData && f.at != last.back().at; });
      records.push_back(std::move(rest));
    }
    return records;
  }

  void note(const Op& op, std::vector<Fact> changed) {
    if (habits_.keeps_punched && op.kind == OpKind::kPunchHole)
      std::erase_if(changed, [](const Fact& f) { return f.kind == kData && f.value == 0; });
    if (habits_.when == When::kAsked) {
      remember(op, changed);
      return habits_.at_once.has(op.kind) ? keep_changes(changed) : void();
    }
    // Where records come back in any order, what takes a name away waits for what came before it, and what
    // comes after it waits in turn: otherwise a file would be left with no name at all.
    static constexpr OpSet kTakesName(OpKind::kUnlink, OpKind::kRmdir, OpKind::kRename, OpKind::kExchange,
                                      OpKind::kRenameNew);
    const bool takes_name = kTakesName.has(op.kind);
    if (habits_.says == Stable::kEarlierCalls) flush_and_say();
    if (habits_.any_order && takes_name) flush();
    issue(changed);
    if (habits_.says == Stable::kThisCallToo) return flush_and_say();
    if (habits_.when == When::kThrough || (habits_.any_order && takes_name)) flush();
  }

  void flush_and_say() {
    if (habits_.says_too_early) disk_->say_stable(habits_.says);
    flush();
    if (!habits_.says_too_early) disk_->say_stable(habits_.says);
  }

  // Only these facts are left to be written. Where fsync of a file failed, what is of other files is kept.
  void give_up(const Op& op, const std::vector<Fact>& left) {
    Stat stat;
    const bool of_all = op.kind == OpKind::kSync || memory_.tree.stat(op.path, &stat) != 0;
    std::erase_if(memory_.waiting, [&](const Fact& f) {
      const bool others = f.kind != kEntry && !of_all && f.of != memory_.tree.birth(stat.node);
      return !others && std::find(left.begin(), left.end(), f) == left.end();
    });
  }

  // One that gives up what it could not write does not know whether the inode of what it changes was written.
  void add_inodes(std::vector<Fact>& changed) const {
    for (const Fact& inode : facts_of(memory_.tree)) {
      const auto is_of = [&](const Fact& f) {
        return f.kind == kEntry ? f.value == inode.of : f.of == inode.of;
      };
      const auto is_it = [&](const Fact& f) { return f.key() == inode.key(); };
      if (inode.kind == kInode && std::any_of(changed.begin(), changed.end(), is_of) &&
          std::none_of(changed.begin(), changed.end(), is_it))
        changed.push_back(inode);
    }
  }

  void remember(const Op& op, std::vector<Fact> changed) {
    if (habits_.on_error == OnError::kDrops) add_inodes(changed);
    for (Fact fact : changed) {
      if (op.kind == OpKind::kRename && fact.kind == kEntry) fact.type = kRenamed;
      // A rename that is forgotten does not take along what was there before it.
      std::erase_if(memory_.waiting, [&](const Fact& f) {
        return f.key() == fact.key() && (f.type == kRenamed) == (fact.type == kRenamed);
      });
      memory_.waiting.push_back(fact);
    }
  }

  // Makes durable what an op has changed. Names are kept all at once, with all of the files that they lead
  // to.
  void keep_changes(const std::vector<Fact>& changed) {
    const bool names =
        std::any_of(changed.begin(), changed.end(), [](const Fact& c) { return c.kind == kEntry; });
    std::vector<uint32_t> inodes;
    for (const Fact& fact : memory_.waiting)
      if (names && fact.kind == kEntry) inodes.push_back(fact.value);
    keep([&](const Fact& fact) {
      if (fact.kind == kEntry) return names;
      if (std::find(inodes.begin(), inodes.end(), fact.of) != inodes.end()) return true;
      return std::any_of(changed.begin(), changed.end(),
                         [&](const Fact& c) { return c.key() == fact.key(); });
    });
  }

  // Makes durable what `wanted` says.
  template <class Wanted>
  void keep(Wanted wanted) {
    if (habits_.when != When::kAsked) return flush();
    std::vector<Fact> now, later;
    for (const Fact& fact : memory_.waiting) (wanted(fact) ? now : later).push_back(fact);
    memory_.waiting = later;
    if (!now.empty()) issue(now);
    flush();
  }

  void keep_file(const Op& op, bool forgotten) {
    Stat stat;
    if (memory_.tree.stat(op.path, &stat) != 0) return;
    const bool directory = stat.type == FileType::kDirectory;
    if (directory ? habits_.forgets_dirs || claim_.contract == Contract::kNames : forgotten) return;
    const uint32_t inode = memory_.tree.birth(stat.node);
    // Names are kept all at once, with the inodes that they lead to, so that a rename is never cut in two.
    const bool data_only = op.kind == OpKind::kFdatasync || op.kind == OpKind::kMsync;
    const bool names = directory || (claim_.fsync_names && !data_only);
    keep([&](const Fact& fact) {
      if (fact.kind == kEntry)
        return names && (directory || !habits_.forgets_renames || fact.type != kRenamed);
      if (fact.kind == kInode && names) return true;
      if (directory || fact.of != inode) return false;
      if (fact.kind == kInode || op.kind != OpKind::kWriteSync) return true;
      if (claim_.contract == Contract::kNames) return true;
      // Of a write with O_SYNC only what it wrote.
      return fact.at * kUnit >= op.offset && fact.at * kUnit < op.offset + op.length;
    });
  }

  Habits habits_;
  Claim claim_;
  Memory memory_;
  Disk* disk_ = nullptr;
  bool failed_ = false;  // the device failed a write or a flush of this op
};

inline TargetKind kind_of(const Habits& habits, const Claim& claim) {
  TargetKind kind;
  kind.ops = OpSet(OpKind::kCreate, OpKind::kMkdir, OpKind::kUnlink, OpKind::kRmdir, OpKind::kRename,
                   OpKind::kLink, OpKind::kWrite, OpKind::kTruncate, OpKind::kRead) |
             OpSet(OpKind::kWriteSync, OpKind::kFsync, OpKind::kFdatasync, OpKind::kSync, OpKind::kRemount) |
             claim.more;
  kind.claims.contract = claim.contract;
  kind.claims.durable = claim.sync_mount ? OpSet::all() : claim.durable;
  kind.claims.retries_sync = claim.retries_sync;
  kind.claims.fsync_names = claim.fsync_names;
  kind.claims.split_writes = claim.split_writes;
  kind.limits.write_unit = kUnit;
  kind.limits.max_file_size = 2 * kUnit;
  kind.disks = {.block_size = ToyFs::kBlockSize, .block_count = BlockCount(2 + 2 * kLog)};
  kind.make = [=] { return std::make_unique<ToyFs>(habits, claim); };
  return kind;
}

}  // namespace sisyfs::toy
