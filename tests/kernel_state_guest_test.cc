// What a kernel target takes for one state. Story: the digest of a state had the whole disk before the mount
// in it, while a recovery that was looked up came from another disk that agreed in all that was read. So
// 'check ext4
// --depth 2' counted 1,326 transitions on one thread and 1,325 on two.
#include <gtest/gtest.h>

#include "adapters/kernel/kernel_target.h"
#include "disk/media.h"
#include "guest_for_test.h"

namespace sisyfs::kernel_state_guest_test {
namespace {

// ext2 has no checksums, so that a byte can be changed.
class KernelStateGuestTest : public testing::Test {
 protected:
  void SetUp() override {
    const FileSystem& fs = *file_system("ext2");
    if (const std::string why = why_no_guest(&fs); !why.empty()) GTEST_SKIP() << why;
    setup_ = std::make_shared<KernelSetup>();
    setup_->fs = fs;
    setup_->mkfs = words_of(fs.mkfs);
    Result<GuestKernel> kernel = GuestKernel::find(kPackagedGuest);
    ASSERT_TRUE(kernel);
    setup_->kernel = *std::move(kernel);
    setup_->kernel.to_load = {"nbd"};
    setup_->disk = {.block_size = fs.block, .block_count = BlockCount(fs.kibibytes * 1024 / fs.block)};
    target_ = make_kernel_target(setup_);
    media_ = std::make_unique<Media>(Image(setup_->disk));
    ASSERT_EQ(target_->format(*media_), 0);
    new_ = media_->state().current;
  }
  // The memory after a mount of the new disk with this byte changed, and after a call.
  Digest memory(BlockAddress address, size_t byte) {
    Image image = *new_;
    std::vector<std::byte> block(setup_->disk.block_size);
    image.read(address, block);
    block[byte] ^= std::byte{1};
    image.write(address, block);
    return memory_of(image);
  }
  Digest memory_of(const Image& image) {
    target_->power_cut();
    media_->load(MediaState(image));
    EXPECT_EQ(target_->mount(*media_), 0);
    EXPECT_EQ(target_->apply(Op::of(OpKind::kMkdir, Path("/a"))).error, 0);
    return target_->saves_memory()->save().digest();
  }

  std::shared_ptr<KernelSetup> setup_;
  std::unique_ptr<Target> target_;
  std::unique_ptr<Media> media_;
  std::optional<Image> new_;
};

TEST_F(KernelStateGuestTest, WhatTheKernelHasNotReadIsNoPartOfItsMemory) {
  const Digest plain = memory_of(*new_);
  EXPECT_EQ(memory_of(*new_), plain);
  const BlockAddress last(setup_->disk.block_count.value - 1);
  EXPECT_EQ(memory(last, 0), plain) << "a block of no file";
}

TEST_F(KernelStateGuestTest, WhatTheKernelHasReadIsAPart) {
  const Digest plain = memory_of(*new_);
  constexpr size_t kVolumeName = 120;
  EXPECT_NE(memory(BlockAddress(1), kVolumeName), plain) << "in the superblock";
}

}  // namespace
}  // namespace sisyfs::kernel_state_guest_test
