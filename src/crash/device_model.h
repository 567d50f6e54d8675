// DeviceModel: what a device guarantees about writes that were not flushed when the power went.
//
//   DeviceModel disk{.unit_bytes = 512, .order = WriteOrder::kFree, .tearing = true};
//   Result<DeviceModel> hostile = DeviceModel::preset("hostile");
//   describe(hostile->fitted_to(geometry), geometry);   // a sentence for the verdict
//
// Each field is a guarantee of the device, so a weaker device is the safer assumption. The model only decides
// how writes fall into pieces and pieces into chains (epoch.h). A new kind of device is a new rule there, not
// a new enumerator. All disks of one system have the same model.
//
// Raw flash, with `flash`: there is no cache. Pages are programmed and units erased one after the other, and
// each is durable when the call returns. A call that a power cut interrupts may leave:
// - of a page that was being programmed: erased as before, the first half of its new bytes with the second
//   half still erased, unreadable, or complete;
// - of each page of a unit that was being erased: its old content, unreadable or erased, in every
// combination.
//   A unit of more than kErasePieces pages is cut into that many runs, whose pages go together.
// NOR (FlashRules::program_bytes) has no ECC, so a page always reads as some bytes:
// - a program leaves the first program units of the page programmed; with `torn_bits` the next one may be
// half
//   cleared;
// - of each page of a unit that was being erased: its old content, garbage or erased; with `torn_bits` also
//   zeros.
// Whatever the power cut leaves, the wear of a unit whose erase was begun counts that erase (disk/wear.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "disk/disk.h"
#include "disk/fresh.h"
#include "disk/geometry.h"

namespace sisyfs {

enum class WriteOrder : uint8_t {
  kInOrder,  // writes reach the medium in issue order: a cut keeps a prefix of them
  kFree,     // in any order between two flushes; only versions of one unit keep theirs
};

enum class WriteCache : uint8_t {
  kWriteThrough,  // a write is durable when it returns; so a cut keeps a prefix, whatever `order` says
  kVolatile,      // a write is durable after a later flush, or at once with FUA
};

// A preset with its name and a description.
struct DevicePreset {
  std::string_view name;
  std::string_view says;
};

struct DeviceModel {
  static constexpr uint32_t kErasePieces = 4, kScatteredParts = 4;

  uint32_t unit_bytes = 0;               // what is written atomically when writes tear; 0: the whole write
  WriteOrder order = WriteOrder::kFree;  // see above
  WriteCache cache = WriteCache::kVolatile;
  bool tearing = false;  // a write may be torn between its units; false: all of it or nothing
  // With tearing, where order is kept: the units of the interrupted write come in any order, not by rising
  // address. A write of more than kScatteredParts units is cut into that many runs, whose units go together.
  bool scattered = false;
  // The target needs so many bytes, at a multiple of it, to be written whole; 0: nothing. A device that tears
  // below that is refused.
  uint32_t whole_bytes = 0;
  bool flash = false;      // a program or erase of raw flash may be interrupted; see above
  bool torn_bits = false;  // NOR: bits of one program unit may be cleared without the others; see above
  DiscardReads discard = DiscardReads::kZeros;  // what discarded blocks read as; not of raw flash
  FreshContent fresh = FreshContent::kZeros;    // what the disk held before its format; not of raw flash

  friend bool operator==(const DeviceModel&, const DeviceModel&) = default;

  // "ordered", "torn", "disk", "scattered", "hostile" or "nand"; another name is bad input.
  static Result<DeviceModel> preset(std::string_view name);
  static std::span<const DevicePreset> presets();
  // Those of a disk, from the simplest to the weakest. These are FiSC's five perspectives (6.3): a bug that
  // shows on a simpler device is understood sooner. The crash states of each include those of the ones before
  // it, except that neither of "disk" and "scattered" includes the other.
  static std::span<const DevicePreset> perspectives() { return presets().first(5); }

  bool writes_are_tied() const { return !tearing || unit_bytes == 0; }
  bool keeps_order() const { return order == WriteOrder::kInOrder || cache == WriteCache::kWriteThrough; }

  // The blocks of one unit on a disk of this shape; 1 when writes are tied and no unit matters.
  uint64_t blocks_per_unit(const Geometry& geometry) const {
    return writes_are_tied() ? 1 : unit_bytes / geometry.block_size;
  }

  // This device with one block of the disk as its unit, where writes tear. The blocks of a small model stand
  // for sectors, whatever their size.
  DeviceModel fitted_to(const Geometry& geometry) const;

  // Whether this model can be applied to a disk of this shape; the error says what to change.
  Status check(const Geometry& geometry) const;
};

// What is assumed of the device, as a sentence for the verdict: "Writes reach the medium ... ."
std::string describe(const DeviceModel& model, const Geometry& geometry);

}  // namespace sisyfs
