#include "adapters/kernel/console.h"

#include <gtest/gtest.h>

#include <string>

#include "adapters/kernel/console_lines_for_test.h"

namespace sisyfs::console_test {
namespace {

Complaint kind_of(const std::string& line) { return complaint_in(line).what; }

TEST(ConsoleTest, TroubleOfTheKernelIsRecognized) {
  for (const std::string line : kKernelLines) {
    EXPECT_EQ(kind_of(line), Complaint::kKernel) << line;
    EXPECT_EQ(kind_of("[   12.345678] " + line + "\r\n"), Complaint::kKernel) << line;
  }
}

TEST(ConsoleTest, TroubleOfAFileSystemIsRecognized) {
  for (const std::string line : kFileSystemLines) {
    EXPECT_EQ(kind_of(line), Complaint::kFileSystem) << line;
    EXPECT_EQ(kind_of("[   12.345678] " + line + "\r\n"), Complaint::kFileSystem) << line;
  }
}

TEST(ConsoleTest, WhatIsNormalIsNone) {
  std::string all;
  for (const std::string line : kNormalLines) {
    EXPECT_EQ(kind_of(line), Complaint::kNone) << line;
    all += line + "\r\n";
  }
  EXPECT_EQ(kind_of(all), Complaint::kNone);
}

TEST(ConsoleTest, TheFirstLineOfTheGravestKindIsTold) {
  const std::string normal = kNormalLines[0], file_system = kFileSystemLines[0], kernel = kKernelLines[0];
  EXPECT_EQ(complaint_in(normal + "\n" + file_system + "\r\n" + kFileSystemLines[1]).line, file_system);
  EXPECT_EQ(complaint_in(file_system + "\n" + kernel + "  \r\n" + kKernelLines[1]).line, kernel);
  EXPECT_EQ(complaint_in(kernel + "\n" + file_system).line, kernel);
}

}  // namespace
}  // namespace sisyfs::console_test
