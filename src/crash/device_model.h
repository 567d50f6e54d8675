// DeviceModel: what a device promises about writes that were not flushed when the power went.
//
//   DeviceModel disk{.unit_bytes = 512, .order = WriteOrder::kFree, .tearing = true};
//   Result<DeviceModel> hostile = DeviceModel::preset("hostile");
//   describe(hostile->fitted_to(geometry), geometry);   // a sentence for the verdict
//
// A field says what the device guarantees, so a weaker device is the safer assumption. All that the rest
// of this room asks of a model is how writes fall into pieces and pieces into chains (epoch.h); a new
// kind of device is a new rule there, not a new enumerator.
//
// Raw flash, with `flash`: there is no cache, pages are programmed and units erased one after the other, and
// each is durable when it has returned. The one that the power cut off leaves something between:
// - a page that was being programmed is erased as before, has the first half of its new bytes and the second
//   half still erased, is unreadable, or is whole;
// - each page of a unit that was being erased holds what it held, is unreadable or is erased, in every
//   combination. A unit of more than kErasePieces pages is cut into as many runs, whose pages go together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "disk/disk.h"
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

// A device by its name, for people.
struct DevicePreset {
  std::string_view name;
  std::string_view says;
};

struct DeviceModel {
  static constexpr uint32_t kErasePieces = 4, kScatteredParts = 4;

  uint32_t unit_bytes = 0;               // what is written atomically when writes tear; 0: the whole write
  WriteOrder order = WriteOrder::kFree;  // see above
  WriteCache cache = WriteCache::kVolatile;
  bool tearing = false;  // a write may be cut between its units; false: all of it or nothing
  // With tearing, where order is kept: the units of the write that is cut off come in any order, and not by
  // rising address. A write of more than kScatteredParts units is cut into as many runs, whose units go
  // together.
  bool scattered = false;
  bool flash = false;  // a program or erase of raw flash may be cut off in the middle; see above
  DiscardReads discard = DiscardReads::kZeros;  // what discarded blocks read as; not of raw flash

  friend bool operator==(const DeviceModel&, const DeviceModel&) = default;

  // "ordered", "torn", "disk", "scattered", "hostile" or "nand"; another name is bad input.
  static Result<DeviceModel> preset(std::string_view name);
  static std::span<const DevicePreset> presets();
  // Those of a disk, from the simplest to the sternest. These are FiSC's five perspectives (6.3): what shows
  // in a simpler one is understood sooner. Each leaves all that the ones before it leave, except that neither
  // of "disk" and "scattered" contains the other.
  static std::span<const DevicePreset> perspectives() { return presets().first(5); }

  bool writes_are_tied() const { return !tearing || unit_bytes == 0; }
  bool keeps_order() const { return order == WriteOrder::kInOrder || cache == WriteCache::kWriteThrough; }

  // The blocks of one unit on a disk of this shape; 1 when writes are tied and no unit matters.
  uint64_t blocks_per_unit(const Geometry& geometry) const {
    return writes_are_tied() ? 1 : unit_bytes / geometry.block_size;
  }

  // The same device in the scale of a disk: where writes tear, its unit is one block. The blocks of a small
  // model stand for sectors, whatever their size.
  DeviceModel fitted_to(const Geometry& geometry) const;

  // Whether this model can be applied to a disk of this shape; the error says what to change.
  Status check(const Geometry& geometry) const;
};

// What is assumed of the device, as a sentence for the verdict: "Writes reach the medium ... ."
std::string describe(const DeviceModel& model, const Geometry& geometry);

}  // namespace sisyfs
