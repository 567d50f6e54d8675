#include "adapters/guest/kernel_program.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

namespace sisyfs {
namespace {

constexpr size_t kMostHeaders = 4096, kMostNames = 1 << 20;

template <class T>
bool read_at(std::ifstream& file, uint64_t offset, T* to, size_t count = 1) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(count * sizeof(T)));
  return file.gcount() == static_cast<std::streamsize>(count * sizeof(T));
}

// The architecture of this program.
uint16_t own_machine() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  Elf64_Ehdr head{};
  return read_at(file, 0, &head) ? head.e_machine : static_cast<uint16_t>(EM_NONE);
}

// The dynamic linker loads the library that gives a guest its clock.
bool is_dynamic(std::ifstream& file, const Elf64_Ehdr& head) {
  std::vector<Elf64_Phdr> segments(std::min<size_t>(head.e_phnum, kMostHeaders));
  if (!read_at(file, head.e_phoff, segments.data(), segments.size())) return false;
  return std::any_of(segments.begin(), segments.end(),
                     [](const auto& one) { return one.p_type == PT_INTERP; });
}

// A kernel of this kind has sections for the options that it takes as a program. They stay when it is
// stripped.
bool has_section(std::ifstream& file, const Elf64_Ehdr& head, std::string_view wanted) {
  std::vector<Elf64_Shdr> sections(std::min<size_t>(head.e_shnum, kMostHeaders));
  if (sections.empty() || head.e_shstrndx >= sections.size() ||
      !read_at(file, head.e_shoff, sections.data(), sections.size()))
    return false;
  const Elf64_Shdr& at = sections[head.e_shstrndx];
  std::string names(std::min<uint64_t>(at.sh_size, kMostNames), '\0');
  if (!read_at(file, at.sh_offset, names.data(), names.size())) return false;
  return std::any_of(sections.begin(), sections.end(), [&](const Elf64_Shdr& one) {
    return one.sh_name < names.size() && names.c_str() + one.sh_name == wanted;
  });
}

}  // namespace

Status check_kernel_program(const std::string& path) {
  const auto refused = [&](std::string_view why) -> Status {
    return bad_input(fmt::format("{} {}: --kernel takes a user-mode Linux", path, why));
  };
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return refused("does not exist");
  if (!std::filesystem::is_regular_file(path, ignored)) return refused("is not a file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return refused("cannot be read");
  if (access(path.c_str(), X_OK) != 0) return refused("is not executable");
  Elf64_Ehdr head{};
  if (!read_at(file, 0, &head, 1) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
    return refused("is no program");
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != own_machine())
    return refused("is a program for another processor");
  if (head.e_phentsize != sizeof(Elf64_Phdr) || head.e_shentsize != sizeof(Elf64_Shdr) ||
      !has_section(file, head, ".uml.setup.init"))
    return refused("is a program, and no kernel that runs as one");
  if (!is_dynamic(file, head))
    return bad_input(fmt::format(
        "{} is linked statically, so that it cannot be given a clock of its own: build it without "
        "CONFIG_STATIC_LINK",
        path));
  return {};
}

std::string modules_of(const std::string& program) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::string found;
  // They lie in a folder named after the release.
  const std::string folder = fs::path(program).parent_path().string();
  for (const std::string& place : {folder + "/modules", folder + "/../lib/uml/modules"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(place, ignored))
      if (entry.is_directory(ignored)) found = entry.path().string();
    if (!found.empty()) break;
  }
  return found;
}

}  // namespace sisyfs
