#include "expect/units.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "base/mutant.h"

namespace sisyfs {
namespace {

using Bytes = std::vector<std::byte>;

// Reads a unit; bytes beyond the end of the file are zero.
void read_unit(const FileData& data, uint64_t offset, Bytes& out) {
  const size_t count = data.read(offset, out);
  std::fill(out.begin() + static_cast<ptrdiff_t>(count), out.end(), std::byte{0});
}

bool same_start(const Bytes& a, const Bytes& b, uint64_t count) {
  return std::memcmp(a.data(), b.data(), std::min<uint64_t>(count, a.size())) == 0;
}

// The range [first, second) of bytes that a promise of data covers.
std::pair<uint64_t, uint64_t> promised_range(const History& history, const Promise& p) {
  if (p.kind == PromiseKind::kWritten) return {p.offset, p.end};
  return {0, object_in(history[p.since], p.object)->data.size()};
}

bool is_of_data(const Promise& p) { return p.kind == PromiseKind::kData || p.kind == PromiseKind::kWritten; }

// Whether the promises allow version i of a unit. fdatasync and O_SYNC promise only the bytes themselves, so
// an older version with the same bytes is allowed.
bool unit_allowed(const History& history, ObjectId object, size_t i, uint64_t offset, const Bytes& version) {
  for (const Promise& p : history.promises) {
    if (p.object != object || i >= p.since) continue;
    if (p.kind == PromiseKind::kContent) return false;
    if (!is_of_data(p)) continue;
    const auto [begin, end] = promised_range(history, p);
    const uint64_t from = std::max(begin, offset), to = std::min<uint64_t>(end, offset + version.size());
    if (from >= to) continue;
    Bytes bytes(version.size());
    read_unit(object_in(history[p.since], object)->data, offset, bytes);
    if (std::memcmp(bytes.data() + (from - offset), version.data() + (from - offset), to - from) != 0)
      return false;
  }
  return true;
}

// Whether the unit was written for the first time in the window: a version that the promises allow has
// nothing there, and a later one has data.
bool written_first(const History& history, ObjectId object, uint64_t offset, uint32_t unit) {
  bool unwritten = false;
  Bytes version(unit);
  for (size_t i = 0; i < history.size(); ++i) {
    const Tree::Node* node = object_in(history[i], object);
    if (!node) continue;
    read_unit(node->data, offset, version);
    const bool data =
        std::any_of(version.begin(), version.end(), [](std::byte b) { return b != std::byte{0}; });
    if (data && unwritten) return true;
    unwritten = unwritten || (!data && unit_allowed(history, object, i, offset, version));
  }
  return false;
}

}  // namespace

std::optional<uint64_t> first_wrong_unit(const History& history, ObjectId object, const FileData& data,
                                         const ContractRules& rules) {
  const uint32_t unit = rules.data_unit;
  // The newest version is allowed for every unit. A unit that differs from it must be an older version; it is
  // then copied into `newest`, so that first_difference() finds the next one without visiting holes.
  FileData newest;
  for (size_t i = history.size(); i-- > 0;) {
    if (const Tree::Node* node = object_in(history[i], object)) {
      newest = node->data;
      break;
    }
  }
  newest.resize(data.size());
  Bytes got(unit), version(unit);
  for (uint64_t at = data.first_difference(newest); at < data.size(); at = data.first_difference(newest)) {
    const uint64_t offset = at / unit * unit;
    const uint64_t length = std::min<uint64_t>(unit, data.size() - offset);
    read_unit(data, offset, got);
    bool found = false;
    for (size_t i = 0; i < history.size() && !found; ++i) {
      const Tree::Node* node = object_in(history[i], object);
      if (!node) continue;
      read_unit(node->data, offset, version);
      found = same_start(got, version, length) && unit_allowed(history, object, i, offset, version);
    }
    found = found || (rules.stale_data && written_first(history, object, offset, unit));
    if (!found) return offset;
    newest.write(offset, std::span(got).first(length));
  }
  return std::nullopt;
}

bool size_allowed(const History& history, ObjectId object, uint64_t size) {
  for (size_t i = 0; i < history.size(); ++i) {
    const Tree::Node* node = object_in(history[i], object);
    if (!node || node->data.size() != size) continue;
    // fdatasync and O_SYNC promise the size that is needed to read the data: a larger size is allowed too.
    const bool left = std::none_of(history.promises.begin(), history.promises.end(), [&](const Promise& p) {
      if (p.object != object || i >= p.since) return false;
      if (p.kind == PromiseKind::kContent) return true;
      return is_of_data(p) && promised_range(history, p).second > size;
    });
    if (left || mutant(Mutant::kAnySize)) return true;
  }
  return false;
}

}  // namespace sisyfs
