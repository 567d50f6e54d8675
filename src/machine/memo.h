// Memo: a table of answers by digest, of fixed size, that forgets.
//
// Each key has one place; a new answer takes the place of the one that was there. So memory is bounded,
// and nothing is allocated but by the answers themselves, which should be small. What a memo has forgotten is
// worked out again: it can change how long a search takes, and nothing else.
//
//   Memo<Answer> memo(14);                       // 2^14 places
//   Answer* known = memo.find(key);
//   if (known == nullptr) work_out(*(known = &memo.put(key)));
#pragma once

#include <cstddef>
#include <vector>

#include "base/digest.h"

namespace sisyfs {

template <class Answer>
class Memo {
 public:
  explicit Memo(unsigned bits) : slots_(size_t{1} << bits) {}

  // What was put under this key, or null. Lives until the next put().
  Answer* find(const Digest& key) {
    Slot& slot = slot_of(key);
    return slot.used && slot.key == key ? &slot.answer : nullptr;
  }
  // The place for an answer; what it holds is rubbish.
  Answer& put(const Digest& key) {
    Slot& slot = slot_of(key);
    slot.used = true;
    slot.key = key;
    return slot.answer;
  }

 private:
  struct Slot {
    Digest key;
    Answer answer;
    bool used = false;
  };
  Slot& slot_of(const Digest& key) { return slots_[DigestHash{}(key) & (slots_.size() - 1)]; }

  std::vector<Slot> slots_;
};

}  // namespace sisyfs
