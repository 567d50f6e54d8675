#include "adapters/recorded/played_target.h"

#include <cerrno>
#include <optional>
#include <utility>

#include "disk/media.h"

namespace sisyfs {
namespace {

// What is remembered: how much was played, or the memory of the target after a power cut.
struct Memory {
  bool plays = false;
  uint64_t played = 0;
  Snapshot inner;
};

class PlayedTarget : public Target, public SavesMemory, public HasFaults {
 public:
  PlayedTarget(std::shared_ptr<const RecordedLog> log, std::unique_ptr<Target> inner, bool repairs)
      : log_(std::move(log)), inner_(std::move(inner)), memory_(inner_->saves_memory()), repairs_(repairs) {}

  SavesMemory* saves_memory() override { return this; }
  ChecksOffline* checks_offline() override { return inner_->checks_offline(); }
  NamesBlocks* names_blocks() override { return inner_->names_blocks(); }
  HasFaults* has_faults() override { return this; }
  ReachesMarks* reaches_marks() override { return inner_->reaches_marks(); }
  CoversCode* covers_code() override { return inner_->covers_code(); }

  int format(Media& media) override {
    leave();
    media.load(MediaState(log_->start()));
    formatted_ = true;
    return 0;
  }

  int mount(Media& media) override {
    if (!formatted_) return inner_->mount(media);
    formatted_ = false;
    if (const int error = see(log_->begin(), media.state().current, Tree())) return error;
    begin(log_->begin(), media);
    return 0;
  }

  int unmount() override {
    if (!plays_) return inner_->unmount();
    plays_ = false;
    return 0;
  }

  void power_cut() override { leave(); }

  OpResult apply(const Op& op) override {
    if (!plays_) return op.kind == OpKind::kPlay ? OpResult::of(ENOSYS) : inner_->apply(op);
    if (op.kind != OpKind::kPlay || op.offset <= played_ || op.offset > log_->end())
      return OpResult::of(EINVAL);
    log_->play(played_, op.offset, *media_);
    // What does not mount is found as a crash state. Nothing is known of the tree then, so nothing is held to
    // have stayed as it was.
    const Tree* const before = log_->tree(played_);
    if (see(op.offset, media_->state().current, before == nullptr ? Tree() : *before) != 0)
      log_->set_tree(op.offset, Tree());
    played_ = op.offset;
    if (log_->promises(played_)) media_->say_stable(Stable::kThisCallToo);
    return {};
  }

  Walk walk() override {
    if (!plays_) return inner_->walk();
    const Tree* tree = log_->tree(played_);
    return tree == nullptr ? Walk{EIO, Path("/"), {}} : Walk{0, {}, *tree};
  }

  uint32_t take_faults() override {
    HasFaults* const faults = inner_->has_faults();
    return faults == nullptr ? 0 : faults->take_faults();
  }
  std::string fault_text() const override {
    HasFaults* const faults = inner_->has_faults();
    return faults == nullptr ? std::string() : faults->fault_text();
  }
  std::vector<std::string> fault_frames() const override {
    HasFaults* const faults = inner_->has_faults();
    return faults == nullptr ? std::vector<std::string>() : faults->fault_frames();
  }

  Snapshot save() const override {
    if (plays_) return Snapshot(Memory{true, played_, {}}, Digest{played_, 1});
    if (memory_ == nullptr) return {};
    const Snapshot inner = memory_->save();
    if (inner.empty()) return {};
    return Snapshot(Memory{false, 0, inner}, inner.digest());
  }

  void load(const Snapshot& snapshot, Media& media) override {
    const Memory wanted = snapshot.empty() ? Memory() : snapshot.as<Memory>();
    if (wanted.plays) {
      if (!plays_) leave();
      return begin(wanted.played, media);
    }
    plays_ = formatted_ = false;
    if (memory_ != nullptr) return memory_->load(wanted.inner, media);
    inner_->power_cut();
    if (!snapshot.empty()) (void)inner_->mount(media);
  }

 private:
  void begin(uint64_t entry, Media& media) {
    plays_ = true;
    played_ = entry;
    media_ = &media;
  }
  void leave() {
    plays_ = formatted_ = false;
    inner_->power_cut();
  }

  // Notes the tree that is on this disk. An errno, or an OwnError, if it cannot be read.
  int see(uint64_t entry, const Image& disk, const Tree& before) {
    if (log_->tree(entry) != nullptr) return 0;
    seen_ = std::make_unique<Media>(MediaState(disk));
    ChecksOffline* const repair = repairs_ ? inner_->checks_offline() : nullptr;
    report_.clear();
    if (repair != nullptr) repair->fsck(*seen_, FsckMode::kRepair, &report_);
    int error = inner_->mount(*seen_);
    if (error == 0) {
      Walk walk = inner_->walk();
      error = walk.error;
      if (error == 0) log_->set_tree(entry, continued(before, walk.tree));
    }
    inner_->power_cut();
    if (take_faults() != 0 && error == 0) error = log_->tree(entry) != nullptr ? 0 : EIO;
    return error;
  }

  const std::shared_ptr<const RecordedLog> log_;
  const std::unique_ptr<Target> inner_;
  SavesMemory* const memory_;
  const bool repairs_;
  RepairReport report_;
  std::unique_ptr<Media> seen_;  // the target may refer to it until the next mount
  Media* media_ = nullptr;
  bool formatted_ = false;
  bool plays_ = false;
  uint64_t played_ = 0;
};

}  // namespace

std::unique_ptr<Target> make_played_target(std::shared_ptr<const RecordedLog> log,
                                           std::unique_ptr<Target> inner, bool repairs) {
  return std::make_unique<PlayedTarget>(std::move(log), std::move(inner), repairs);
}

}  // namespace sisyfs
