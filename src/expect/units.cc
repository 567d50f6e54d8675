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

// The bytes of a unit, with zeros beyond the end.
void read_unit(const FileData& data, uint64_t offset, Bytes& out) {
  const size_t count = data.read(offset, out);
  std::fill(out.begin() + static_cast<ptrdiff_t>(count), out.end(), std::byte{0});
}

bool same_start(const Bytes& a, const Bytes& b, uint64_t count) {
  return std::memcmp(a.data(), b.data(), std::min<uint64_t>(count, a.size())) == 0;
}

// Which bytes of the file a promise of data is about: from the first number to before the second.
std::pair<uint64_t, uint64_t> promised_range(const History& history, const Promise& p) {
  if (p.kind == PromiseKind::kWritten) return {p.offset, p.end};
  return {0, object_in(history[p.since], p.object)->data.size()};
}

bool is_of_data(const Promise& p) { return p.kind == PromiseKind::kData || p.kind == PromiseKind::kWritten; }

// Whether the promises let version i of a unit come back. fdatasync and O_SYNC bind no more than the bytes
// that were there: an older version is as good if it has the same ones.
bool unit_left(const History& history, ObjectId object, size_t i, uint64_t offset, const Bytes& version) {
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

}  // namespace

std::optional<uint64_t> first_wrong_unit(const History& history, ObjectId object, const FileData& data,
                                         uint32_t unit) {
  // The newest version is good for every unit. What differs from it must be an older one; it is then
  // copied over, so that the next difference is found without a look at what a sparse file does not have.
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
      found = same_start(got, version, length) && unit_left(history, object, i, offset, version);
    }
    if (!found) return offset;
    newest.write(offset, std::span(got).first(length));
  }
  return std::nullopt;
}

bool size_allowed(const History& history, ObjectId object, uint64_t size) {
  for (size_t i = 0; i < history.size(); ++i) {
    const Tree::Node* node = object_in(history[i], object);
    if (!node || node->data.size() != size) continue;
    // fdatasync and O_SYNC promise the size that is needed to read the data: a larger one does as well.
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
