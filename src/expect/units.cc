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
  if (p.kind == PromiseKind::kWritten || p.kind == PromiseKind::kSize) return {p.offset, p.end};
  return {0, version_in(history[p.since], p.object)->data.size()};
}

bool is_of_data(const Promise& p) {
  return p.kind == PromiseKind::kData || p.kind == PromiseKind::kWritten || p.kind == PromiseKind::kSize;
}

bool has_doubt(const Promise& p) { return p.doubt != kNoDoubt && !mutant(Mutant::kNoDoubts); }

// Whether a failure of the device keeps the promise from covering this unit: it has not changed since.
bool unit_in_doubt(const History& history, const Promise& p, uint64_t offset, size_t unit) {
  if (!has_doubt(p)) return false;
  Bytes promised(unit), version(unit);
  read_unit(version_in(history[p.since], p.object)->data, offset, promised);
  for (size_t i = p.doubt; i < p.since; ++i) {
    const Tree::Node* node = version_in(history[i], p.object);
    if (!node) return false;
    read_unit(node->data, offset, version);
    if (version != promised) return false;
  }
  return true;
}

// Likewise for the size.
bool size_in_doubt(const History& history, const Promise& p) {
  if (!has_doubt(p)) return false;
  const uint64_t promised = version_in(history[p.since], p.object)->data.size();
  for (size_t i = p.doubt; i < p.since; ++i) {
    const Tree::Node* node = version_in(history[i], p.object);
    if (!node || node->data.size() != promised) return false;
  }
  return true;
}

// The end of the last unit that has changed between the failure of the device and the promise, within a file
// that kept its size.
uint64_t changed_end(const History& history, const Promise& p, uint32_t unit) {
  uint64_t last = 0;
  const FileData& promised = version_in(history[p.since], p.object)->data;
  Bytes bytes(unit);
  for (size_t i = p.doubt; i < p.since; ++i) {
    FileData version = version_in(history[i], p.object)->data;
    for (uint64_t at = version.first_difference(promised); at < promised.size();
         at = version.first_difference(promised)) {
      const uint64_t offset = at / unit * unit;
      const uint64_t end = std::min<uint64_t>(offset + unit, promised.size());
      last = std::max(last, end);
      read_unit(promised, offset, bytes);
      version.write(offset, std::span(bytes).first(end - offset));
    }
  }
  return last;
}

// Whether the promises allow version i of a unit. fdatasync and O_SYNC promise only the bytes themselves, so
// an older version with the same bytes is allowed. Only the bytes of the unit from `skip` on are judged.
bool unit_allowed(const History& history, ObjectId object, size_t i, uint64_t offset, const Bytes& version,
                  size_t skip = 0) {
  for (const Promise& p : history.promises) {
    if (p.object != object || i >= p.since) continue;
    if (p.kind != PromiseKind::kContent && !is_of_data(p)) continue;
    if (unit_in_doubt(history, p, offset, version.size())) continue;
    if (p.kind == PromiseKind::kContent) return false;
    const auto [begin, end] = promised_range(history, p);
    const uint64_t from = std::max(begin, offset + skip),
                   to = std::min<uint64_t>(end, offset + version.size());
    if (from >= to) continue;
    Bytes bytes(version.size());
    read_unit(version_in(history[p.since], object)->data, offset, bytes);
    if (std::memcmp(bytes.data() + (from - offset), version.data() + (from - offset), to - from) != 0)
      return false;
  }
  return true;
}

// Whether the promises allow the size that the object had at position i.
bool size_allowed_at(const History& history, ObjectId object, size_t i, uint64_t size, uint32_t unit) {
  return std::none_of(history.promises.begin(), history.promises.end(), [&](const Promise& p) {
    if (p.object != object || i >= p.since) return false;
    const bool exact = p.kind == PromiseKind::kContent || p.kind == PromiseKind::kSize;
    if (!exact && !is_of_data(p)) return false;
    if (size_in_doubt(history, p)) return changed_end(history, p, unit) > size;
    // fdatasync and O_SYNC promise the size that is needed to read the data: a larger size is allowed too.
    return exact || promised_range(history, p).second > size;
  });
}

// Whether the unit is this version as far as the file reached then, and beyond that another version that the
// promises allow. A version that ends within the unit says nothing of the bytes behind its end.
bool goes_on_as_another(const History& history, ObjectId object, const FileData& data, uint64_t offset,
                        const Bytes& got, uint64_t length) {
  if (data.size() <= offset || data.size() >= offset + length) return false;
  const auto end = static_cast<size_t>(data.size() - offset);
  Bytes version(got.size());
  (void)data.read(offset, version);
  if (!same_start(got, version, end)) return false;
  for (size_t i = 0; i < history.size(); ++i) {
    const Tree::Node* node = version_in(history[i], object);
    if (!node) continue;
    read_unit(node->data, offset, version);
    const bool same =
        std::equal(got.begin() + static_cast<ptrdiff_t>(end), got.begin() + static_cast<ptrdiff_t>(length),
                   version.begin() + static_cast<ptrdiff_t>(end));
    if (same && unit_allowed(history, object, i, offset, version, end)) return true;
  }
  return false;
}

// Whether the unit was written for the first time in the window: a version that the promises allow has
// nothing there, and a later one has data.
bool written_first(const History& history, ObjectId object, uint64_t offset, uint32_t unit) {
  bool unwritten = false;
  Bytes version(unit);
  for (size_t i = 0; i < history.size(); ++i) {
    const Tree::Node* node = version_in(history[i], object);
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
    if (const Tree::Node* node = version_in(history[i], object)) {
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
      const Tree::Node* node = version_in(history[i], object);
      if (!node) continue;
      read_unit(node->data, offset, version);
      found = unit_allowed(history, object, i, offset, version) &&
              (same_start(got, version, length) ||
               goes_on_as_another(history, object, node->data, offset, got, length));
    }
    found = found || (rules.stale_data && written_first(history, object, offset, unit));
    if (!found) return offset;
    newest.write(offset, std::span(got).first(length));
  }
  return std::nullopt;
}

bool size_allowed(const History& history, ObjectId object, uint64_t size, const ContractRules& rules) {
  for (size_t i = 0; i < history.size(); ++i) {
    const Tree::Node* node = version_in(history[i], object);
    if (!node || node->data.size() != size) continue;
    if (size_allowed_at(history, object, i, size, rules.data_unit) || mutant(Mutant::kAnySize)) return true;
  }
  return false;
}

bool version_allowed(const History& history, ObjectId object, size_t position, const ContractRules& rules) {
  const FileData& data = version_in(history[position], object)->data;
  if (!size_allowed_at(history, object, position, data.size(), rules.data_unit)) return false;
  uint64_t end = data.size();
  for (const Promise& p : history.promises)
    if (p.object == object && is_of_data(p)) end = std::max(end, promised_range(history, p).second);
  Bytes version(rules.data_unit);
  for (uint64_t offset = 0; offset < end; offset += rules.data_unit) {
    read_unit(data, offset, version);
    if (!unit_allowed(history, object, position, offset, version)) return false;
  }
  return true;
}

}  // namespace sisyfs
