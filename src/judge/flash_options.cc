#include "judge/flash_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>

namespace sisyfs {
namespace {

// "none" or "2+5".
Status parse_units(std::string_view list, uint64_t units, std::vector<uint32_t>& out) {
  if (list == "none") return {};
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find('+', at), list.size());
    const std::string_view word = list.substr(at, end - at);
    uint32_t unit = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), unit);
    if (error != std::errc() || stop != word.data() + word.size())
      return bad_input(
          fmt::format("bad_units is none, or numbers of units with + between them, not '{}'", list));
    if (unit >= units)
      return bad_input(
          fmt::format("bad_units has unit {}, and the flash has units 0 to {}", unit, units - 1));
    out.push_back(unit);
    at = end + 1;
  }
  return {};
}

}  // namespace

std::vector<OptionSpec> flash_specs(const FlashClaims& claims, uint32_t page) {
  return {
      OptionSpec::choice(
          "flash", {"nand", "nor"}, claims.nor ? "nor" : "nand",
          "raw flash: nand (a page is programmed once, and may be unreadable after a power cut), nor "
          "(a program clears bits, also again; no page is unreadable)"),
      OptionSpec::integer(
          "program", 1, 65536, std::gcd(page, 8u),
          "flash=nor: bytes that are programmed at once; a power cut leaves the first of them"),
      OptionSpec::flag(
          "torn_bits", false,
          "flash=nor: a power cut may also leave such bytes, or an erased page, half changed by bits"),
      OptionSpec::integer("erase_cycles", 0, 1'000'000, 0,
                          "raw flash: erases after which a unit is bad; 0: it never is"),
      OptionSpec::text("bad_units", "none", "raw flash: units that are bad from the start, such as 2 or 0+5"),
      OptionSpec::choice(
          "bad_unit", {"erase-error", "program-error", "erase-noop", "program-noop"}, "erase-error",
          "what a bad unit does: it refuses erases or programs (error), or has no effect and says "
          "nothing (noop)"),
      OptionSpec::flag("handles_bad_units", claims.handles_bad_units,
                       "raw flash: a campaign also tries erase units that go bad"),
  };
}

Status set_flash(const Options& options, DiskSetup& setup) {
  Geometry& disks = setup.kind.disks;
  if (!disks.is_flash()) {
    for (const char* name : {"flash", "program", "torn_bits", "erase_cycles", "bad_units", "bad_unit"})
      if (options.differs(name))
        return bad_input(fmt::format("{} is an option of raw flash, and this is a disk", name));
    return {};
  }
  const bool nor = options.choice_text("flash") == "nor";
  for (const char* name : {"program", "torn_bits"})
    if (!nor && options.differs(name))
      return bad_input(fmt::format("{} is an option of NOR, and this flash is NAND: add flash=nor", name));
  FlashRules& rules = disks.flash;
  if (nor) rules.program_bytes = static_cast<uint32_t>(options.integer("program"));
  rules.erase_cycles = static_cast<uint32_t>(options.integer("erase_cycles"));
  rules.bad_unit = options.choice<BadUnit>("bad_unit");
  const uint64_t units = disks.block_count.value / disks.erase_blocks;
  if (Status s = parse_units(options.value_text("bad_units"), units, setup.failures.bad_units); !s) return s;
  rules.units_go_bad = rules.erase_cycles != 0 || !setup.failures.bad_units.empty();
  if (!rules.units_go_bad && options.differs("bad_unit"))
    return bad_input(
        "bad_unit says what a bad unit does, and none is bad: add erase_cycles=N or bad_units=LIST");
  setup.cuts.device.torn_bits = options.flag("torn_bits");
  return {};
}

}  // namespace sisyfs
