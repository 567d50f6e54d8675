// Xattrs: the extended attributes of a file or directory, as a value that is cheap to copy.
//
// Hardly any node has some, so having none costs one null pointer. Otherwise they are a list in the order of
// names, in pooled memory that copies share; a change copies what comes before it.
//
//   Xattrs x;
//   x.set("user.a", bytes);
//   if (const FileData* value = x.find("user.a")) ...
//   for (const Xattrs::Cell* at = x.first(); at != nullptr; at = at->after()) use(at->name.text(),
//   at->value);
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
    uint32_t count = 1;  // from here to the end
    Ref<Cell> next;
    Digest sum;  // over all from here to the end
  };

  bool empty() const { return !head_; }
  size_t size() const { return head_ ? head_->count : 0; }
  const Cell* first() const { return head_.get(); }
  // Null if there is none of this name.
  const FileData* find(std::string_view name) const;
  // Adds an attribute, or gives it another value.
  void set(std::string_view name, std::span<const std::byte> bytes);
  // Whether there was one.
  bool remove(std::string_view name);

  // Covers names and values. Zero if there are none.
  Digest digest() const { return head_ ? head_->sum : Digest{}; }
  friend bool operator==(const Xattrs& a, const Xattrs& b) { return a.digest() == b.digest(); }

 private:
  static Ref<Cell> cons(const Name& name, const FileData& value, Ref<Cell> next);
  // The list from `at` on without `name`, and with the value in its place if there is one.
  static Ref<Cell> replaced(const Ref<Cell>& at, std::string_view name, const FileData* value);

  Ref<Cell> head_;
};

}  // namespace sisyfs
