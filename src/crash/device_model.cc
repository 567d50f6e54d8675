#include "crash/device_model.h"

#include <fmt/format.h>

#include <array>

namespace sisyfs {
namespace {

struct Preset {
  DevicePreset text;
  DeviceModel model;
};

constexpr std::array kPresets = {
    Preset{{"ordered", "a cut keeps a prefix of the writes since the last flush, each of them whole"},
           {.order = WriteOrder::kInOrder}},
    Preset{{"torn", "as ordered, and the interrupted write may keep a prefix of its sectors"},
           {.unit_bytes = 512, .order = WriteOrder::kInOrder, .tearing = true}},
    Preset{{"disk", "a volatile cache with FLUSH and FUA that writes back in any order, each write whole"},
           {.unit_bytes = 512}},
    Preset{{"scattered", "as ordered, and the interrupted write may keep any of its sectors"},
           {.unit_bytes = 512, .order = WriteOrder::kInOrder, .tearing = true, .scattered = true}},
    Preset{{"hostile", "as disk, and each sector of a write survives or is lost on its own"},
           {.unit_bytes = 512, .tearing = true}},
    Preset{{"nand",
            "raw flash without a cache; an interrupted program or erase leaves partial or unreadable pages"},
           {.order = WriteOrder::kInOrder, .cache = WriteCache::kWriteThrough, .flash = true}},
};

constexpr std::array kPresetTexts = [] {
  std::array<DevicePreset, kPresets.size()> texts;
  for (size_t i = 0; i < texts.size(); ++i) texts[i] = kPresets[i].text;
  return texts;
}();

std::string order_text(const DeviceModel& model) {
  if (model.cache == WriteCache::kWriteThrough) return "a write is durable when it returns";
  const char* order = model.keeps_order() ? "writes reach the medium in order"
                                          : "writes reach the medium in any order between two flushes";
  return fmt::format("{}, and are durable after a flush or with FUA", order);
}

std::string tearing_text(const DeviceModel& model, const Geometry& geometry);

std::string unit_text(const DeviceModel& model, const Geometry& geometry) {
  const bool needed = !model.writes_are_tied() && model.whole_bytes > geometry.block_size;
  return tearing_text(model, geometry) +
         (needed ? fmt::format("; it does not tear within {} bytes, which the target needs whole",
                               model.whole_bytes)
                 : "");
}

std::string tearing_text(const DeviceModel& model, const Geometry& geometry) {
  if (model.writes_are_tied()) return "a write is kept whole or not at all";
  const bool told = model.unit_bytes != geometry.block_size;  // otherwise a block stands for a sector
  if (model.keeps_order())
    return fmt::format("of the write that is cut off {} {} of {} bytes may be kept{}",
                       model.scattered ? "any" : "the first", told ? "units" : "blocks", model.unit_bytes,
                       told || model.unit_bytes == 512 ? "" : ", which stand for sectors");
  if (told)
    return fmt::format("a write may tear into units of {} bytes, and what lies in one unit keeps its order",
                       model.unit_bytes);
  if (geometry.block_size == 512) return "a write may tear into sectors of 512 bytes";
  return fmt::format("a write may tear into blocks of {} bytes, which stand for sectors",
                     geometry.block_size);
}

const char* discard_text(DiscardReads discard) {
  switch (discard) {
    case DiscardReads::kZeros:
      return "zeros";
    case DiscardReads::kOld:
      return "what they held";
    case DiscardReads::kGarbage:
      return "garbage";
  }
  return "";
}

std::string wear_text(const FlashRules& rules) {
  static constexpr const char* kDoes[] = {"refuse erases", "refuse programs", "ignore erases",
                                          "ignore programs"};
  if (!rules.units_go_bad) return "";
  const char* does = kDoes[static_cast<size_t>(rules.bad_unit)];
  if (rules.erase_cycles == 0) return fmt::format("; bad units {}", does);
  return fmt::format("; units that were erased {} are bad and {}",
                     rules.erase_cycles == 1 ? "once" : fmt::format("{} times", rules.erase_cycles), does);
}

std::string flash_text(const DeviceModel& model, const Geometry& geometry) {
  const std::string shape = fmt::format(
      "{} with pages of {} bytes, erased {} at a time{}: ", geometry.is_nor() ? "NOR flash" : "Raw flash",
      geometry.block_size, geometry.erase_blocks, wear_text(geometry.flash));
  if (!model.flash) return shape + "programs and erases come in order, each of them whole or not at all.";
  const char* runs = geometry.erase_blocks > DeviceModel::kErasePieces ? "each quarter" : "each page";
  if (geometry.is_nor())
    return shape + fmt::format(
                       "programs and erases come in order and are durable when they return; of a program "
                       "that is cut off the first units of {} {} are there{}, {} of a unit whose erase is "
                       "cut off is old, {} or erased.",
                       geometry.flash.program_bytes, geometry.flash.program_bytes == 1 ? "byte" : "bytes",
                       model.torn_bits ? " and the next may be half cleared" : "", runs,
                       model.torn_bits ? "zeros, garbage" : "garbage");
  return shape +
         fmt::format(
             "programs and erases come in order and are durable when they return; a page whose program is "
             "cut "
             "off is erased, half programmed or unreadable, {} of a unit whose erase is cut off is old, "
             "unreadable or erased.",
             runs);
}

}  // namespace

Result<DeviceModel> DeviceModel::preset(std::string_view name) {
  std::string names;
  for (const Preset& preset : kPresets) {
    if (preset.text.name == name) return preset.model;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", preset.text.name);
  }
  return bad_input(fmt::format("There is no device '{}'; there are {}.", name, names));
}

std::span<const DevicePreset> DeviceModel::presets() { return kPresetTexts; }

DeviceModel DeviceModel::fitted_to(const Geometry& geometry) const {
  DeviceModel fitted = *this;
  if (!writes_are_tied()) fitted.unit_bytes = geometry.block_size;
  return fitted;
}

Status DeviceModel::check(const Geometry& geometry) const {
  if (flash && !geometry.is_flash())
    return bad_input("The device is raw flash, but the disk has no erase units: this target wants a disk.");
  if (geometry.is_flash() && cache != WriteCache::kWriteThrough)
    return bad_input("The target wants raw flash, which has no cache: use a device that writes through.");
  const uint64_t blocks = geometry.blocks_per_disk();
  if (geometry.disks == 0 || blocks * geometry.disks != geometry.block_count.value)
    return bad_input(fmt::format("{} blocks cannot be divided among {} disks of equal size.",
                                 geometry.block_count.value, geometry.disks));
  if (geometry.is_flash() && blocks % geometry.erase_blocks != 0)
    return bad_input(
        fmt::format("Erase units of {} blocks do not divide a flash of {}.", geometry.erase_blocks, blocks));
  if (!geometry.is_flash() && !(geometry.flash == FlashRules()))
    return bad_input(
        "Only raw flash is NOR or NAND, or has units that go bad, and this target wants a disk.");
  if (geometry.is_nor() && geometry.block_size % geometry.flash.program_bytes != 0)
    return bad_input(fmt::format("NOR is programmed {} bytes at a time, which does not divide pages of {}.",
                                 geometry.flash.program_bytes, geometry.block_size));
  if (torn_bits && !(geometry.is_nor() && flash))
    return bad_input("Bits of a program unit are torn only on NOR whose programs are cut off.");
  if (scattered && (flash || !keeps_order() || writes_are_tied()))
    return bad_input("Units come in any order within a write only where order is kept and writes tear.");
  if (geometry.is_flash() && whole_bytes != 0)
    return bad_input("The target needs writes of a certain size to be whole, and raw flash has pages only.");
  if (writes_are_tied()) return {};
  if (whole_bytes > geometry.block_size && unit_bytes % whole_bytes != 0)
    return bad_input(
        fmt::format("The device tears writes at {} bytes, and the target needs {} bytes to be written whole: "
                    "use a device "
                    "that tears at a multiple of that, or none that tears.",
                    unit_bytes, whole_bytes));
  if (unit_bytes % geometry.block_size == 0) {
    // A unit must not lie on two disks. One disk may end with a part of a unit.
    if (geometry.disks == 1 || blocks % blocks_per_unit(geometry) == 0) return {};
    return bad_input(fmt::format(
        "The device tears writes at {} bytes, which do not divide disks of {} blocks of {} bytes.",
        unit_bytes, blocks, geometry.block_size));
  }
  return bad_input(
      fmt::format("The device tears writes at {} bytes, but the blocks of the disk have {}: use a disk whose "
                  "block size divides the unit.",
                  unit_bytes, geometry.block_size));
}

std::string describe(const DeviceModel& model, const Geometry& geometry) {
  if (geometry.is_flash()) return flash_text(model, geometry);
  std::string text = fmt::format("{}; {}; discarded blocks read as {}{}.", order_text(model),
                                 unit_text(model, geometry), discard_text(model.discard),
                                 model.fresh == FreshContent::kGarbage ? "; a fresh disk holds garbage" : "");
  text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

}  // namespace sisyfs
