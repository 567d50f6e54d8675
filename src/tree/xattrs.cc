#include "tree/xattrs.h"

#include <new>
#include <utility>

#include "disk/pool.h"

namespace sisyfs {
namespace {

Digest term(std::string_view name, const FileData& value) {
  const Digest content = digest_at(value.size(), value.digest());
  return digest_at(XXH3_64bits(name.data(), name.size()), content);
}

}  // namespace

void Xattrs::Cell::destroy(const Cell* cell) {
  Cell* gone = const_cast<Cell*>(cell);
  gone->~Cell();
  pool_give(gone, sizeof(Cell));
}

Ref<Xattrs::Cell> Xattrs::cons(const Name& name, const FileData& value, Ref<Cell> next) {
  Cell* cell = new (pool_take(sizeof(Cell))) Cell;
  cell->name = name;
  cell->value = value;
  cell->sum = term(name.text(), value);
  if (next) {
    cell->sum += next->sum;
    cell->count += next->count;
  }
  cell->next = std::move(next);
  return Ref<Cell>::adopt(cell);
}

const FileData* Xattrs::find(std::string_view name) const {
  for (const Cell* at = first(); at != nullptr; at = at->after()) {
    if (at->name.text() == name) return &at->value;
  }
  return nullptr;
}

Ref<Xattrs::Cell> Xattrs::replaced(const Ref<Cell>& at, std::string_view name, const FileData* value) {
  if (at && at->name.text() < name) return cons(at->name, at->value, replaced(at->next, name, value));
  const Ref<Cell>& rest = at && at->name.text() == name ? at->next : at;
  return value != nullptr ? cons(Name(name), *value, rest) : rest;
}

void Xattrs::set(std::string_view name, std::span<const std::byte> bytes) {
  FileData value;
  if (!bytes.empty()) value.write(0, bytes);
  head_ = replaced(head_, name, &value);
}

bool Xattrs::remove(std::string_view name) {
  if (find(name) == nullptr) return false;
  head_ = replaced(head_, name, nullptr);
  return true;
}

}  // namespace sisyfs
