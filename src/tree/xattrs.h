// Xattrs: the extended attributes of a file or directory, as a value that is cheap to copy.
//
// Most nodes have no attributes; that costs one null pointer. Otherwise they are a list sorted by name, in
// pooled memory that copies share. A change copies the cells before it.
//
//   Xattrs x;
//   x.set("user.a", bytes);
//   if (const FileData* value = x.find("user.a")) ...
//   for (const Xattrs::Cell* at = x.first(); at != nullptr; at = at->after()) use(at->name.text());
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/digest.h"
#include "base/ref.h"
#include "tree/file_data.h"
#include "tree/name.h"

namespace sisyfs {

class Xattrs {
 public:
  static constexpr size_t kMaxValue = 65536;  // bytes, as in Linux

  struct Cell {
    Name name;
    FileData value;
    const Cell* after() const { return next.get(); }

   private:
    friend class Xattrs;
    friend class Ref<Cell>;
    static void destroy(const Cell* cell);
    RefCount refs;
    uint32_t count = 1;  // number of cells from here to the end
    Ref<Cell> next;
    Digest sum;  // digest of the cells from here to the end
  };

  bool empty() const { return !head_; }
  size_t size() const { return head_ ? head_->count : 0; }
  const Cell* first() const { return head_.get(); }
  // The value with this name, or null.
  const FileData* find(std::string_view name) const;
  // Adds an attribute or replaces its value.
  void set(std::string_view name, std::span<const std::byte> bytes);
  // Returns whether the attribute existed.
  bool remove(std::string_view name);

  // Covers names and values. Zero if there are no attributes.
  Digest digest() const { return head_ ? head_->sum : Digest{}; }
  friend bool operator==(const Xattrs& a, const Xattrs& b) { return a.digest() == b.digest(); }

 private:
  static Ref<Cell> cons(const Name& name, const FileData& value, Ref<Cell> next);
  // The list from `at` on with `name` removed, or with its value replaced if `value` is not null.
  static Ref<Cell> replaced(const Ref<Cell>& at, std::string_view name, const FileData* value);

  Ref<Cell> head_;
};

}  // namespace sisyfs
