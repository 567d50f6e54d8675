#include "adapters/plugin/needed_libraries.h"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace sisyfs {
namespace {

// A thing of the file at an offset, if it lies in the file.
template <class T>
std::optional<T> at(std::string_view file, uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return {};
  T thing;
  std::memcpy(&thing, file.data() + offset, sizeof thing);
  return thing;
}

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Entry = ElfW(Dyn);

std::vector<Segment> segments_of(std::string_view file) {
  const std::optional<Header> header = at<Header>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return {};
  std::vector<Segment> segments;
  for (uint64_t i = 0; i < header->e_phnum; ++i) {
    const std::optional<Segment> segment = at<Segment>(file, header->e_phoff + i * sizeof(Segment));
    if (!segment) return {};
    segments.push_back(*segment);
  }
  return segments;
}

// Where in the file the memory at an address comes from; SIZE_MAX: from nowhere.
uint64_t offset_of(const std::vector<Segment>& segments, uint64_t address) {
  for (const Segment& s : segments)
    if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
      return address - s.p_vaddr + s.p_offset;
  return SIZE_MAX;
}

}  // namespace

std::vector<std::string> needed_libraries(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  const std::string file = text.str();
  const std::vector<Segment> segments = segments_of(file);
  std::vector<uint64_t> names;
  uint64_t strings = SIZE_MAX;
  for (const Segment& s : segments) {
    if (s.p_type != PT_DYNAMIC) continue;
    for (uint64_t i = 0; i < s.p_filesz / sizeof(Entry); ++i) {
      const std::optional<Entry> entry = at<Entry>(file, s.p_offset + i * sizeof(Entry));
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) names.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) strings = offset_of(segments, entry->d_un.d_ptr);
    }
  }
  std::vector<std::string> needed;
  for (const uint64_t name : names) {
    if (strings >= file.size() || name >= file.size() - strings) return {};
    needed.emplace_back(file.c_str() + strings + name);
  }
  return needed;
}

}  // namespace sisyfs
