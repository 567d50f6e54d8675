#include "machine/start_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace sisyfs {
namespace {

constexpr uint32_t kAgingOps = 300, kMostFiles = 24, kMostFlatFiles = 4, kMostFull = 16, kDirectories = 4;
constexpr uint64_t kMostBytes = uint64_t{4} << 20;  // of an aged ballast
constexpr uint64_t kSpareBlocks = 4;                // that a full disk has left

class Maker {
 public:
  Maker(const TargetKind& kind, const Bounds& bounds, const std::function<OpResult(const Op&)>& call,
        Tree& tree)
      : kind_(kind), call_(call), tree_(tree), unit_(bounds.variety.unit) {
    const uint32_t needed = bounds.max_files + 1;  // by the workload, and by the trial of use
    files_ = kind.limits.max_files > needed ? std::min(kMostFiles, kind.limits.max_files - needed) : 0;
    const bool flat = !can(OpKind::kMkdir) || kind.limits.max_depth < 2;
    if (flat) files_ = std::min(files_, kMostFlatFiles);
    bytes_ = kind.has_disk() ? kind.disks.block_count.value * kind.disks.block_size : kMostBytes;
    if (!flat && can(OpKind::kCreate))
      folder_ = perform(Op::of(OpKind::kMkdir, Path("/").child(kBallastName))) == Done::kYes;
    if (!flat && !folder_) files_ = 0;
    if (!can(OpKind::kCreate)) files_ = 0;
  }

  int age() {
    const uint64_t most = std::min(bytes_ / 4, kMostBytes);
    const uint64_t pieces = std::max<uint64_t>(1, most / (unit_ * 8 * kMostFiles));
    for (uint32_t i = 0; i < kAgingOps && files_ != 0 && error_ == 0; ++i) {
      const uint64_t drawn = mul_fold(i + 1, 0x9e3779b97f4a7c15u);
      const Path file = name(static_cast<uint32_t>(drawn >> 8) % files_);
      const Path other = name(static_cast<uint32_t>(drawn >> 24) % files_);
      const uint64_t length = unit_ * (1 + (drawn >> 40) % 8) * pieces;
      const uint64_t size = size_of(file);
      switch (drawn % 10) {
        case 4:
          (void)write(file, size / 2 / unit_ * unit_, std::min(length, std::max(unit_, size / 2)));
          break;
        case 5:
          (void)perform(Op::truncate(file, size / 2 / unit_ * unit_));
          break;
        case 6:
          if (file != other) (void)perform(Op::of(OpKind::kRename, file, other));
          break;
        case 7:
          (void)perform(Op::of(OpKind::kUnlink, file));
          break;
        case 8:
          make_or_remove(static_cast<uint32_t>(drawn >> 16) % kDirectories);
          break;
        case 9:
          (void)perform(Op::of(OpKind::kSync));
          break;
        default:
          (void)perform(Op::of(OpKind::kCreate, file));
          if (live_ + length <= most)
            (void)write(file, size_of(file), length);
          else
            (void)perform(Op::of(OpKind::kUnlink, file));
      }
    }
    for (uint32_t i = 0; i < kDirectories; ++i)
      if (folder_) (void)perform(Op::of(OpKind::kRmdir, directory(i)));
    // What lies between two that stay becomes free.
    for (uint32_t i = 0; i < files_; i += 2) (void)perform(Op::of(OpKind::kUnlink, name(i)));
    return error_;
  }

  // What is kept free is a file that goes in the end.
  int fill() {
    if (files_ < 2) return error_;
    const Path spare = name(0);
    (void)perform(Op::of(OpKind::kCreate, spare));
    const uint64_t block = std::max<uint64_t>(unit_, kind_.disks.block_size / unit_ * unit_);
    (void)write(spare, 0, kSpareBlocks * block);
    const uint64_t most = std::min<uint64_t>(kind_.limits.max_file_size, UINT32_MAX);
    uint64_t length = std::max<uint64_t>(1, std::min(bytes_ / 16, most) / unit_) * unit_;
    for (uint32_t i = 1; i < std::min(files_, kMostFull) && length != 0 && error_ == 0; ++i) {
      if (perform(Op::of(OpKind::kCreate, name(i))) != Done::kYes) break;
      while (length != 0 && size_of(name(i)) + length <= most) {
        if (write(name(i), size_of(name(i)), length) == Done::kYes) continue;
        if (error_ != 0) break;
        length = length / 2 / unit_ * unit_;
      }
    }
    (void)perform(Op::of(OpKind::kUnlink, spare));
    return error_;
  }

 private:
  enum class Done : uint8_t { kYes, kImpossible, kNoRoom };

  bool can(OpKind kind) const { return kind_.ops.has(kind); }
  Path name(uint32_t file) const {
    const Path root("/");
    return folder_ ? root.child(kBallastName).child(fmt::format("{}", file))
                   : root.child(fmt::format("{}{}", kBallastName, file));
  }
  static Path directory(uint32_t number) {
    return Path("/").child(kBallastName).child(fmt::format("d{}", number));
  }
  uint64_t size_of(const Path& file) const {
    Stat stat;
    return tree_.stat(file, &stat) == 0 ? stat.size : 0;
  }
  void make_or_remove(uint32_t number) {
    if (!folder_) return;
    if (perform(Op::of(OpKind::kMkdir, directory(number))) == Done::kImpossible)
      (void)perform(Op::of(OpKind::kRmdir, directory(number)));
  }
  Done write(const Path& file, uint64_t offset, uint64_t length) {
    if (offset + length > kind_.limits.max_file_size) return Done::kImpossible;
    const auto bytes = static_cast<uint32_t>(length);
    return offset == size_of(file) && can(OpKind::kAppend) ? perform(Op::append(file, bytes))
                                                           : perform(Op::write(file, offset, bytes));
  }

  // No room is a good answer here: it is what makes a small disk get fewer ops.
  Done perform(Op op) {
    if (error_ != 0 || !can(op.kind)) return Done::kImpossible;
    Tree after = tree_;
    const OpResult expected = sisyfs::apply(op, after);
    if (expected.error != 0) return Done::kImpossible;
    const OpResult answer = call_(op);
    if (answer.error == ENOSPC) return Done::kNoRoom;
    const bool is_write = op.kind == OpKind::kWrite || op.kind == OpKind::kAppend;
    const bool is_short = is_write && answer.error == 0 && answer.value < op.length;
    if (!is_short && !(answer == expected)) {
      error_ = answer.error != 0 ? answer.error : EIO;
      return Done::kImpossible;
    }
    if (is_short && answer.value == 0) return Done::kNoRoom;
    if (is_short) {
      op.length = static_cast<uint32_t>(answer.value);
      after = tree_;
      (void)sisyfs::apply(op, after);
    }
    for (const Path& file : {op.path, op.other})
      if (!file.empty()) live_ += size_in(after, file) - size_in(tree_, file);
    tree_ = std::move(after);
    return is_short ? Done::kNoRoom : Done::kYes;
  }
  static uint64_t size_in(const Tree& tree, const Path& file) {
    Stat stat;
    return tree.stat(file, &stat) == 0 ? stat.size : 0;
  }

  const TargetKind& kind_;
  const std::function<OpResult(const Op&)>& call_;
  Tree& tree_;
  const uint64_t unit_;
  uint32_t files_ = 0;
  uint64_t bytes_ = 0;  // of the disk
  uint64_t live_ = 0;   // in files of the ballast
  bool folder_ = false;
  int error_ = 0;
};

}  // namespace

Status check_start_image(StartImage image, const TargetKind& kind, const Bounds& bounds) {
  if (image == StartImage::kNew) return {};
  if (bounds.fixed_names || kind.limits.max_name < kBallastName.size() + 2)
    return bad_input("start=aged and start=full need a target that takes any name");
  if (image == StartImage::kFull && (!kind.has_disk() || !kind.claims.limited_space))
    return bad_input("start=full needs a target with a disk that may answer ENOSPC (limited space)");
  return {};
}

int make_start_image(StartImage image, const TargetKind& kind, const Bounds& bounds,
                     const std::function<OpResult(const Op&)>& call, Tree& tree) {
  if (image == StartImage::kNew) return 0;
  Maker maker(kind, bounds, call, tree);
  return image == StartImage::kAged ? maker.age() : maker.fill();
}

}  // namespace sisyfs
