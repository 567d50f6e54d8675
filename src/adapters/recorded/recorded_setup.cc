#include "adapters/recorded/recorded_setup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "adapters/recorded/played_target.h"

namespace sisyfs {
namespace {

constexpr const char* kNoFile = "none";
constexpr uint64_t kMostBlocks = uint64_t{1} << 25;  // of the disk: some memory is needed for each

// A file that is open for reading.
class InputFile {
 public:
  static Result<std::unique_ptr<InputFile>> open(const std::string& path) {
    auto file = std::make_unique<InputFile>();
    // A pipe is never waited for.
    file->fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd_ < 0) return bad_input(fmt::format("{}: cannot be opened: {}", path, errno_text(errno)));
    struct stat about {};
    const bool known = ::fstat(file->fd_, &about) == 0;
    if (!known || !(S_ISREG(about.st_mode) || S_ISBLK(about.st_mode)))
      return bad_input(fmt::format("{}: is no file and no disk", path));
    const off_t size = ::lseek(file->fd_, 0, SEEK_END);
    if (size < 0) return bad_input(fmt::format("{}: its size cannot be had: {}", path, errno_text(errno)));
    file->size_ = static_cast<uint64_t>(size);
    return file;
  }
  InputFile() = default;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  uint64_t size() const { return size_; }
  bool read(uint64_t offset, std::span<std::byte> out) const {
    while (!out.empty()) {
      const ssize_t got = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      out = out.subspan(static_cast<size_t>(got));
      offset += static_cast<uint64_t>(got);
    }
    return true;
  }
  ByteSource source() const {
    return {size_, [this](uint64_t offset, std::span<std::byte> out) { return read(offset, out); }};
  }
  // Where bytes may come that are not zero, from this offset on: the size if there are none.
  uint64_t next_data(uint64_t from) const {
    const off_t at = ::lseek(fd_, static_cast<off_t>(from), SEEK_DATA);
    if (at >= 0) return static_cast<uint64_t>(at);
    return errno == ENXIO ? size_ : from;
  }

 private:
  int fd_ = -1;
  uint64_t size_ = 0;
};

// Holes of the file are not read.
Result<Image> read_image(const InputFile& file, uint32_t block, const std::string& path) {
  Image image(Geometry{.block_size = block, .block_count = BlockCount(file.size() / block)});
  std::vector<std::byte> bytes(block);
  for (uint64_t at = file.next_data(0) / block * block; at < file.size();
       at = file.next_data(at + block) / block * block) {
    if (!file.read(at, bytes)) return bad_input(fmt::format("{}: byte {} cannot be read", path, at));
    if (BlockRef content = make_block(bytes)) image.set(BlockAddress(at / block), std::move(content));
  }
  return image;
}

std::string hex(const Digest& digest) { return fmt::format("{:016x}{:016x}", digest.hi, digest.lo); }

// A replay is one of the same files.
Status same_file(const Options& options, const char* option, const char* path, const Digest& digest) {
  if (!options.differs(option) || options.value_text(option) == hex(digest)) return {};
  return bad_input(
      fmt::format("{}: is not the file of the finding or saved search, whose content was another one (digest "
                  "{}, now {})",
                  options.value_text(path), options.value_text(option), hex(digest)));
}

// The entry behind the mark with this text; the beginning for "start".
Result<uint64_t> entry_of(const WriteLog& log, const std::string& from) {
  if (from == "start") return uint64_t{0};
  std::string known;
  for (size_t i = 0; i < log.entries().size(); ++i) {
    const LogEntry& entry = log.entries()[i];
    if (!entry.mark) continue;
    if (entry.text == from) return i + 1;
    if (known.size() < 200) known += (known.empty() ? "" : ", ") + entry.text;
  }
  return bad_input(fmt::format("from={}: the log has no such mark; {}", from,
                               known.empty() ? "it has none" : "it has " + known));
}

}  // namespace

std::vector<OptionSpec> log_specs() {
  return {
      OptionSpec::text(
          "log", kNoFile,
          "a log of writes, of dm-log-writes or QEMU's blklogwrites, which is played instead of a "
          "workload (same as --log)"),
      OptionSpec::text("base", kNoFile, "the disk on which that log begins (same as --base)"),
      OptionSpec::text("from", "start",
                       "the mark of the log behind which the power may go: start, or its text"),
      OptionSpec::text("promise", "sync",
                       "marks of the log that begin with this text promise that all before them is durable"),
      // Set by the program.
      OptionSpec::text("log_digest", "any", ""),
      OptionSpec::text("base_digest", "any", ""),
  };
}

Result<std::optional<LogFiles>> LogFiles::open(const Options& options, uint32_t block) {
  if (!options.differs("log") && !options.differs("base")) {
    for (const char* name : {"from", "promise", "log_digest", "base_digest"})
      if (options.differs(name))
        return bad_input(fmt::format("{} is for a check of a log: add --log and --base", name));
    return std::optional<LogFiles>();
  }
  if (!options.differs("base"))
    return bad_input("--log needs --base: the image of the disk as it was when the log began");
  if (!options.differs("log")) return bad_input("--base needs --log: the log of the writes to that disk");
  const std::string log_path = options.value_text("log"), base_path = options.value_text("base");
  const auto base_file = InputFile::open(base_path);
  if (!base_file) return base_file.error();
  const uint64_t size = (*base_file)->size();
  if (size == 0 || size % 512 != 0)
    return bad_input(
        fmt::format("{}: has {} bytes, and a disk has a number of sectors of 512", base_path, size));
  const auto log_file = InputFile::open(log_path);
  if (!log_file) return log_file.error();
  const auto in_log = [&](const Error& error) {
    return bad_input(fmt::format("{}: {}", log_path, error.message));
  };
  const ByteSource source = (*log_file)->source();
  Result<WriteLog> log = WriteLog::read(source, size);
  if (!log) return in_log(log.error());
  const auto of_size = static_cast<uint32_t>(size & (~size + 1) & 0xfff);
  uint32_t fitting = log->block_size(of_size == 0 ? block : std::min(block, of_size));
  if (options.has("block") && options.differs("block") && fitting < block)
    return in_log(bad_input(fmt::format(
        "its entries are no whole numbers of blocks of {} bytes: leave out block={}", block, block)));
  if (size / fitting > kMostBlocks)
    return bad_input(fmt::format("{}: has {} blocks of {} bytes, and at most {} can be checked", base_path,
                                 size / fitting, fitting, kMostBlocks));
  if (Status s = log->load(source, fitting); !s) return in_log(s.error());
  Result<Image> base = read_image(**base_file, fitting, base_path);
  if (!base) return base.error();
  if (Status s = same_file(options, "log_digest", "log", log->digest()); !s) return s.error();
  if (Status s = same_file(options, "base_digest", "base", base->digest()); !s) return s.error();
  return std::optional<LogFiles>(LogFiles(*std::move(log), *std::move(base)));
}

Status play_log(LogFiles files, const Options& options, DiskSetup& setup) {
  SISYFS_ASSERT(setup.kind.disks == files.disk(), "the target has the disk of the base image");
  for (const char* name : {"start", "first_mount", "failures"})
    if (options.has(name) && options.differs(name))
      return bad_input(fmt::format("{} cannot be set where a log is played", name));
  const Result<uint64_t> begin = entry_of(files.log_, options.value_text("from"));
  if (!begin) return begin.error();
  std::vector<std::string> settings = {"log_digest=" + hex(files.log_.digest()),
                                       "base_digest=" + hex(files.base_.digest())};
  const auto log =
      std::make_shared<const RecordedLog>(RecordedLog::Origin{.base = std::move(files.base_),
                                                              .log = std::move(files.log_),
                                                              .promise = options.value_text("promise"),
                                                              .begin = *begin,
                                                              .discarded = setup.cuts.device.discard,
                                                              .settings = std::move(settings)});
  const std::vector<Op> plays = log->plays();
  if (plays.empty()) return bad_input(fmt::format("{}: nothing is written in it", options.value_text("log")));

  const Contract contract = setup.kind.claims.contract;
  if (options.differs("contract") && contract != Contract::kStructure && contract != Contract::kPromised)
    return bad_input(
        "contract: of a log only 'promised' and 'structure' can be judged: nobody knows the calls that wrote "
        "it");
  if (!options.differs("contract")) setup.kind.claims.contract = Contract::kPromised;
  setup.kind.claims.durable = {};
  setup.kind.ops = setup.kind.ops | OpSet(OpKind::kPlay);
  const bool repairs = setup.kind.has_fsck && !setup.recovery.mount_alone;
  setup.kind.make = [log, make = setup.kind.make, repairs] {
    return make_played_target(log, make(), repairs);
  };
  setup.recording = log;
  setup.script = std::make_shared<const Script>(Script::of(plays));
  setup.max_system_ops = UINT32_MAX;
  setup.bounds.impossible = false;

  const std::unique_ptr<Target> target = setup.kind.make();
  Media disk{log->start()};
  const auto unfit = [&](const std::string& what) {
    return bad_input(fmt::format(
        "{}: {} when the log begins; if the log makes the file system first, mark the place behind that, and "
        "name the mark with --set from=MARK",
        options.value_text("base"), what));
  };
  (void)target->format(disk);
  if (const int error = target->mount(disk))
    return unfit(error >= kNoErrno ? "its tree cannot be read (" + errno_text(error) + ")"
                                   : "it does not mount and read (" + errno_text(error) + ")");
  return {};
}

}  // namespace sisyfs
