#include "adapters/kernel/repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sisyfs {
namespace {

constexpr ProblemKind kRepairProblems[] = {
    {"P1", "repaired", Severity::kRepairable, "text {0}"},
    {"P2", "not-repaired", Severity::kCritical, "text {0}"},
};
constexpr uint16_t kRepaired = 0, kNotRepaired = 1;
constexpr std::chrono::milliseconds kDeadline{30'000};

// The lines that say something, on one line.
std::string in_short(std::string_view output) {
  std::string out;
  while (!output.empty() && out.size() < 200) {
    const size_t end = std::min(output.find('\n'), output.size());
    std::string_view line = output.substr(0, end);
    output.remove_prefix(std::min(end + 1, output.size()));
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    if (line.empty() || line.starts_with("Pass ") || line.starts_with("e2fsck ") ||
        line.starts_with("Phase "))
      continue;
    out += (out.empty() ? "" : "; ") + std::string(line);
  }
  return out.substr(0, 200);
}

// Whether the exit code of a tool says that all is well, or was made well.
enum class Said : uint8_t { kClean, kRepaired, kBroken };
Said said_by(const FileSystem& fs, FsckMode mode, const ToolRun& run) {
  if (!run.ended) return Said::kBroken;
  if (run.exit == 0) return Said::kClean;
  // These say 1 for errors that were corrected, as fsck(8) has it; the bit 2 asks for a reboot.
  const bool as_fsck = fs.package == "e2fsprogs" || fs.package == "dosfstools" || fs.package == "jfsutils" ||
                       fs.package == "reiserfsprogs" || fs.package == "util-linux";
  if (as_fsck && mode != FsckMode::kCheck && (run.exit & ~3) == 0) return Said::kRepaired;
  return Said::kBroken;
}

}  // namespace

std::span<const ProblemKind> repair_problems() { return kRepairProblems; }

void Repair::tell(RepairReport* report, uint16_t kind, bool repaired, std::string text) {
  auto at = std::find(texts_.begin(), texts_.end(), text);
  if (at == texts_.end()) at = texts_.insert(at, std::move(text));
  report->add(kind, repaired, {at - texts_.begin()});
}

std::string Repair::text(const Problem& problem) const {
  return texts_[static_cast<size_t>(problem.context[0])] + (problem.repaired ? " (repaired)" : "");
}

Result<std::unique_ptr<WatchedDisk>> WatchedDisk::make(const Geometry& geometry) {
  std::unique_ptr<WatchedDisk> made(new WatchedDisk);
  static constexpr auto kSelf = [](void* disk) -> WatchedDisk& { return *static_cast<WatchedDisk*>(disk); };
  const watched_disk disk{
      made.get(),
      [](void* of, uint64_t block, uint64_t count, void* bytes) {
        WatchedDisk& that = kSelf(of);
        const size_t size = count * that.image_.block_size;
        return that.answer(that.disk_->read(BlockAddress(block), {static_cast<std::byte*>(bytes), size}));
      },
      [](void* of, uint64_t block, uint64_t count, const void* bytes, int through) {
        WatchedDisk& that = kSelf(of);
        const size_t size = count * that.image_.block_size;
        return that.answer(that.disk_->write(
            BlockAddress(block), {static_cast<const std::byte*>(bytes), size}, {.fua = through != 0}));
      },
      [](void* of) { return kSelf(of).answer(kSelf(of).disk_->flush()); }};
  if (const int error =
          watched_image_make(&disk, geometry.block_size, geometry.block_count.value, &made->image_)) {
    made->image_.block_count = 0;
    return system_error(fmt::format("cannot make an image of {} blocks in memory: {}",
                                    geometry.block_count.value, std::strerror(-error)));
  }
  return made;
}

WatchedDisk::~WatchedDisk() {
  if (image_.block_count != 0) watched_image_close(&image_);
}

int WatchedDisk::answer(IoStatus status) {
  if (status == IoStatus::kOk) return 0;
  failed_ = true;
  return -EIO;
}

void WatchedDisk::attach(Disk& disk) {
  disk_ = &disk;
  watched_image_restart(&image_);
}

Result<ToolRun> WatchedDisk::run(const std::vector<std::string>& words, FsckMode mode,
                                 std::chrono::milliseconds deadline) {
  failed_ = false;
  watched_image_look(&image_, mode == FsckMode::kCheck ? 1 : 0);
  Result<ToolRun> run = run_tool(words, image_, deadline);
  if (run) (void)watched_tool_end(&image_);
  return run;
}

// Whether the tool can begin.
bool Repair::begin(Media& media) {
  if (!watched_) return copy_in(media);
  if (disk_ == nullptr) {
    Result<std::unique_ptr<WatchedDisk>> made = WatchedDisk::make(media.geometry());
    if (!made) return trouble_ = made.error().message, false;
    disk_ = *std::move(made);
  }
  disk_->attach(media);
  return true;
}

Result<ToolRun> Repair::run_tool_on(std::string_view command, FsckMode mode) {
  std::vector<std::string> words = words_of(command);
  words.emplace_back(kToolImage);
  return watched_ ? disk_->run(words, mode, kDeadline) : run_tool(words, *file_, kDeadline);
}

bool Repair::copy_in(Media& media) {
  const Geometry& geometry = media.geometry();
  const uint64_t bytes = geometry.block_count.value * geometry.block_size;
  if (!file_) {
    Result<MemoryFile> made = MemoryFile::make(bytes);
    if (!made) return trouble_ = made.error().message, false;
    file_.emplace(*std::move(made));
    before_.resize(bytes);
  }
  if (media.read(BlockAddress(0), before_) != IoStatus::kOk) {
    // Blocks that cannot be read hold zeros.
    for (uint64_t i = 0; i < geometry.block_count.value; ++i) {
      const auto block = std::span(before_).subspan(i * geometry.block_size, geometry.block_size);
      if (media.read(BlockAddress(i), block) != IoStatus::kOk)
        std::fill(block.begin(), block.end(), std::byte{0});
    }
  }
  std::memcpy(file_->bytes().data(), before_.data(), bytes);
  return true;
}

bool Repair::copy_back(Media& media) {
  const uint32_t size = media.geometry().block_size;
  bool changed = false;
  for (uint64_t i = 0; i < media.geometry().block_count.value; ++i) {
    const auto now = file_->bytes().subspan(i * size, size);
    if (std::memcmp(now.data(), before_.data() + i * size, size) == 0) continue;
    changed = true;
    if (media.write(BlockAddress(i), now) != IoStatus::kOk) return false;
  }
  return !changed || media.flush() == IoStatus::kOk;
}

bool Repair::is_clean(const FileSystem& fs) {
  const Result<ToolRun> run = run_tool_on(fs.check, FsckMode::kCheck);
  return run && said_by(fs, FsckMode::kCheck, *run) == Said::kClean;
}

void Repair::run(const FileSystem& fs, Media& media, FsckMode mode, RepairReport* report) {
  if (!begin(media)) {
    report->error = EIO;
    return;
  }
  if (fs.rare.mend != nullptr) {
    if (mode != FsckMode::kRepair) return;
    if (!fs.rare.mend(file_->bytes())) tell(report, kNotRepaired, false, "there is no volume");
    if (!copy_back(media)) report->error = EIO;
    return;
  }
  // Many tools note on the disk when they were there. A disk that needs no repair is left alone.
  const bool looks_first = !fs.check.empty() && (fs.quirks & kRepairDecides) == 0;
  if (mode == FsckMode::kRepair && looks_first && is_clean(fs)) return;
  const std::string_view command = mode == FsckMode::kRepair  ? fs.fsck
                                   : mode == FsckMode::kPreen ? fs.preen
                                                              : fs.check;
  const Result<ToolRun> run = run_tool_on(command, mode);
  if (!run) {
    trouble_ = run.error().message;
    report->error = EIO;
    return;
  }
  const Said said = said_by(fs, mode, *run);
  const std::string output = fmt::format("{}: {}", command.substr(0, command.find(' ')),
                                         run->ended ? in_short(run->output) : run->how);
  if (said == Said::kBroken) tell(report, kNotRepaired, false, output);
  if (said == Said::kRepaired) tell(report, kRepaired, true, output);
  if (!watched_ && mode != FsckMode::kCheck && !copy_back(media)) report->error = EIO;
}

}  // namespace sisyfs
