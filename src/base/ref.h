// Ref<T>: a counted reference to an immutable object that may be shared between threads.
//
// T keeps its count in a RefCount and offers `static void destroy(const T*)`. A null Ref is allowed. The
// count is atomic, so references to one object may be copied and dropped on any thread. One Ref belongs to
// one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace sisyfs {

class RefCount {
 public:
  void take() const {
    if (!is_permanent()) count_.fetch_add(1, std::memory_order_relaxed);
  }
  // True if the caller held the last reference and must destroy the object.
  [[nodiscard]] bool drop() const {
    // With the only reference no atomic subtraction is needed: no other thread can take one.
    return only() || (!is_permanent() && count_.fetch_sub(1, std::memory_order_acq_rel) == 1);
  }
  // The object is never destroyed, and its references are no longer counted. Threads that share it then only
  // read it, so they do not slow each other down. Called while no other thread has a reference.
  void make_permanent() const { count_.store(kPermanent, std::memory_order_relaxed); }
  bool is_permanent() const { return count_.load(std::memory_order_relaxed) >= kPermanent; }
  // True if the caller's reference is the only one, so the object may be changed in place.
  bool only() const { return count_.load(std::memory_order_acquire) == 1; }

 private:
  static constexpr uint32_t kPermanent = uint32_t{1} << 31;
  mutable std::atomic<uint32_t> count_{1};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(const Ref& o) : thing_(o.thing_) {
    if (thing_ != nullptr) thing_->refs.take();
  }
  Ref(Ref&& o) noexcept : thing_(std::exchange(o.thing_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(thing_, o.thing_);
    return *this;
  }
  ~Ref() {
    if (thing_ != nullptr && thing_->refs.drop()) T::destroy(thing_);
  }

  // Takes over a reference that the caller owns.
  static Ref adopt(const T* thing) {
    Ref ref;
    ref.thing_ = thing;
    return ref;
  }
  // A further reference to an object that the caller keeps alive; null gives null.
  static Ref share(const T* thing) {
    if (thing != nullptr) thing->refs.take();
    return adopt(thing);
  }
  // Gives up the reference; the caller owns it now.
  [[nodiscard]] const T* detach() { return std::exchange(thing_, nullptr); }

  const T* get() const { return thing_; }
  const T* operator->() const { return thing_; }
  const T& operator*() const { return *thing_; }
  explicit operator bool() const { return thing_ != nullptr; }

 private:
  const T* thing_ = nullptr;
};

}  // namespace sisyfs
