#include "adapters/plugin/plugin_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "adapters/plugin/source_location.h"
#include "disk/media.h"

namespace sisyfs {
namespace {

// The problems that the fsck of a plug-in reports; their texts come from the plug-in. Each is harmless or
// not. Those of the catalogue are told by its code or name in front of the text.
constexpr std::pair<const char*, const char*> kNamedProblems[] = {
    {"M1", "dead-block"},  {"M2", "lost-block"},  {"M3", "double-pointer"}, {"M4", "content-error"},
    {"M5", "dead-node"},   {"M6", "shared-node"}, {"M7", "lost-node"},      {"M8", "bad-entry"},
    {"M9", "bad-summary"}, {"M10", "lost-root"},
};
constexpr auto kProblems = [] {
  std::array<ProblemKind, 2 + 2 * std::size(kNamedProblems)> all{};
  all[0] = {"P1", "harmless", Severity::kRepairable, "text {0}"};
  all[1] = {"P2", "lost", Severity::kCritical, "text {0}"};
  size_t next = 2;
  for (const auto& [code, name] : kNamedProblems)
    for (const Severity severity : {Severity::kRepairable, Severity::kCritical})
      all[next++] = {code, name, severity, "text {0}"};
  return all;
}();
constexpr size_t kFirstNamed = 2;

// The problem of the catalogue that a text begins with, "lost-block: ..." or "M2: ...", and the text behind
// it. Without one, the position of P1, and the whole text.
std::pair<uint16_t, std::string_view> named_problem(std::string_view text) {
  const size_t end = text.find(": ");
  if (end == text.npos) return {0, text};
  const std::string_view word = text.substr(0, end);
  for (size_t kind = kFirstNamed; kind < std::size(kProblems); kind += 2)
    if (word == kProblems[kind].code || word == kProblems[kind].name)
      return {static_cast<uint16_t>(kind), text.substr(end + 2)};
  return {0, text};
}

constexpr uint32_t kMostProblems = 100'000;  // of one fsck

// A snapshot by pages.
struct Pages {
  MemoryImage image;
  void* fs;
  bool mounted;
  PluginHandles handles;
};

// A snapshot by replay: a call, linked to the calls before it, back to the mount.
struct Step {
  std::shared_ptr<const Step> before;
  Op op;  // kRemount stands for the mount
  DiskTape tape;
  Digest digest;  // of all that happened
};
using Past = std::shared_ptr<const Step>;

// An Op has bytes between its fields, whose content is undefined.
Digest digest_of_op(const Op& op) {
  struct {
    uint64_t head, offset;
    Path path, other;
  } const packed{static_cast<uint64_t>(op.kind) | uint64_t{op.version} << 8 | uint64_t{op.length} << 32,
                 op.offset, op.path, op.other};
  static_assert(sizeof packed == 2 * sizeof(uint64_t) + 2 * sizeof(Path));
  return digest_of(&packed, sizeof packed);
}

class PluginTarget : public Target,
                     public SavesMemory,
                     public ChecksOffline,
                     public NamesBlocks,
                     public FailsAllocations,
                     public HasFaults,
                     public CoversCode {
 public:
  explicit PluginTarget(std::shared_ptr<PluginHost> host)
      : host_(std::move(host)), memory_(host_->memory()), table_(host_->table()) {}
  ~PluginTarget() override { leave(); }

  SavesMemory* saves_memory() override { return this; }
  ChecksOffline* checks_offline() override { return table_.fsck != nullptr ? this : nullptr; }
  NamesBlocks* names_blocks() override { return table_.name_block != nullptr ? this : nullptr; }
  FailsAllocations* fails_allocations() override { return memory_ != nullptr ? this : nullptr; }
  HasFaults* has_faults() override { return this; }
  CoversCode* covers_code() override { return host_->code().namespace_of() != nullptr ? this : nullptr; }

  int format(Media& disk) override {
    enter(&disk);
    const int error = call("format", [&] { return table_.format(face()); });
    fresh_ = false;
    return error;
  }

  int mount(Media& disk) override {
    enter(&disk);
    begin_step();
    const int error = raw_mount();
    end_step(error == 0, Op::of(OpKind::kRemount));
    return error;
  }

  int unmount() override {
    if (!is_here()) return EIO;
    if (handles_.open != 0) return EBUSY;
    const int error = call("unmount", [&] { return table_.unmount(fs_); });
    if (!dead_) look_for_leaks();
    forget();
    return error;
  }

  void power_cut() override { leave(); }

  OpResult apply(const Op& op) override {
    if (!is_here()) return OpResult::of(EIO);
    begin_step();
    const OpResult result = raw_apply(op);
    end_step(!dead_, op);
    return result;
  }

  Walk walk() override {
    if (!is_here()) return {EIO, Path("/"), {}};
    // It may cache what it has read.
    walked_ = true;
    announce({});
    Walk out = host_->calls().walk(fs_, handles_);
    if (host_->fence().fault() != 0) note_fault(fmt::format("while {} was read", out.where.text()));
    return out;
  }

  void fsck(Media& disk, FsckMode mode, RepairReport* report) override {
    enter(&disk);
    reporting_ = report;
    told_ = 0;
    report->error = call(
        "fsck", [&] { return table_.fsck(face(), mode == FsckMode::kRepair ? 1 : 0, add_problem, this); });
    fresh_ = false;
  }

  // Its memory is as before the first call meanwhile: the disk is not mounted there, and the code may have
  // died.
  std::string name_block(uint64_t address, Media& media) const override {
    std::array<char, 80> text{};
    if (memory_ == nullptr && dead_) return {};
    std::optional<MemoryImage> now;
    if (memory_ != nullptr) {
      now = memory_->save();
      memory_->load(host_->fresh());
    }
    Disk* const attached = host_->disk().attached();
    host_->disk().attach(&media);
    int error = 0;
    const bool lived =
        host_->fence().run([&] { error = table_.name_block(face(), address, text.data(), text.size() - 1); });
    host_->disk().attach(attached);
    if (now) memory_->load(*now);
    return lived && error == 0 ? text.data() : std::string();
  }
  std::string describe_write(uint64_t, std::span<const std::byte>) const override { return {}; }

  std::string problem_text(const Problem& problem) const override {
    const ProblemKind& kind = kProblems[problem.kind];
    const std::string name = problem.kind < kFirstNamed ? "" : fmt::format("{} {}: ", kind.code, kind.name);
    return fmt::format("{}{}{}", name, texts_[static_cast<size_t>(problem.context[0])],
                       problem.repaired ? " (repaired)" : "");
  }

  uint32_t take_faults() override { return std::exchange(faults_, 0); }
  std::string fault_text() const override { return fault_text_; }
  std::vector<std::string> fault_frames() const override { return fault_samples_.text(); }

  void fail_allocation(uint32_t number) override {
    sisyfs_arena_control& control = host_->code().namespace_of()->control();
    control.fail_in = number;
    control.failed = 0;
  }
  bool allocation_failed() const override { return host_->code().namespace_of()->control().failed != 0; }

  uint64_t take_new_edges() override { return host_->take_new_edges(); }

  Snapshot save() const override {
    if (memory_ == nullptr) return past_ == nullptr ? Snapshot() : Snapshot(past_, past_->digest);
    if (host_->guest() != this || dead_ || fresh_) return Snapshot();
    Pages pages{memory_->save(), fs_, mounted_, handles_};
    Digest digest =
        digest_at(1, pages.image.digest()) + digest_at(2, Digest{mounted_ ? 1u : 0u, memory_->stable(fs_)});
    for (uint32_t i = 0; i < Tree::kHandles; ++i)
      if (handles_.has(i)) digest += digest_at(0x100 + i, Digest{1, memory_->stable(handles_.all[i])});
    return Snapshot(std::move(pages), digest);
  }

  void load(const Snapshot& snapshot, Media& disk) override {
    if (memory_ != nullptr)
      load_pages(snapshot);
    else
      load_past(snapshot);
    host_->set_guest(this);
    host_->disk().attach(&disk);
  }

 private:
  const sisyfs_disk* face() const { return host_->disk().face(); }
  bool is_here() const { return host_->guest() == this && mounted_ && !dead_; }

  // Takes over the host, with nothing mounted and with this disk.
  void enter(Disk* disk) {
    if (mounted_ || dead_ || host_->guest() != this) leave();
    if (memory_ != nullptr && !fresh_ && !keeps_) memory_->load(host_->fresh());
    fresh_ = memory_ != nullptr && !keeps_;
    host_->set_guest(this);
    host_->disk().attach(disk);
  }

  // Forgets everything. Without saved pages the plug-in is unmounted, to free its memory, with no disk to
  // write to.
  void leave() {
    if (host_->guest() == this) {
      host_->disk().attach(nullptr);
      if (memory_ == nullptr && mounted_ && !dead_)
        (void)host_->fence().run([&] {
          for (uint32_t i = 0; i < Tree::kHandles; ++i)
            if (handles_.has(i)) (void)table_.close(fs_, handles_.all[i]);
          (void)table_.unmount(fs_);
        });
      host_->set_guest(nullptr);
    }
    forget();
    dead_ = fresh_ = keeps_ = false;
  }

  // Nothing is mounted any more. The rest of the memory of the code stays.
  void forget() {
    mounted_ = false;
    fs_ = nullptr;
    handles_ = {};
    past_ = nullptr;
    walked_ = false;
    keeps_ = !dead_;
  }

  template <class Call>
  int call(const char* name, Call&& code) {
    int result = 0;
    announce(digest_of(name, std::strlen(name)));
    if (!host_->fence().run([&] { result = code(); })) return note_fault(name), EIO;
    look_at_memory(name);
    return errno_of(result);
  }

  // Equal calls after equal earlier calls get equal numbers.
  void announce(const Digest& what) {
    const Digest all = digest_at(1, what) + digest_at(2, past_ == nullptr ? Digest() : past_->digest);
    host_->fence().announce(all.lo | 1);
  }

  int raw_mount() {
    fs_ = nullptr;
    handles_ = {};
    const int error = call("mount", [&] { return table_.mount(face(), &fs_); });
    mounted_ = error == 0;
    keeps_ = fresh_ = false;
    return error;
  }

  OpResult raw_apply(const Op& op) {
    OpResult result;
    host_->calls().prepare(op);
    announce(digest_of_op(op));
    if (host_->fence().run([&] { result = host_->calls().apply(fs_, op, handles_); })) {
      look_at_memory("a call");
      return result;
    }
    note_fault(to_text(op));
    return OpResult::of(EIO);
  }

  void note_fault(std::string_view what) {
    set_fault(host_->fence().fault(), fmt::format("{}: {}", what, host_->fence().text()));
    fault_samples_ = host_->fence().samples();
    dead_ = true;
    mounted_ = false;
  }

  void set_fault(uint32_t fault, std::string text) {
    faults_ |= fault;
    fault_text_ = std::move(text);
    fault_samples_.clear();
  }

  // A fault if the memory limit was exceeded.
  void look_at_memory(std::string_view what) {
    if (memory_ == nullptr) return;
    sisyfs_arena_control& control = host_->code().namespace_of()->control();
    if (control.over_limit == 0) return;
    control.over_limit = 0;
    set_fault(kTooMuchMemory, fmt::format("{} wants more than {} bytes of memory", what, control.limit));
    dead_ = true;
    mounted_ = false;
  }

  void look_for_leaks() {
    if (memory_ == nullptr) return;
    const PluginNamespace& space = *host_->code().namespace_of();
    const uint64_t left = space.control().state->live_bytes, kept = host_->kept_bytes();
    if (left <= kept) return;
    const void* caller = nullptr;
    for (const sisyfs_arena_block& block : space.live_blocks())
      if (block.caller != nullptr) caller = block.caller;
    std::string where = source_location(call_before(caller));
    if (!where.empty()) where = ", the last of them allocated by " + where;
    set_fault(kLeaked,
              fmt::format("after unmount {} bytes are still allocated{}{}", left - kept,
                          kept == 0 ? "" : fmt::format(", beside {} that it always keeps", kept), where));
  }

  // For replay, all disk accesses are recorded.
  void begin_step() {
    if (memory_ != nullptr) return;
    tape_.clear();
    host_->disk().record(&tape_);
  }

  void end_step(bool good, const Op& op) {
    if (memory_ != nullptr) return;
    host_->disk().record(nullptr);
    if (!good) return;
    auto step = std::make_shared<Step>();
    step->before = past_;
    step->op = op;
    step->digest = digest_at(past_ == nullptr ? 1 : 2, past_ == nullptr ? Digest() : past_->digest) +
                   digest_at(3, digest_of_op(op)) + digest_at(4, tape_.changes) +
                   digest_at(5, digest_of(tape_.answers.data(), tape_.answers.size()));
    step->tape = tape_;
    past_ = std::move(step);
  }

  void load_pages(const Snapshot& snapshot) {
    forget();
    dead_ = false;
    fresh_ = snapshot.empty();
    keeps_ = !fresh_;
    if (fresh_) return memory_->load(host_->fresh());
    const auto& pages = snapshot.as<Pages>();
    memory_->load(pages.image);
    fs_ = pages.fs;
    mounted_ = pages.mounted;
    handles_ = pages.handles;
  }

  void load_past(const Snapshot& snapshot) {
    const Past wanted = snapshot.empty() ? nullptr : snapshot.as<Past>();
    if (wanted != nullptr && wanted == past_ && !walked_ && is_here()) return;
    leave();
    if (wanted != nullptr) replay(wanted);
  }

  // Makes the calls again, with the answers that the disk gave then.
  void replay(const Past& wanted) {
    std::vector<const Step*> steps;
    for (const Step* step = wanted.get(); step != nullptr; step = step->before.get()) steps.push_back(step);
    host_->set_guest(this);
    for (size_t i = steps.size(); i-- > 0 && !dead_;) {
      const Step& step = *steps[i];
      host_->disk().replay(step.tape);
      if (step.op.kind == OpKind::kRemount)
        (void)raw_mount();
      else
        (void)raw_apply(step.op);
      uint32_t differs = 0;
      if (host_->disk().stop_replay(&differs) && !dead_) continue;
      const std::string what = step.op.kind == OpKind::kRemount ? "mount" : "'" + to_text(step.op) + "'";
      host_->set_trouble(
          fmt::format("the plug-in is not deterministic: {} was done again, with the same past and the same "
                      "disk, and access {} to the disk was another one",
                      what, differs));
      dead_ = true;
    }
    past_ = wanted;
    walked_ = false;
  }

  static void add_problem(void* self, int repaired, int lost, const char* text) {
    auto& target = *static_cast<PluginTarget*>(self);
    const size_t length = strnlen(text, 400);
    if (++target.told_ > kMostProblems)
      target.host_->fence().die(kHung, "its fsck tells problems without end");
    const Fence::Gate gate(target.host_->fence());
    const auto [kind, words] = named_problem({text, length});
    auto at = std::find(target.texts_.begin(), target.texts_.end(), words);
    if (at == target.texts_.end()) at = target.texts_.insert(at, std::string(words));
    target.reporting_->add(static_cast<uint16_t>(kind + (lost != 0 ? 1 : 0)), repaired != 0,
                           {at - target.texts_.begin()});
  }

  std::shared_ptr<PluginHost> host_;
  PluginMemory* memory_;  // null: snapshots by replay
  const sisyfs_plugin& table_;
  void* fs_ = nullptr;
  PluginHandles handles_;
  bool mounted_ = false;
  bool dead_ = false;    // it had a fault; until load() or power_cut()
  bool fresh_ = false;   // its memory is as before the first call
  bool keeps_ = false;   // it was unmounted, and its memory is kept
  bool walked_ = false;  // since the last step
  Past past_;
  DiskTape tape_;
  uint32_t faults_ = 0;
  std::string fault_text_;
  StackSamples fault_samples_;
  RepairReport* reporting_ = nullptr;
  std::vector<std::string> texts_;  // of problems
  uint32_t told_ = 0;               // problems of this fsck
};

}  // namespace

bool takes_any_byte(const sisyfs_plugin& table) {
  return table.write_unit <= 1 || (table.promises & SISYFS_ANY_BYTE) != 0;
}

namespace {

// What the plug-in says to be durable when it returns.
OpSet durable_ops(const sisyfs_plugin& table) {
  static constexpr std::pair<sisyfs_call, OpSet> kCalls[] = {
      {SISYFS_CALL_CREATE, OpSet(OpKind::kCreate)},
      {SISYFS_CALL_MKDIR, OpSet(OpKind::kMkdir)},
      {SISYFS_CALL_UNLINK, OpSet(OpKind::kUnlink)},
      {SISYFS_CALL_RMDIR, OpSet(OpKind::kRmdir)},
      {SISYFS_CALL_RENAME, OpSet(OpKind::kRename)},
      {SISYFS_CALL_LINK, OpSet(OpKind::kLink)},
      {SISYFS_CALL_SYMLINK, OpSet(OpKind::kSymlink)},
      {SISYFS_CALL_WRITE, OpSet(OpKind::kWrite, OpKind::kAppend)},
      {SISYFS_CALL_TRUNCATE, OpSet(OpKind::kTruncate)},
      {SISYFS_CALL_SETXATTR, OpSet(OpKind::kSetxattr)},
      {SISYFS_CALL_REMOVEXATTR, OpSet(OpKind::kRemovexattr)},
      {SISYFS_CALL_CHMOD, OpSet(OpKind::kChmod)},
  };
  if ((table.promises & SISYFS_DURABLE_OPS) != 0) return OpSet::all();
  OpSet ops;
  for (const auto& [call, kinds] : kCalls)
    if ((table.durable_calls & call) != 0) ops = ops | kinds;
  return ops;
}

}  // namespace

TargetKind plugin_kind(std::shared_ptr<PluginHost> host, const PluginClaims& claims) {
  constexpr Contract kContracts[] = {Contract::kAtomic, Contract::kOrdered, Contract::kFsync,
                                     Contract::kStructure, Contract::kNames};
  const sisyfs_plugin& table = host->table();
  const auto promises = [&](uint32_t promise) { return (table.promises & promise) != 0; };
  TargetKind kind;
  kind.ops = PluginCalls::ops_of(table);
  kind.claims = {.contract = claims.contract.value_or(kContracts[table.contract]),
                 .durable = durable_ops(table),
                 .fsync_names = promises(SISYFS_FSYNC_NAMES),
                 .fsync_all = promises(SISYFS_FSYNC_ALL),
                 .rename_both = promises(SISYFS_RENAME_BOTH),
                 .mount_recovers = promises(SISYFS_MOUNT_RECOVERS) || table.fsck == nullptr,
                 .limited_space = promises(SISYFS_LIMITED_SPACE),
                 .split_writes = promises(SISYFS_SPLIT_WRITES),
                 .stale_data = promises(SISYFS_STALE_DATA),
                 .retries_sync = promises(SISYFS_RETRIES_SYNC)};
  kind.limits.write_unit = claims.unit;
  kind.limits.any_byte = takes_any_byte(table);
  if (table.max_name != 0) kind.limits.max_name = table.max_name;
  kind.limits.whole_unit = table.whole_unit;
  if (table.max_files != 0) kind.limits.max_files = table.max_files;
  if (table.max_depth != 0) kind.limits.max_depth = table.max_depth;
  if (table.max_file_size != 0) kind.limits.max_file_size = table.max_file_size;
  kind.words.problems = kProblems;
  kind.disks = host->geometry();
  kind.has_fsck = table.fsck != nullptr;
  kind.faults = kDied | kHung | kLeaked | kHeapMisused | kTooMuchMemory;
  kind.isolation = Isolation::kProcess;
  kind.snapshots = host->memory_text();
  kind.make = [host = std::move(host)] { return std::make_unique<PluginTarget>(host); };
  return kind;
}

}  // namespace sisyfs
