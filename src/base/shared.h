// Shared<T>: a value that copies share until one of them changes it.
//
// Copying costs one reference count. edit() copies the value first if it is shared, otherwise it changes the
// value in place. Copies may live in different threads; each copy belongs to one thread.
//
//   Shared<Node> mine = theirs;   // both hold the same node
//   mine.edit().links += 1;       // mine has its own node now, theirs is unchanged
#pragma once

#include <utility>

#include "base/assert.h"
#include "base/ref.h"

namespace sisyfs {

template <class T>
class Shared {
 public:
  // Holds nothing; only assignment, conversion to bool and destruction are allowed.
  Shared() = default;
  explicit Shared(T value) : cell_(Ref<Cell>::adopt(new Cell(std::move(value)))) {}

  explicit operator bool() const { return static_cast<bool>(cell_); }
  const T& operator*() const { return cell_->value; }
  const T* operator->() const { return &cell_->value; }
  // True if both hold the same copy, so that they need not be compared.
  bool same(const Shared& o) const { return cell_.get() == o.cell_.get(); }

  T& edit() {
    SISYFS_ASSERT(cell_, "only a value that is held can be edited");
    if (!cell_->refs.only()) *this = Shared(T(cell_->value));
    return const_cast<Cell*>(cell_.get())->value;  // no other holder sees it
  }

 private:
  struct Cell {
    explicit Cell(T v) : value(std::move(v)) {}
    static void destroy(const Cell* cell) { delete cell; }
    RefCount refs;
    T value;
  };
  Ref<Cell> cell_;
};

}  // namespace sisyfs
