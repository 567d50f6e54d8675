// JFFS2 and UBIFS on the flash of a kernel that was built for this (scripts/guest_kernel.sh).
// SISYFS_GUEST_KERNEL names it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "guest_for_test.h"
#include "program.h"

namespace sisyfs::flash_guest_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class FlashGuestTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const own = std::getenv("SISYFS_GUEST_KERNEL");
    if (own == nullptr)
      GTEST_SKIP() << "SISYFS_GUEST_KERNEL names no kernel (scripts/guest_kernel.sh builds one)";
    kernel_ = own;
  }
  Answer check(const std::string& words) const { return check("jffs2", words); }
  Answer check(const std::string& target, const std::string& words) const {
    return run("check " + target + " --progress off --kernel " + kernel_ + " " + words);
  }
  std::string kernel_;
};

TEST_F(FlashGuestTest, Jffs2KeepsItsPromisesInOneCall) {
  for (const char* also : {"", "--set torn_bits=on", "--set contract=atomic"}) {
    const Answer a = check(std::string("--depth 1 ") + also);
    EXPECT_EQ(a.code, 0) << also << '\n' << a.text;
    EXPECT_THAT(a.text, AllOf(HasSubstr("PASS: jffs2"), HasSubstr("NOR flash with pages of 512 bytes"),
                              HasSubstr("the power went in the middle of an op")));
  }
}

TEST_F(FlashGuestTest, UbifsKeepsItsPromisesInOneCall) {
  for (const char* also : {"", "--set handles=on --set impossible=on --set crash=prefixes"}) {
    const Answer a = check("ubifs", std::string("--depth 1 ") + also);
    EXPECT_EQ(a.code, 0) << also << '\n' << a.text;
    EXPECT_THAT(a.text, AllOf(HasSubstr("PASS: ubifs"), HasSubstr("NOR flash with pages of 512 bytes"),
                              HasSubstr("the power went in the middle of an op")));
  }
}

// What is unmounted and mounted again is on the flash, with UBI attached anew in between.
TEST_F(FlashGuestTest, UbifsComesBackAfterARemount) {
  const TemporaryDirectory folder;
  const std::string script = folder.write(
      "script", "create /a\nappend /a 512\nremount\nappend /a 512\nmkdir /d\nrename /a /d/a\nremount\n");
  const Answer a = check("ubifs", "--set crash=none --script " + script);
  EXPECT_EQ(a.code, 0) << a.text;
}

// UBI finds its own headers missing, so that no file system can be made. A unit that fails before anything
// can be checked is bad input, and no finding.
TEST_F(FlashGuestTest, AFlashOnWhichUbifsCannotBeginIsRefused) {
  std::string units = "0";
  for (int unit = 1; unit < 32; ++unit) units += "+" + std::to_string(unit);
  const Answer a = check("ubifs", "--depth 1 --set bad_unit=program-noop --set bad_units=" + units);
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, HasSubstr("cannot be formatted and brought to its start"));
}

TEST_F(FlashGuestTest, AKernelThatDiesInACallOnUbifsIsFound) {
  const TemporaryDirectory folder;
  const std::string script = folder.write("script", "create /a\nappend /a 512\nfsync /a\nremount\n");
  EXPECT_EQ(check("ubifs", "--set crash=none --script " + script).code, 0);
  const Answer a = check("ubifs", "--set crash=none --set plant=panic@fsync --script " + script);
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(a.text, HasSubstr("target-died (T1)"));
}

// Programs that have no effect and answer success: jffs2 does not read back what it has written.
TEST_F(FlashGuestTest, AFlashThatDropsProgramsIsFound) {
  const TemporaryDirectory folder;
  const std::string script = folder.write("script", "create /a\nappend /a 512\nfsync /a\nremount\n");
  EXPECT_EQ(check("--set crash=none --script " + script).code, 0);
  const Answer a = check(
      "--set crash=none --set bad_units=0+1+2+3+4+5+6+7 --set bad_unit=program-noop --script " + script);
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(a.text, AllOf(HasSubstr("wrong-effect (O2)"), HasSubstr("file /a: missing")));
}

TEST_F(FlashGuestTest, AKernelWithoutFlashIsRefused) {
  if (const std::string why = why_no_guest(); !why.empty()) GTEST_SKIP() << why;
  const Answer a = run("check jffs2 --depth 1 --progress off --kernel " + std::string(kPackagedGuest));
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, HasSubstr("has no flash: it needs CONFIG_MTD_MTDRAM and CONFIG_JFFS2_FS"));
}

TEST_F(FlashGuestTest, WhatIsForDisksIsRefused) {
  for (const char* wrong : {"device=torn", "flash=nand", "disk=65", "fresh=zeros"}) {
    const Answer a = check(std::string("--depth 1 --set ") + wrong);
    EXPECT_EQ(a.code, 2) << wrong << '\n' << a.text;
  }
}

}  // namespace
}  // namespace sisyfs::flash_guest_test
