#include "adapters/app/app_services.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sisyfs::app_services_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::string> lines_of(const std::vector<std::string>& parts) {
  std::vector<std::string> out;
  LineReader reader;
  for (const std::string& part : parts)
    reader.add(part, [&](const std::string& line) { out.push_back(line); });
  return out;
}

TEST(LineReaderTest, GivesOutWholeLinesHoweverTheyArrive) {
  EXPECT_THAT(lines_of({"one\n"}), ElementsAre("one"));
  EXPECT_THAT(lines_of({"one\ntwo\n"}), ElementsAre("one", "two"));
  EXPECT_THAT(lines_of({"o", "n", "e", "\n", "two\nth", "ree\n"}), ElementsAre("one", "two", "three"));
  EXPECT_THAT(lines_of({"\n\n"}), ElementsAre("", ""));
  EXPECT_THAT(lines_of({"no end"}), IsEmpty());
}

class AppServicesTest : public testing::Test {
 protected:
  AppServicesTest() {
    services_.on_ack = [this](const std::string& line, pid_t thread) { acks_.emplace_back(line, thread); };
    services_.on_kept = [this](const std::string& line) { kept_.push_back(line); };
    services_.on_output = [this](const std::string& line, pid_t thread) {
      printed_.emplace_back(line, thread);
    };
    services_.acked = [] { return std::string("one\ntwo\n"); };
  }

  AppServices services_;
  std::vector<std::pair<std::string, pid_t>> acks_, printed_;
  std::vector<std::string> kept_;
};

TEST_F(AppServicesTest, OtherNamesAreNoServices) {
  for (const char* name : {"", "a", ".sisyfs", "sisyfs-ack", ".sisyfs-ack.tmp"})
    EXPECT_EQ(services_.find(name), -1);
}

TEST_F(AppServicesTest, EachServiceHasItsOwnLines) {
  const int ack = services_.find(".sisyfs-ack"), kept = services_.find(".sisyfs-kept");
  ASSERT_GE(ack, 0);
  ASSERT_GE(kept, 0);
  services_.write(ack, "first ", 7);
  services_.write(kept, "other\n", 8);
  services_.write(ack, "ack\n", 7);
  EXPECT_THAT(acks_, ElementsAre(Pair("first ack", 7)));
  EXPECT_THAT(kept_, ElementsAre("other"));
}

TEST_F(AppServicesTest, AcknowledgedLinesCanBeRead) {
  EXPECT_EQ(services_.read(services_.find(".sisyfs-acked")), "one\ntwo\n");
  EXPECT_EQ(services_.read(services_.find(".sisyfs-ack")), "");
}

TEST_F(AppServicesTest, OutputIsKeptAsItWasPrinted) {
  const int output = services_.find(".sisyfs-output");
  ASSERT_GE(output, 0);
  services_.write(output, "line\nno end", 9);
  EXPECT_THAT(printed_, ElementsAre(Pair("line", 9)));
  EXPECT_EQ(services_.output, "line\nno end");
}

TEST_F(AppServicesTest, NobodyNeedsToListen) {
  AppServices deaf;
  for (const char* name : {".sisyfs-ack", ".sisyfs-kept", ".sisyfs-output"})
    deaf.write(deaf.find(name), "a\n", 1);
  EXPECT_EQ(deaf.read(deaf.find(".sisyfs-acked")), "");
}

}  // namespace
}  // namespace sisyfs::app_services_test
