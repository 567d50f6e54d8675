// PlainDevice: what a power cut may leave, computed the slow and obvious way on arrays of bytes.
//
// The reference for the tests of this room. It shares no code with what is tested, only the rules: it keeps
// all writes since the last flush, tries every choice, and builds every disk.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include "crash/device_model.h"
#include "disk/disk.h"
#include "disk/media.h"

namespace sisyfs {

using PlainDisk = std::vector<uint8_t>;

class PlainDevice {
 public:
  PlainDevice(const DeviceModel& model, const Geometry& geometry)
      : model_(model), size_(geometry.block_size), base_(size_ * geometry.block_count.value) {}

  // A write is issued. With `durable` it has also returned, and the device has made it durable.
  void write(uint64_t first, const PlainDisk& bytes, bool durable) {
    writes_.push_back({first * size_, bytes, durable});
  }
  void make_last_durable() { writes_.back().durable = true; }
  void flush() {
    for (const Write& write : writes_) apply(base_, write.at, write.bytes);
    writes_.clear();
  }

  std::set<PlainDisk> crash_disks() const {
    if (model_.keeps_order()) return prefixes();
    return model_.writes_are_tied() ? subsets() : versions_of_units().disks;
  }

  // The number of crash states by the rules: a product or power over what is in doubt.
  uint64_t count() const {
    if (model_.keeps_order()) {
      uint64_t pieces = 0;
      for (const Write& write : writes_) {
        pieces += model_.scattered ? (uint64_t{1} << pieces_of(write).size()) - 1 : pieces_of(write).size();
        if (write.durable) pieces = 0;
      }
      return pieces + 1;
    }
    if (!model_.writes_are_tied()) return versions_of_units().product;
    uint64_t count = 1;
    for (size_t w = 0; w < writes_.size(); w++) {
      if (in_doubt(w)) count *= 2;
    }
    return count;
  }

 private:
  struct Write {
    size_t at;
    PlainDisk bytes;
    bool durable;
  };

  static void apply(PlainDisk& disk, size_t at, const PlainDisk& bytes) {
    std::copy(bytes.begin(), bytes.end(), disk.begin() + at);
  }

  std::vector<Write> pieces_of(const Write& write) const {
    if (model_.writes_are_tied()) return {write};
    std::vector<Write> pieces;
    for (size_t i = 0; i < write.bytes.size(); i++) {
      if (i == 0 || (write.at + i) % model_.unit_bytes == 0)
        pieces.push_back({write.at + i, {}, write.durable});
      pieces.back().bytes.push_back(write.bytes[i]);
    }
    return pieces;
  }

  // In order: every disk between the last durable write and the last one issued.
  std::set<PlainDisk> prefixes() const {
    std::set<PlainDisk> disks{base_};
    PlainDisk disk = base_;
    for (const Write& write : writes_) {
      if (model_.scattered) scatter(disk, pieces_of(write), disks);
      for (const Write& piece : pieces_of(write)) {
        apply(disk, piece.at, piece.bytes);
        disks.insert(disk);
      }
      if (write.durable) disks = {disk};
    }
    return disks;
  }

  // In order, but any units of this write. It has few units, so they are not grouped into runs.
  static void scatter(const PlainDisk& before, const std::vector<Write>& units, std::set<PlainDisk>& disks) {
    for (uint64_t subset = 1; subset < uint64_t{1} << units.size(); subset++) {
      PlainDisk disk = before;
      for (size_t u = 0; u < units.size(); u++) {
        if (subset >> u & 1) apply(disk, units[u].at, units[u].bytes);
      }
      disks.insert(disk);
    }
  }

  // Free and tied: every subset that holds the durable ones, applied in issue order.
  std::set<PlainDisk> subsets() const {
    std::set<PlainDisk> disks;
    for (uint64_t subset = 0; subset < uint64_t{1} << writes_.size(); subset++) {
      PlainDisk disk = base_;
      for (size_t w = 0; w < writes_.size(); w++) {
        if (writes_[w].durable || (subset >> w & 1)) apply(disk, writes_[w].at, writes_[w].bytes);
      }
      disks.insert(disk);
    }
    return disks;
  }

  // Whether some block of a write has no durable write over it.
  bool in_doubt(size_t w) const {
    if (writes_[w].durable) return false;
    for (size_t i = 0; i < writes_[w].bytes.size(); i++) {
      bool covered = false;
      for (size_t later = w + 1; later < writes_.size(); later++) {
        const Write& over = writes_[later];
        const size_t at = writes_[w].at + i;
        if (over.durable && at >= over.at && at < over.at + over.bytes.size()) covered = true;
      }
      if (!covered) return true;
    }
    return false;
  }

  struct Versions {
    std::set<PlainDisk> disks;
    uint64_t product;
  };

  // Free and torn: every unit keeps any of the contents that it had since it was last durable.
  Versions versions_of_units() const {
    const size_t unit = model_.unit_bytes, units = (base_.size() + unit - 1) / unit;
    const auto content = [&](const PlainDisk& disk, size_t u) {
      return PlainDisk(disk.begin() + u * unit, disk.begin() + std::min(disk.size(), (u + 1) * unit));
    };
    std::vector<std::vector<PlainDisk>> versions(units);
    for (size_t u = 0; u < units; u++) versions[u] = {content(base_, u)};
    PlainDisk newest = base_;
    for (const Write& write : writes_) {
      apply(newest, write.at, write.bytes);
      for (size_t u = write.at / unit; u * unit < write.at + write.bytes.size(); u++) {
        if (write.durable) versions[u].clear();
        versions[u].push_back(content(newest, u));
      }
    }
    Versions result{{}, 1};
    for (const auto& of_unit : versions) result.product *= of_unit.size();
    std::function<void(size_t, PlainDisk)> choose = [&](size_t u, PlainDisk disk) {
      if (u == units) {
        result.disks.insert(disk);
        return;
      }
      for (const PlainDisk& version : versions[u]) {
        apply(disk, u * unit, version);
        choose(u + 1, disk);
      }
    };
    choose(0, base_);
    return result;
  }

  DeviceModel model_;
  size_t size_;
  PlainDisk base_;
  std::vector<Write> writes_;
};

// Several disks, each a plain device of its own: a cut leaves any combination. A device that writes through
// is the exception: a write is durable before the next one is issued, to whatever disk. So all its disks
// together are one plain device, which a cut leaves with a prefix of the writes.
class PlainMedia {
 public:
  PlainMedia(const DeviceModel& model, const Geometry& geometry)
      : geometry_(geometry), through_(model.cache == WriteCache::kWriteThrough) {
    for (uint32_t d = 0; d < (through_ ? 1 : geometry.disks); d++)
      devices_.emplace_back(model, through_ ? geometry : geometry.one_disk());
  }
  void write(uint32_t disk, uint64_t first, const PlainDisk& bytes, bool durable) {
    on(disk).write(through_ ? geometry_.first_block_of(disk).value + first : first, bytes, durable);
  }
  void make_last_durable(uint32_t disk) { on(disk).make_last_durable(); }
  void flush(uint32_t disk) { on(disk).flush(); }

  std::set<PlainDisk> crash_disks() const {
    std::set<PlainDisk> all = {PlainDisk()};
    for (const PlainDevice& device : devices_) {
      std::set<PlainDisk> longer;
      const std::set<PlainDisk> disks = device.crash_disks();
      for (const PlainDisk& begin : all) {
        for (const PlainDisk& disk : disks) {
          PlainDisk both = begin;
          both.insert(both.end(), disk.begin(), disk.end());
          longer.insert(both);
        }
      }
      all = longer;
    }
    return all;
  }
  uint64_t count() const {
    uint64_t count = 1;
    for (const PlainDevice& device : devices_) count *= device.count();
    return count;
  }

 private:
  PlainDevice& on(uint32_t disk) { return devices_[through_ ? 0 : disk]; }

  Geometry geometry_;
  bool through_;
  std::vector<PlainDevice> devices_;
};

// Two disks with blocks of 2 bytes, as small as the units of the model allow.
inline Geometry two_disks_for_test(const DeviceModel& model) {
  return {.block_size = 2, .block_count = BlockCount(model.unit_bytes == 6 ? 6 : 4), .disks = 2};
}

inline PlainDisk plain(const Image& image) {
  PlainDisk bytes;
  for (std::byte b : image.bytes()) bytes.push_back(static_cast<uint8_t>(b));
  return bytes;
}

// The device models under which the properties are tested, on blocks of 2 bytes.
inline std::vector<DeviceModel> models_for_test() {
  std::vector<DeviceModel> models;
  for (WriteOrder order : {WriteOrder::kInOrder, WriteOrder::kFree}) {
    models.push_back({.unit_bytes = 0, .order = order, .cache = WriteCache::kVolatile, .tearing = false});
    models.push_back({.unit_bytes = 2, .order = order, .cache = WriteCache::kVolatile, .tearing = true});
    models.push_back({.unit_bytes = 4, .order = order, .cache = WriteCache::kVolatile, .tearing = true});
    models.push_back({.unit_bytes = 6, .order = order, .cache = WriteCache::kVolatile, .tearing = true});
  }
  models.push_back(
      {.unit_bytes = 0, .order = WriteOrder::kFree, .cache = WriteCache::kWriteThrough, .tearing = false});
  models.push_back(
      {.unit_bytes = 2, .order = WriteOrder::kFree, .cache = WriteCache::kWriteThrough, .tearing = true});
  return models;
}

// Those whose units come in any order within a write. They do not work over undecided blocks.
inline std::vector<DeviceModel> scattered_models_for_test() {
  std::vector<DeviceModel> models;
  for (const WriteCache cache : {WriteCache::kVolatile, WriteCache::kWriteThrough}) {
    for (const uint32_t unit : {2u, 4u})
      models.push_back({.unit_bytes = unit,
                        .order = WriteOrder::kInOrder,
                        .cache = cache,
                        .tearing = true,
                        .scattered = true});
  }
  return models;
}

// A random call to a disk: few blocks and few contents, so that writes overlap and repeat each other.
struct RandomCall {
  enum class Kind { kWrite, kDiscard, kFlush };
  Kind kind = Kind::kFlush;
  uint64_t first = 0;
  PlainDisk bytes = {};  // a discard: zeros
  bool fua = false;

  RandomCall(std::mt19937_64& random, const Geometry& geometry) {
    const uint64_t blocks = geometry.block_count.value, size = geometry.block_size, dice = random() % 12;
    if (dice == 0) return;
    kind = dice <= 2 ? Kind::kDiscard : Kind::kWrite;
    fua = dice == 3;
    first = random() % blocks;
    const uint64_t count = 1 + random() % std::min<uint64_t>(3, blocks - first);
    bytes.resize(count * size);
    for (uint64_t b = 0; b < count && kind == Kind::kWrite; b++) bytes[b * size] = random() % 4;
  }

  void issue(Disk& disk) const {
    IoStatus status = IoStatus::kOk;
    if (kind == Kind::kFlush) status = disk.flush();
    const auto raw = std::as_bytes(std::span(bytes));
    if (kind == Kind::kWrite) status = disk.write(BlockAddress(first), raw, {.fua = fua});
    const BlockCount count(bytes.size() / disk.geometry().block_size);
    if (kind == Kind::kDiscard) status = disk.discard(BlockAddress(first), count);
    SISYFS_ASSERT(status == IoStatus::kOk, "the call lies on the disk");
  }
};

}  // namespace sisyfs
