#include "adapters/kernel/host_past.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sisyfs::host_past_test {
namespace {

const Geometry kGeometry{.block_size = 512, .block_count = BlockCount(16)};

std::vector<std::byte> block_of(char c) { return std::vector<std::byte>(512, static_cast<std::byte>(c)); }
std::string first_byte(const Image& image, uint64_t address) {
  std::vector<std::byte> out(512);
  image.read(BlockAddress(address), out);
  return {static_cast<char>(out[0])};
}

// Notes what a call does to the media, as a target on the host does.
class Call {
 public:
  explicit Call(Media& media, bool is_mount = false) : media_(media) {
    past_.begin = next();
    if (is_mount) past_.before = media.state();
  }
  Call& write(uint64_t address, char c) {
    media_.write(BlockAddress(address), block_of(c));
    past_.serials.push_back(next() - 1);
    return *this;
  }
  Call& flush() {
    media_.flush();
    past_.serials.push_back(next() - 1);
    return *this;
  }
  HostPast end() {
    past_.end = next();
    return past_;
  }

 private:
  uint64_t next() const { return media_.state().log.next_serial(); }

  Media& media_;
  HostPast past_;
};

std::string text_of(const Log& log) {
  std::string out;
  std::vector<const Event*> events;
  for (const Event* event : log.events(events)) {
    out += std::to_string(log.serial_of(*event));
    if (event->kind == EventKind::kFlush) out += "F ";
    if (event->kind == EventKind::kWrite)
      out += "W" + std::to_string(event->first.value) + static_cast<char>(event->block(0)->bytes()[0]) + " ";
  }
  return out;
}

TEST(HostPastTest, TheBytesOfNowTakeThePlaceOfThoseOfTheFirstTime) {
  Media media{Image(kGeometry)};
  const HostPast mount = Call(media, true).write(1, 'a').end();
  media.note({BoundaryKind::kOpBegin, 0});
  const HostPast op = Call(media).write(2, 'b').flush().write(3, 'c').end();
  media.note({BoundaryKind::kOpEnd, 0});
  const MediaState saved = media.state();

  Media again{*mount.before};
  Call(again).write(1, 'A').write(2, 'B').flush().write(3, 'C');
  const HostRepeat calls[] = {{&mount, 1}, {&op, 3}};
  const MediaState now = rewritten(again.state(), calls, saved);
  EXPECT_EQ(text_of(now.log), "0W1A 2W2B 3F 4W3C ");
  EXPECT_EQ(now.log.next_serial(), saved.log.next_serial());
  EXPECT_EQ(first_byte(now.current, 3), "C");
  EXPECT_EQ(first_byte(now.durable, 1), std::string(1, '\0'));
}

// A recovery has a log of its own, from 0 on, which is then put on top of a disk with a past.
TEST(HostPastTest, ARecoveryIsNumberedFromItsPlace) {
  Media recovery{Image(kGeometry)};
  recovery.write(BlockAddress(5), block_of('r'));  // by a repair, before the mount
  const HostPast mount = Call(recovery, true).write(1, 'a').end();
  Media media{MediaState(Image(kGeometry), 40)};
  media.redo(recovery.state().log);
  const MediaState recovered = media.state();
  media.note({BoundaryKind::kOpBegin, 0});
  const HostPast op = Call(media).write(2, 'b').end();
  const MediaState saved = media.state();

  Media again{*mount.before};
  Call(again).write(1, 'A');
  const HostRepeat only[] = {{&mount, 1}};
  const MediaState now = rewritten(again.state(), only, recovered);
  EXPECT_EQ(text_of(now.log), "40W5r 41W1A ");
  EXPECT_EQ(now.log.next_serial(), 42u);

  Call(again).write(2, 'B');
  const HostRepeat both[] = {{&mount, 1}, {&op, 1}};
  EXPECT_EQ(text_of(rewritten(again.state(), both, saved).log), "40W5r 41W1A 43W2B ");
}

// The mount of an op that unmounts first comes behind what the unmount wrote.
TEST(HostPastTest, WhatCameBeforeAMountStays) {
  Media media{MediaState(Image(kGeometry), 7)};
  media.note({BoundaryKind::kOpBegin, 0});
  media.write(BlockAddress(9), block_of('u'));
  const HostPast mount = Call(media, true).write(1, 'a').end();
  media.note({BoundaryKind::kOpEnd, 0});
  media.note({BoundaryKind::kPromise, 0});
  const MediaState saved = media.state();
  Media again{*mount.before};
  Call(again).write(1, 'A');
  const HostRepeat only[] = {{&mount, 1}};
  const MediaState now = rewritten(again.state(), only, saved);
  EXPECT_EQ(text_of(now.log), "8W9u 9W1A ");
  EXPECT_EQ(now.log.next_serial(), saved.log.next_serial());
}

// The kernel may leave out a write the next time. The others keep their places.
TEST(HostPastTest, ARepetitionMayHaveFewerEvents) {
  Media media{Image(kGeometry)};
  const HostPast mount = Call(media, true).write(1, 'a').write(2, 'b').end();
  media.note({BoundaryKind::kOpBegin, 0});
  const HostPast op = Call(media).write(3, 'c').end();
  const MediaState saved = media.state();
  Media again{*mount.before};
  Call(again).write(1, 'A').write(3, 'C');
  const HostRepeat calls[] = {{&mount, 1}, {&op, 1}};
  EXPECT_EQ(text_of(rewritten(again.state(), calls, saved).log), "0W1A 3W3C ");
}

TEST(HostPastTest, ARepetitionMayHaveMoreEvents) {
  Media media{Image(kGeometry)};
  const HostPast mount = Call(media, true).write(1, 'a').end();
  media.note({BoundaryKind::kOpBegin, 0});
  const HostPast op = Call(media).write(3, 'c').end();
  media.note({BoundaryKind::kOpEnd, 0});
  const MediaState saved = media.state();
  Media again{*mount.before};
  Call(again).write(1, 'A').write(3, 'C').write(4, 'D');
  const HostRepeat calls[] = {{&mount, 1}, {&op, 2}};
  const MediaState now = rewritten(again.state(), calls, saved);
  EXPECT_EQ(text_of(now.log), "0W1A 2W3C 2W4D ");
  EXPECT_EQ(now.log.next_serial(), saved.log.next_serial());
}

}  // namespace
}  // namespace sisyfs::host_past_test
