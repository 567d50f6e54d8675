// Snapshot: the memory of a target at one moment, as a value.
//
// Only the target knows its content; other code copies it, stores it and compares its digest. Up to 128 bytes
// of plain memory are stored in the snapshot itself. Larger memory is stored once, in pooled memory, and
// shared by all copies. So saving plain memory does not allocate once the pool has grown. A snapshot never
// changes.
//
//   Snapshot save() const { return Snapshot(memory_); }                 // plain, without padding
//   Snapshot save() const { return Snapshot(memory_, memory_.digest()); }  // anything that can be copied
//   void load(const Snapshot& s, Media& media) { memory_ = s.as<Memory>(); ... }
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "base/assert.h"
#include "base/digest.h"
#include "disk/pool.h"

namespace sisyfs {

class Snapshot {
 public:
  static constexpr size_t kInlineSize = 128;

  // Empty: for a target that is not mounted and has no memory to save.
  Snapshot() = default;

  // The digest is that of the bytes, so the type must have no padding.
  template <class T>
  requires(std::has_unique_object_representations_v<T>) explicit Snapshot(const T& memory)
      : Snapshot(memory, digest_of(&memory, sizeof memory)) {}

  // Equal digests must mean equal memories.
  template <class T>
  Snapshot(T memory, const Digest& digest) : digest_(digest), type_(&kType<T>) {
    if constexpr (kFits<T>) {
      std::memcpy(inline_.data(), &memory, sizeof memory);
    } else {
      shared_ = std::allocate_shared<const T>(PoolAllocator<T>(), std::move(memory));
    }
  }

  bool empty() const { return type_ == nullptr; }
  const Digest& digest() const { return digest_; }

  // What was saved, as the type that it was saved as. Lives as long as the snapshot.
  template <class T>
  const T& as() const {
    SISYFS_ASSERT(type_ == &kType<T>, "a snapshot is loaded by the target that saved it");
    if constexpr (kFits<T>) {
      return *std::launder(reinterpret_cast<const T*>(inline_.data()));
    } else {
      return *static_cast<const T*>(shared_.get());
    }
  }

 private:
  template <class T>
  static constexpr bool kFits = std::is_trivially_copyable_v<T> && sizeof(T) <= kInlineSize &&
                                alignof(T) <= alignof(std::max_align_t);
  // One object for each type. Only its address is used, to tell types apart.
  template <class T>
  static inline char kType = 0;

  Digest digest_;
  const char* type_ = nullptr;
  std::shared_ptr<const void> shared_;
  alignas(std::max_align_t) std::array<std::byte, kInlineSize> inline_;
};

}  // namespace sisyfs
