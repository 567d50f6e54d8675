#include "adapters/plugin_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace sisyfs {
namespace {

// What its fsck tells; the text is the plug-in's own.
constexpr ProblemKind kProblems[] = {
    {"P1", "harmless", Severity::kRepairable, "text {0}"},
    {"P2", "lost", Severity::kCritical, "text {0}"},
};

Traits traits_of(const sisyfs_plugin& t, const Geometry& geometry, const PluginClaims& claims) {
  constexpr Contract kContracts[] = {Contract::kAtomic, Contract::kOrdered, Contract::kFsync,
                                     Contract::kStructure};
  const auto promises = [&](uint32_t promise) { return (t.promises & promise) != 0; };
  Traits traits;
  traits.ops = PluginCalls::ops_of(t);
  traits.contract = claims.contract.value_or(kContracts[t.contract]);
  traits.durable_ops = promises(SISYFS_DURABLE_OPS);
  traits.has_fsck = t.fsck != nullptr;
  traits.mount_recovers = promises(SISYFS_MOUNT_RECOVERS) || t.fsck == nullptr;
  traits.limited_space = promises(SISYFS_LIMITED_SPACE);
  traits.fsync_names = promises(SISYFS_FSYNC_NAMES);
  traits.fsync_all = promises(SISYFS_FSYNC_ALL);
  traits.rename_both = promises(SISYFS_RENAME_BOTH);
  traits.block_size = geometry.block_size;
  traits.block_count = geometry.block_count.value;
  traits.erase_blocks = geometry.erase_blocks;
  traits.write_unit = claims.unit;
  if (t.max_files != 0) traits.max_files = t.max_files;
  if (t.max_depth != 0) traits.max_depth = t.max_depth;
  if (t.max_file_size != 0) traits.max_file_size = t.max_file_size;
  traits.problems = kProblems;
  return traits;
}

// A call since mount, the mount included, after those before it.
struct Step {
  std::shared_ptr<const Step> before;
  Op op;  // kRemount stands for the mount
  DiskTape tape;
  Digest digest;  // of all that happened
};
using Past = std::shared_ptr<const Step>;

class PluginTarget : public Target {
 public:
  PluginTarget(std::shared_ptr<PluginHost> host, const PluginClaims& claims)
      : host_(std::move(host)), table_(host_->table()), traits_(traits_of(table_, host_->geometry(), claims)) {}
  ~PluginTarget() override { leave(); }

  const Traits& traits() const override { return traits_; }

  int format(Disk& disk) override {
    enter(&disk);
    return call("format", [&] { return table_.format(face()); });
  }

  int mount(Disk& disk) override {
    enter(&disk);
    tape_.clear();
    host_->disk().record(&tape_);
    const int error = raw_mount();
    host_->disk().record(nullptr);
    if (error == 0) remember(Op::of(OpKind::kRemount));
    return error;
  }

  int unmount() override {
    if (!is_here()) return EIO;
    const int error = call("unmount", [&] { return table_.unmount(fs_); });
    forget();
    return error;
  }

  // What is left in memory is given back with no disk to write to.
  void power_cut() override { leave(); }

  OpResult apply(const Op& op) override {
    if (!is_here()) return OpResult::of(EIO);
    tape_.clear();
    host_->disk().record(&tape_);
    const OpResult result = raw_apply(op);
    host_->disk().record(nullptr);
    if (!dead_) remember(op);
    return result;
  }

  Walk walk() override {
    if (!is_here()) return {EIO, Path("/"), {}};
    // What it has read it may know better afterwards.
    walked_ = true;
    announce({});
    Walk out = host_->calls().walk(fs_);
    if (host_->fence().fault() != 0) note_fault(fmt::format("while {} was read", out.where.text()));
    return out;
  }

  void fsck(Disk& disk, FsckMode mode, RepairReport* report) override {
    if (table_.fsck == nullptr) return;
    enter(&disk);
    reporting_ = report;
    report->error = call("fsck", [&] {
      return table_.fsck(face(), mode == FsckMode::kRepair ? 1 : 0, add_problem, this);
    });
  }

  std::string name_block(uint64_t address) const override {
    std::array<char, 80> text{};
    if (table_.name_block == nullptr || dead_) return {};
    int error = 0;
    const bool lived = host_->fence().run(
        [&] { error = table_.name_block(face(), address, text.data(), text.size() - 1); });
    return lived && error == 0 ? text.data() : std::string();
  }

  std::string problem_text(const Problem& problem) const override {
    return fmt::format("{}{}", texts_[static_cast<size_t>(problem.context[0])], problem.repaired ? " (repaired)" : "");
  }

  uint32_t take_faults() override { return std::exchange(faults_, 0); }
  std::string fault_text() const override { return fault_text_; }

  Snapshot save() const override { return past_ == nullptr ? Snapshot() : Snapshot(past_, past_->digest); }

  void load(const Snapshot& snapshot, Disk& disk) override {
    const Past wanted = snapshot.empty() ? nullptr : snapshot.as<Past>();
    if (wanted == nullptr || wanted != past_ || walked_ || !is_here()) {
      leave();
      if (wanted != nullptr) replay(wanted);
    }
    host_->set_guest(this);
    host_->disk().attach(&disk);
  }

 private:
  const sisyfs_disk* face() const { return host_->disk().face(); }
  bool is_here() const { return host_->guest() == this && fs_is_mounted_ && !dead_; }

  // Our turn, with nothing mounted.
  void enter(Disk* disk) {
    leave();
    host_->set_guest(this);
    host_->disk().attach(disk);
  }

  // The turn of nobody. What the plug-in still has it gives back, and has no disk to write to.
  void leave() {
    if (host_->guest() == this) {
      host_->disk().attach(nullptr);
      if (fs_is_mounted_ && !dead_) (void)host_->fence().run([&] { (void)table_.unmount(fs_); });
      host_->set_guest(nullptr);
    }
    forget();
    dead_ = false;
  }

  void forget() {
    fs_is_mounted_ = false;
    fs_ = nullptr;
    past_ = nullptr;
    walked_ = false;
  }

  template <class Call>
  int call(const char* name, Call&& code) {
    int result = 0;
    announce(digest_of(name, std::strlen(name)));
    if (!host_->fence().run([&] { result = code(); })) return note_fault(name), EIO;
    return result < 0 ? -result : 0;
  }

  // Calls with the same past begin in the same way.
  void announce(const Digest& what) {
    const Digest all = digest_at(1, what) + digest_at(2, past_ == nullptr ? Digest() : past_->digest);
    host_->fence().announce(all.lo | 1);
  }

  int raw_mount() {
    fs_ = nullptr;
    const int error = call("mount", [&] { return table_.mount(face(), &fs_); });
    fs_is_mounted_ = error == 0;
    return error;
  }

  OpResult raw_apply(const Op& op) {
    OpResult result;
    host_->calls().prepare(op);
    announce(digest_of(&op, sizeof op));
    if (host_->fence().run([&] { result = host_->calls().apply(fs_, op); })) return result;
    note_fault(to_text(op));
    return OpResult::of(EIO);
  }

  void note_fault(std::string_view what) {
    const uint32_t fault = host_->fence().fault();
    faults_ |= fault;
    fault_text_ = fmt::format("{}: {}", what, host_->fence().text());
    dead_ = true;
    fs_is_mounted_ = false;
  }

  void remember(const Op& op) {
    auto step = std::make_shared<Step>();
    step->before = past_;
    step->op = op;
    step->digest = digest_at(past_ == nullptr ? 1 : 2, past_ == nullptr ? Digest() : past_->digest) +
                   digest_at(3, digest_of(&op, sizeof op)) + digest_at(4, tape_.changes) +
                   digest_at(5, digest_of(tape_.answers.data(), tape_.answers.size()));
    step->tape = tape_;
    past_ = std::move(step);
  }

  // Calls again what was called, with the answers that the disk gave then.
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
      host_->set_trouble(fmt::format(
          "the plug-in is not deterministic: {} was done again, with the same past and the same disk, and access "
          "{} to the disk was another one",
          what, differs));
      dead_ = true;
    }
    past_ = wanted;
    walked_ = false;
  }

  static void add_problem(void* self, int repaired, int lost, const char* text) {
    auto& target = *static_cast<PluginTarget*>(self);
    const size_t length = strnlen(text, 400);
    const Fence::Gate gate(target.host_->fence());
    const std::string_view words(text, length);
    auto at = std::find(target.texts_.begin(), target.texts_.end(), words);
    if (at == target.texts_.end()) at = target.texts_.insert(at, std::string(words));
    target.reporting_->add(lost != 0 ? 1 : 0, repaired != 0, {at - target.texts_.begin()});
  }

  std::shared_ptr<PluginHost> host_;
  const sisyfs_plugin& table_;
  Traits traits_;
  void* fs_ = nullptr;
  bool fs_is_mounted_ = false;
  bool dead_ = false;  // until load() or power_cut()
  bool walked_ = false;
  Past past_;
  DiskTape tape_;
  uint32_t faults_ = 0;
  std::string fault_text_;
  RepairReport* reporting_ = nullptr;
  std::vector<std::string> texts_;  // of problems
};

}  // namespace

std::unique_ptr<Target> make_plugin_target(std::shared_ptr<PluginHost> host, const PluginClaims& claims) {
  return std::make_unique<PluginTarget>(std::move(host), claims);
}

}  // namespace sisyfs
