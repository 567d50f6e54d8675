#include "adapters/guest/kernel_program.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace sisyfs::kernel_program_test {
namespace {

using testing::HasSubstr;

// The smallest program that is taken: its headers alone, with one section and one segment.
struct Program {
  Elf64_Ehdr head{};
  Elf64_Phdr segment{};
  std::array<Elf64_Shdr, 2> sections{};
  std::array<char, 40> names{};

  Program() {
    std::ifstream own("/proc/self/exe", std::ios::binary);
    own.read(reinterpret_cast<char*>(&head), sizeof head);
    head.e_phoff = offsetof(Program, segment);
    head.e_phnum = 1;
    head.e_shoff = offsetof(Program, sections);
    head.e_shnum = 2;
    head.e_shstrndx = 0;
    segment.p_type = PT_INTERP;
    std::strcpy(names.data() + 1, ".uml.setup.init");
    sections[0].sh_offset = offsetof(Program, names);
    sections[0].sh_size = names.size();
    sections[1].sh_name = 1;
  }
};

class KernelProgramTest : public testing::Test {
 protected:
  std::string write(const void* bytes, size_t size, mode_t mode = 0755) {
    const std::string path = testing::TempDir() + "/kernel_program";
    std::ofstream(path, std::ios::binary)
        .write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  std::string write(const Program& program) { return write(&program, sizeof program); }
  static std::string why(const std::string& path) {
    const Status status = check_kernel_program(path);
    EXPECT_FALSE(status) << path;
    return status ? "" : status.error().message;
  }
};

TEST_F(KernelProgramTest, AKernelThatRunsAsAProgramIsTaken) {
  const Status status = check_kernel_program(write(Program()));
  EXPECT_TRUE(status) << status.error().message;
}

TEST_F(KernelProgramTest, WhatIsNoneIsRefusedWithTheReason) {
  EXPECT_THAT(why("/nonexistent/linux"), HasSubstr("does not exist"));
  EXPECT_THAT(why("/"), HasSubstr("is not a file"));
  EXPECT_THAT(why(write("text", 4)), HasSubstr("is no program"));
  EXPECT_THAT(why(write("", 0)), HasSubstr("is no program"));
  EXPECT_THAT(why("/proc/self/exe"), HasSubstr("no kernel that runs as one"));
  const Program program;
  EXPECT_THAT(why(write(&program, sizeof program, 0644)), HasSubstr("is not executable"));
}

TEST_F(KernelProgramTest, AnotherProcessorIsRefused) {
  Program program;
  program.head.e_machine = program.head.e_machine == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;
  EXPECT_THAT(why(write(program)), HasSubstr("another processor"));
  Program narrow;
  narrow.head.e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(why(write(narrow)), HasSubstr("another processor"));
}

TEST_F(KernelProgramTest, AKernelWithoutADynamicLinkerIsRefused) {
  Program program;
  program.segment.p_type = PT_LOAD;
  EXPECT_THAT(why(write(program)), HasSubstr("linked statically"));
}

TEST_F(KernelProgramTest, DamagedHeadersAreRefused) {
  for (int i = 0; i < 5; ++i) {
    Program program;
    if (i == 0) program.head.e_shoff = UINT64_MAX / 2;
    if (i == 1) program.head.e_shstrndx = 7;
    if (i == 2) program.sections[0].sh_size = UINT64_MAX;
    if (i == 3) program.sections[0].sh_offset = sizeof program;
    if (i == 4) program.sections[1].sh_name = UINT32_MAX;
    EXPECT_THAT(why(write(program)), HasSubstr("no kernel that runs as one")) << i;
  }
  Program none;
  none.head.e_phoff = UINT64_MAX / 2;
  EXPECT_THAT(why(write(none)), HasSubstr("linked statically"));
}

}  // namespace
}  // namespace sisyfs::kernel_program_test
