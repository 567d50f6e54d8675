#include "adapters/kernel/kernel_target.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "adapters/kernel/console.h"
#include "adapters/kernel/flash_server.h"
#include "adapters/kernel/guest_walk.h"
#include "adapters/kernel/host_past.h"
#include "adapters/kernel/kernel_calls.h"
#include "adapters/kernel/media_server.h"
#include "adapters/kernel/repair.h"
#include "disk/media.h"

namespace sisyfs {
namespace {

using guest::Command;
using guest::Do;

// The time of day at a mount, and what a call adds to it.
constexpr uint64_t kFirstSecond = 1'700'000'000, kSecondsOfCall = 60;

// A mount or a call, linked to what came before it, back to the mount.
struct PastCall {
  std::shared_ptr<const PastCall> before;
  Op op;                                                // kRemount stands for the mount
  Image disk;                                           // of the mount: before it
  std::vector<std::pair<BlockAddress, BlockRef>> read;  // blocks that it found otherwise than on that disk
  uint32_t number = 0;
  std::vector<DiskChange> requests;  // that it made to the disks
  Digest digest;  // of all that the kernel knows: the calls, and the blocks that it has read
  std::shared_ptr<const HostPast> on_host;

  explicit PastCall(const Image& image) : disk(image) {}
};
using PastCalls = std::shared_ptr<const PastCall>;

class KernelTarget : public Target,
                     public SavesMemory,
                     public ChecksOffline,
                     public HasFaults,
                     public ReachesMarks {
 public:
  explicit KernelTarget(std::shared_ptr<KernelSetup> setup)
      : setup_(std::move(setup)),
        server_((setup_->fs.quirks & kUnfilledBytes) == 0 && !setup_->host),
        calls_(setup_->processes),
        repair_(setup_->repair.unwatched.empty()),
        own_(Image(setup_->disk)),
        flash_(server_, setup_->disk.block_size) {}

  SavesMemory* saves_memory() override { return this; }
  ChecksOffline* checks_offline() override {
    return setup_->fs.fsck.empty() && setup_->fs.rare.mend == nullptr ? nullptr : this;
  }
  HasFaults* has_faults() override { return this; }
  ReachesMarks* reaches_marks() override { return setup_->host ? this : nullptr; }

  int format(Media& media) override {
    drop();
    const Result<Image> image =
        setup_->formatted(media.state().current, [&](const Image& made) { return settled(made); });
    if (!image && setup_->start.path.empty()) return setup_->set_trouble(image.error().message), EIO;
    if (!image) return setup_->refuse_start(image.error().message), EIO;
    media.load(MediaState(*image));
    return 0;
  }

  int mount(Media& media) override {
    drop();
    return do_mount(media, media.state().current);
  }

  int unmount() override {
    if (!mounted_) return EIO;
    if (calls_.open_handles() != 0) return EBUSY;
    server_.begin();
    const KernelMachine::Reply reply = run({.what = Do::kUnmount}, {}, "unmount");
    forget();
    return reply.alive ? reply.error : EIO;
  }

  void power_cut() override { drop(); }

  OpResult apply(const Op& op) override {
    if (!mounted_) return OpResult::of(EIO);
    // What was reached when the state was brought back counts with the call that follows.
    marks_ |= std::exchange(repeat_marks_, 0);
    return do_op(op);
  }

  Walk walk() override {
    if (!mounted_) return {EIO, Path("/"), {}};
    walked_ = true;
    GuestWalk reader(setup_->fs);
    bool more = false;
    do {
      const KernelMachine::Reply reply =
          run({.what = Do::kWalk, .number = more ? 1u : 0u}, {}, "reading everything back");
      if (!reply.alive) return {EIO, Path("/"), {}};
      more = reader.add(reply.bytes) && reply.more && !reply.bytes.empty();
    } while (more);
    return reader.finish();
  }

  void fsck(Media& media, FsckMode mode, RepairReport* report) override {
    drop();
    repair_.run(setup_->fs, media, mode, report);
    if (const std::string& trouble = repair_.trouble(); !trouble.empty()) setup_->set_trouble(trouble);
  }
  std::string problem_text(const Problem& problem) const override { return repair_.text(problem); }

  uint32_t take_faults() override { return std::exchange(faults_, 0); }
  std::string fault_text() const override { return fault_text_; }

  uint32_t take_marks() override { return std::exchange(marks_, 0); }

  Snapshot save() const override { return past_ == nullptr ? Snapshot() : Snapshot(past_, past_->digest); }

  void load(const Snapshot& snapshot, Media& media) override {
    const PastCalls wanted = snapshot.empty() ? nullptr : snapshot.as<PastCalls>();
    // On the host a past that reads the same has written other bytes.
    const bool is_there = mounted_ && !walked_ && wanted != nullptr && past_ != nullptr &&
                          (wanted == past_ || (!setup_->host && wanted->digest == past_->digest));
    if (!is_there) {
      drop();
      if (wanted != nullptr) repeat(wanted, media.state());
    }
    server_.attach(&media);
    if (wanted != nullptr && adopted_) media.load(*adopted_);
  }

 private:
  // How often calls are made again until they make the same requests.
  static constexpr int kTries = 4, kTriesOnHost = 40;

  KernelMachine* guest() {
    if (guest_ != nullptr) return guest_.get();
    Result<std::unique_ptr<KernelMachine>> booted = setup_->boot();
    // A kernel that the user gave may lack what the file system needs.
    if (!booted && booted.error().kind == ErrorKind::kBadInput)
      return setup_->refuse_start(booted.error().message), nullptr;
    if (!booted) return setup_->set_trouble(booted.error().message), nullptr;
    guest_ = *std::move(booted);
    if (setup_->disk.is_flash())
      guest_->attach(&flash_);
    else
      guest_->attach(&server_);
    setup_->set_release(guest_->release());
    (void)guest_->take_printed();
    return guest_.get();
  }

  // A command that is a part of `what`. A guest that does not live any more is a fault, and is replaced when
  // the next one is needed.
  KernelMachine::Reply run(const Command& command, const KernelMachine::Texts& texts, std::string_view what,
                           std::span<const std::byte> bytes = {}) {
    KernelMachine* const machine = guest();
    if (machine == nullptr) return {.alive = false};
    if (is_planted(what)) (void)machine->run(plant_);
    const KernelMachine::Reply reply = machine->run(command, texts, bytes);
    const std::string printed = machine->take_printed();
    if (!reply.alive) {
      if (machine->is_lost()) setup_->set_trouble(fmt::format("{}: {}", what, machine->trouble()));
      set_fault(machine->has_ended() ? kDied : kHung,
                fmt::format("{}: {}{}", what, machine->trouble(), last_words(printed)));
      guest_.reset();
      forget();
      return reply;
    }
    if (!printed.empty() && !quiet_) listen(what, printed);
    return reply;
  }

  // ": BUG: ...", or the last line that it printed.
  static std::string last_words(std::string_view printed) {
    std::string line = complaint_in(printed).line;
    if (line.empty()) {
      const size_t end = printed.find_last_not_of("\r\n ");
      if (end == printed.npos) return {};
      // What the agent says comes before what the kernel says of its end.
      const size_t agent = printed.find("agent: ");
      printed = printed.substr(0, agent == printed.npos ? end + 1 : printed.find_first_of("\r\n", agent));
      line = printed.substr(printed.find_last_of("\r\n") + 1);
    }
    return ": " + line;
  }

  // A new disk can always be mounted: else nothing could be checked.
  bool is_planted(std::string_view what) {
    if (!setup_->planted || quiet_ || !what.starts_with(setup_->planted->where)) return false;
    plant_ = {.what = Do::kPlant, .number = static_cast<uint32_t>(setup_->planted->what)};
    return what != "mount" || !setup_->is_new(server_.media()->state().current);
  }

  // What a file system says of a disk that fails is no news.
  void listen(std::string_view what, std::string_view printed) {
    const Complained complained = complaint_in(printed);
    if (complained.what == Complaint::kNone) return;
    if (complained.what == Complaint::kFileSystem && server_.failed()) return;
    set_fault(kComplained, fmt::format("{}: the kernel says: {}", what, complained.line));
  }

  void set_fault(uint32_t fault, std::string text) {
    faults_ |= fault;
    fault_text_ = std::move(text);
  }

  void forget() {
    mounted_ = false;
    past_ = nullptr;
    walked_ = false;
    adopted_.reset();
    calls_.forget();
  }

  bool settles() const { return (setup_->fs.quirks & kSettles) != 0; }

  // A new file system after its first use. An image of the user is looked at: all of it must be readable.
  Result<Image> settled(const Image& image) {
    const bool given = !setup_->start.path.empty();
    const bool layered = !given && !setup_->fs.rare.below.type.empty();
    if (!settles() && !given && !layered && setup_->fs.rare.make == nullptr) return image;
    own_.load(MediaState(image));
    server_.attach(&own_);
    const auto failed = [&](const char* what, int error) -> Error {
      const std::string why =
          take_faults() != 0 ? fault_text_ : fmt::format("answers {} to {}", errno_text(error), what);
      if (given)
        return bad_input(
            fmt::format("start={} cannot be used as {}: {}", setup_->start.path, setup_->fs.name, why));
      return system_error(fmt::format("{}: a new file system {}", setup_->fs.name, why));
    };
    if (const int error = layered ? make_layers() : 0) return failed("what makes its layers", error);
    if (const int error = do_mount(own_, own_.state().current)) return failed("mount", error);
    if (given) {
      const Walk walk = this->walk();
      if (walk.error != 0)
        return bad_input(
            fmt::format("start={} cannot be a start, because the tree that is expected cannot hold it: {}",
                        setup_->start.path, error_text(walk)));
    }
    if (const int error = unmount()) return failed("unmount", error);
    if (faults_ != 0) return failed("unmount", EIO);
    return own_.state().current;
  }

  // The layers of a file system that lies over another one. The lower one holds files, which are copied up
  // when they are changed.
  int make_layers() {
    const auto done = [&](const KernelMachine::Reply& reply) { return reply.alive ? reply.error : EIO; };
    const std::string_view type = setup_->fs.rare.below.type, options = setup_->fs.rare.below.mount;
    if (const int error = done(run({.what = Do::kMount, .clock = time_of(0)}, {type, options, ""}, "mount")))
      return error;
    mounted_ = true;
    if (const int error =
            done(run({.what = Do::kMakeTree}, {"lower:upper:work:lower/b", "", ""}, "making the layers")))
      return error;
    const auto unit = static_cast<uint32_t>(setup_->fs.block);
    const Path files[] = {Path("/lower/a"), Path("/lower/b/a")};
    for (const Path& file : files)
      for (const Op& op : {Op::of(OpKind::kCreate, file), Op::append(file, unit)}) {
        const OpResult result = calls_.apply(
            op,
            [&](const Command& command, const KernelMachine::Texts& texts, std::span<const std::byte> bytes) {
              return run(command, texts, "making the layers", bytes);
            });
        if (result.error != 0) return result.error;
      }
    return unmount();
  }

  // Leaves the mounted file system; what it writes goes nowhere.
  void drop() {
    if (mounted_ && guest_ != nullptr) {
      Media* const media = server_.media();
      own_.load(MediaState(after_.value_or(own_.state().current)));
      own_.begin_scratch(Media::Keep::kNothing);
      server_.attach(&own_);
      quiet_ = true;
      const KernelMachine::Reply reply = run({.what = Do::kUnmount, .number = 1}, {}, "unmount");
      quiet_ = false;
      // A kernel that cannot let go of it is of no further use.
      if (!reply.alive || reply.error != 0) guest_.reset();
      faults_ = 0;
      server_.attach(media);
    }
    forget();
  }

  static uint64_t time_of(uint32_t number) { return kFirstSecond + number * kSecondsOfCall; }

  int do_mount(Media& media, Image disk) {
    server_.attach(&media);
    server_.begin();
    server_.begin_mount(disk);
    const std::shared_ptr<HostPast> here = host_past(media.state());
    const FileSystem& fs = setup_->fs;
    Command command{.what = Do::kMount, .number = setup_->mount_flags};
    command.clock = time_of(0);
    if (!fs.rare.below.type.empty()) {
      Command first{.what = Do::kMountBelow, .number = setup_->mount_flags};
      first.clock = std::exchange(command.clock, 0);
      const KernelMachine::Reply below = run(first, {fs.rare.below.type, fs.rare.below.mount, ""}, "mount");
      if (!below.alive || below.error != 0) return below.alive ? below.error : EIO;
    }
    const KernelMachine::Reply reply = run(command, {fs.type, setup_->mount, fs.rare.device}, "mount");
    if (!reply.alive) return EIO;
    ++setup_->work.mounts;
    if (reply.error != 0) return reply.error;
    mounted_ = true;
    if (settles() && !run({.what = Do::kFlush}, {}, "a flush").alive) return EIO;
    auto done = std::make_shared<PastCall>(disk);
    done->op = Op::of(OpKind::kRemount);
    end_on_host(here, *done);
    finish(std::move(done), digest_at(1, setup_->host ? disk.digest() : Digest()));
    return 0;
  }

  OpResult do_op(const Op& op) {
    const uint32_t number = past_ == nullptr ? 1 : past_->number + 1;
    server_.begin();
    const std::shared_ptr<HostPast> here = host_past(std::nullopt);
    const std::string text = to_text(op);
    uint64_t clock = time_of(number);  // of the first command
    const OpResult result = calls_.apply(
        op, [&](Command command, const KernelMachine::Texts& texts, std::span<const std::byte> bytes) {
          command.clock = std::exchange(clock, 0);
          return run(command, texts, text, bytes);
        });
    if (!mounted_) return OpResult::of(EIO);
    auto done = std::make_shared<PastCall>(past_->disk);
    done->before = past_;
    done->op = op;
    done->number = number;
    end_on_host(here, *done);
    finish(std::move(done), digest_at(2, past_->digest) + digest_at(3, digest_of_text(op)));
    return result;
  }

  std::shared_ptr<HostPast> host_past(std::optional<MediaState> before) const {
    if (!setup_->host) return nullptr;
    return std::make_shared<HostPast>(HostPast{std::move(before), server_.begin_serial(), 0, {}});
  }

  void finish(std::shared_ptr<PastCall> done, const Digest& digest) {
    adopted_.reset();
    done->read = server_.take_read();
    done->requests = server_.requests();
    done->digest = digest;
    // What the kernel of the host reads, and when, is not the same each time.
    const Digest met = server_.take_met();
    if (!setup_->host) done->digest += met;
    for (const auto& [address, block] : done->read)
      if (setup_->host) done->digest += digest_at(address.value + 16, block ? block->digest : Digest());
    past_ = std::move(done);
    after_ = server_.media()->state().current;
  }

  void end_on_host(const std::shared_ptr<HostPast>& here, PastCall& done) const {
    if (here == nullptr) return;
    here->end = server_.media()->state().log.next_serial();
    here->serials = server_.serials();
    done.on_host = here;
  }

  static Digest digest_of_text(const Op& op) {
    const std::string text = to_text(op);
    return digest_of(text.data(), text.size());
  }

  // Mounts and makes the calls again.
  void repeat(const PastCalls& wanted, const MediaState& saved) {
    std::vector<const PastCall*> all;
    for (const PastCall* done = wanted.get(); done != nullptr; done = done->before.get()) all.push_back(done);
    Image disk = all.back()->disk;
    for (const PastCall* done : all)
      for (const auto& [address, block] : done->read) disk.set(address, block);
    const int tries = setup_->host ? kTriesOnHost : kTries;
    for (int i = 0; i < tries; ++i) {
      // Threads of the host's kernel race: a state may have come about in a way that hardly ever comes again.
      const bool is_strict = !setup_->host || i < tries / 2;
      if (repeat_once(all, disk, is_strict)) {
        if (setup_->host) adopted_ = rewritten(own_.state(), repeated_, saved);
        repeat_marks_ |=
            (i != 0 ? uint32_t{kRepeatedLater} : 0u) | (is_strict ? 0u : uint32_t{kRepeatedOtherwise});
        ++setup_->work.brought_back;
        past_ = wanted;
        walked_ = false;
        return;
      }
      drop();
    }
    setup_->set_trouble(fmt::format(
        "the kernel is not deterministic: '{}' was done again, with the same past and the same disk, and {}",
        to_text(unlike_.call->op), unlike_.why));
  }

  // Strictly: with the same requests.
  bool repeat_once(const std::vector<const PastCall*>& all, const Image& disk, bool is_strict) {
    if (setup_->host) {
      own_.load(*all.back()->on_host->before);
    } else {
      own_.load(MediaState(disk));
      own_.begin_scratch(Media::Keep::kNothing);
    }
    repeated_.clear();
    for (size_t i = all.size(); i-- > 0;) {
      if (i + 1 == all.size()) {
        unlike_.call = all[i];
        unlike_.why = "it failed";
        if (do_mount(own_, disk) != 0) return false;
      } else {
        unlike_.call = all[i];
        unlike_.why = "the guest died";
        (void)do_op(all[i]->op);
        if (!mounted_) return false;
      }
      (void)take_faults();
      if (setup_->host) repeated_.push_back({all[i]->on_host.get(), past_->on_host->serials.size()});
      if (past_->requests == all[i]->requests) continue;
      if (!is_strict) continue;
      unlike_.call = all[i];
      unlike_.why = difference(all[i]->requests, past_->requests);
      return false;
    }
    return true;
  }

  std::shared_ptr<KernelSetup> setup_;
  std::unique_ptr<KernelMachine> guest_;
  MediaServer server_;
  KernelCalls calls_;
  Repair repair_;
  Media own_;                   // for what is repeated and what is dropped
  FlashServer flash_;           // on flash, instead of `server_`
  std::optional<Image> after_;  // the last call
  // On the host: what was repeated last, and its disk.
  std::vector<HostRepeat> repeated_;
  std::optional<MediaState> adopted_;
  PastCalls past_;
  bool mounted_ = false;
  bool walked_ = false;  // since the last call
  bool quiet_ = false;   // what the kernel prints is of no interest
  Command plant_;
  uint32_t marks_ = 0, repeat_marks_ = 0;
  uint32_t faults_ = 0;
  std::string fault_text_;
  // What could not be repeated, and why.
  struct {
    const PastCall* call = nullptr;
    std::string why;
  } unlike_;
};

}  // namespace

std::unique_ptr<Target> make_kernel_target(std::shared_ptr<KernelSetup> setup) {
  return std::make_unique<KernelTarget>(std::move(setup));
}

}  // namespace sisyfs
