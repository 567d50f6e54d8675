// Shared<T>: a value that copies share until one of them changes it.
//
// Copying costs one reference count. edit() copies the value first if it is shared, otherwise it changes the
// value in place. Copies may live in different threads; each copy belongs to one thread.
//
//   Shared<Node> mine = theirs;   // both hold the same node
//   mine.edit().links += 1;       // mine has its own node now, theirs is unchanged
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/assert.h"

namespace sisyfs {

template <class T>
class Shared {
 public:
  // Holds nothing; only assignment, conversion to bool and destruction are allowed.
  Shared() = default;
  explicit Shared(T value) : cell_(new Cell(std::move(value))) {}
  Shared(const Shared& o) : cell_(o.cell_) {
    if (cell_) cell_->holders.fetch_add(1, std::memory_order_relaxed);
  }
  Shared(Shared&& o) noexcept : cell_(std::exchange(o.cell_, nullptr)) {}
  Shared& operator=(Shared o) noexcept {
    std::swap(cell_, o.cell_);
    return *this;
  }
  ~Shared() {
    if (cell_ && cell_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete cell_;
  }

  explicit operator bool() const { return cell_ != nullptr; }
  const T& operator*() const { return cell_->value; }
  const T* operator->() const { return &cell_->value; }
  // True if both share one value, so that comparing them is not needed.
  bool same(const Shared& o) const { return cell_ == o.cell_; }

  T& edit() {
    SISYFS_ASSERT(cell_, "only a value that is held can be edited");
    if (cell_->holders.load(std::memory_order_acquire) != 1) *this = Shared(T(cell_->value));
    return cell_->value;
  }

 private:
  struct Cell {
    explicit Cell(T v) : value(std::move(v)) {}
    std::atomic<uint32_t> holders{1};
    T value;
  };
  Cell* cell_ = nullptr;
};

}  // namespace sisyfs
