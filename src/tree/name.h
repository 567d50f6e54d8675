// Name: one component of a path, up to 255 bytes, in 16 bytes that are cheap to copy.
//
// Up to 15 characters are stored inline; a longer name is in pooled memory that copies share.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/ref.h"
#include "disk/pool.h"

namespace sisyfs {

class Name {
 public:
  static constexpr size_t kMaxSize = 255;

  Name() = default;
  explicit Name(std::string_view text) : size_(static_cast<uint8_t>(text.size())) {
    SISYFS_ASSERT(text.size() <= kMaxSize, "a name has at most 255 bytes");
    char* to = text_;
    if (is_long()) {
      Long* memory = new (pool_take(sizeof(Long) + size_)) Long;
      std::memcpy(text_, &memory, sizeof memory);
      to = reinterpret_cast<char*>(memory + 1);
    }
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
  }
  Name(const Name& o) : size_(o.size_) {
    std::memcpy(text_, o.text_, sizeof text_);
    if (is_long()) memory()->refs.take();
  }
  Name& operator=(Name o) noexcept {
    char text[kInside];
    std::memcpy(text, text_, kInside);
    std::memcpy(text_, o.text_, kInside);
    std::memcpy(o.text_, text, kInside);
    std::swap(size_, o.size_);
    return *this;
  }
  ~Name() {
    if (is_long() && memory()->refs.drop()) pool_give(memory(), sizeof(Long) + size_);
  }

  std::string_view text() const {
    return {is_long() ? reinterpret_cast<const char*>(memory() + 1) : text_, size_};
  }

 private:
  static constexpr size_t kInside = 15;
  struct Long {
    RefCount refs;  // the characters follow
  };

  bool is_long() const { return size_ > kInside; }
  Long* memory() const {
    Long* out = nullptr;
    std::memcpy(&out, text_, sizeof out);
    return out;
  }

  char text_[kInside] = {};  // or the address of the pooled memory
  uint8_t size_ = 0;
};
static_assert(sizeof(Name) == 16);

}  // namespace sisyfs
