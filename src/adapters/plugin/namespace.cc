#include "adapters/plugin/namespace.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "adapters/plugin/needed_libraries.h"

// What compiled code calls for a thread-local variable. Asked for a module, it makes its block where there is
// none.
struct TlsIndex {
  unsigned long module, offset;
};
extern "C" void* __tls_get_addr(TlsIndex*);

namespace sisyfs {
namespace {

namespace fs = std::filesystem;

// Tells a file that is no library from a library that cannot be loaded; the linker's words for the former are
// many.
Status check_is_library(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return bad_input(fmt::format("{}: no such file", path));
  if (fs::is_directory(path, error))
    return bad_input(fmt::format("{}: a folder, not a shared library", path));
  std::ifstream in(path, std::ios::binary);
  if (!in) return bad_input(fmt::format("{}: cannot be read", path));
  ElfW(Ehdr) header{};
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  const bool is_elf = in.gcount() == sizeof header && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  if (!is_elf || header.e_type != ET_DYN)
    return bad_input(fmt::format("{}: not a shared library (build it with -shared -fPIC)", path));
  return {};
}

// The runtime of these takes over the memory of the whole process, and ends it if it does not come first.
Status check_has_no_runtime(const std::string& path) {
  for (const std::string& name : needed_libraries(path))
    for (const char* runtime : {"libasan.", "libtsan.", "libmsan.", "liblsan.", "libhwasan."})
      if (name.starts_with(runtime))
        return bad_input(
            fmt::format("{}: built with a sanitizer ({}), which cannot be loaded beside others", path, name));
  return {};
}

Error load_error(const std::string& path, const char* said) {
  const std::string text = said == nullptr ? "the dynamic linker does not say why" : said;
  const std::string_view kMissing = "undefined symbol: ";
  if (const size_t at = text.find(kMissing); at != std::string::npos) {
    return bad_input(fmt::format("{}: needs '{}', which neither it nor a library that it is linked with has",
                                 path, text.substr(at + kMissing.size())));
  }
  for (const char* full : {"no more namespaces", "static TLS"})
    if (text.find(full) != std::string::npos)
      return system_error(fmt::format("{}: no room for a further private namespace ({})", path, text));
  return bad_input(fmt::format("{}: cannot be loaded: {}", path, text));
}

uintptr_t page_down(uintptr_t address) { return address & ~(kPageSize - 1); }
uintptr_t page_up(uintptr_t address) { return page_down(address + kPageSize - 1); }

// Where the object that has this address is loaded.
uintptr_t base_of(const void* inside) {
  Dl_info info{};
  return dladdr(inside, &info) == 0 ? 0 : reinterpret_cast<uintptr_t>(info.dli_fbase);
}

struct RangeFinder {
  uintptr_t arena, libc;
  std::vector<MemoryRange> found;
};

void add_segments(const dl_phdr_info& object, std::vector<MemoryRange>& found) {
  const std::span headers(object.dlpi_phdr, object.dlpi_phnum);
  uintptr_t relro_end = 0;  // read-only after relocation, up to the last whole page
  for (const ElfW(Phdr) & h : headers)
    if (h.p_type == PT_GNU_RELRO) relro_end = page_down(object.dlpi_addr + h.p_vaddr + h.p_memsz);
  for (const ElfW(Phdr) & h : headers) {
    if (h.p_type != PT_LOAD || (h.p_flags & PF_W) == 0) continue;
    const uintptr_t end = page_up(object.dlpi_addr + h.p_vaddr + h.p_memsz);
    uintptr_t begin = page_down(object.dlpi_addr + h.p_vaddr);
    if (relro_end > begin && relro_end <= end) begin = relro_end;
    if (begin < end) found.push_back({.begin = reinterpret_cast<std::byte*>(begin), .size = end - begin});
  }
}

void add_thread_locals(const dl_phdr_info& object, std::vector<MemoryRange>& found) {
  for (const ElfW(Phdr) & h : std::span(object.dlpi_phdr, object.dlpi_phnum)) {
    if (h.p_type != PT_TLS || h.p_memsz == 0) continue;
    found.push_back({.begin = thread_locals(object.dlpi_tls_modid),
                     .size = h.p_memsz,
                     .paged = false,
                     .tls_module = object.dlpi_tls_modid});
  }
}

int add_object(dl_phdr_info* object, size_t, void* data) {
  auto& finder = *static_cast<RangeFinder*>(data);
  const uintptr_t linker = getauxval(AT_BASE);
  const std::string_view name = object->dlpi_name == nullptr ? "" : object->dlpi_name;
  // The linker is shared by all namespaces, and the arena's variables are the engine's.
  if (object->dlpi_addr == linker || name.find("/ld-linux") != std::string_view::npos) return 0;
  if (object->dlpi_addr == finder.arena) return 0;
  add_segments(*object, finder.found);
  if (object->dlpi_addr != finder.libc) add_thread_locals(*object, finder.found);
  return 0;
}

}  // namespace

std::byte* thread_locals(size_t tls_module) {
  TlsIndex index{tls_module, 0};
  return static_cast<std::byte*>(__tls_get_addr(&index));
}

Result<std::string> bundled_library(const std::string& file_name) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* folder : {"plugins", "../plugins", "../lib/sisyfs"}) {
    const fs::path path = program / folder / file_name;
    if (fs::exists(path, error)) return path.lexically_normal().string();
  }
  return system_error(
      fmt::format("{} is neither in plugins/ beside the program nor in ../lib/sisyfs", file_name));
}

Result<PluginNamespace> PluginNamespace::load(const std::string& path, const Prepare& prepare) {
  if (Status s = check_is_library(path); !s) return s.error();
  if (Status s = check_has_no_runtime(path); !s) return s.error();
  const Result<std::string> arena = bundled_library("libsisyfs_arena.so");
  if (!arena) return arena.error();

  PluginNamespace space;
  space.path_ = path;
  space.arena_ = dlmopen(LM_ID_NEWLM, arena->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (space.arena_ == nullptr) {
    const char* said = dlerror();
    return system_error(fmt::format("no private namespace for {}: {}", path, said == nullptr ? "?" : said));
  }
  const auto find = [&](const char* name) { return dlsym(space.arena_, name); };
  const auto open = reinterpret_cast<decltype(&sisyfs_arena_open)>(find("sisyfs_arena_open"));
  space.check_ = reinterpret_cast<decltype(&sisyfs_arena_check)>(find("sisyfs_arena_check"));
  space.next_ = reinterpret_cast<decltype(&sisyfs_arena_next)>(find("sisyfs_arena_next"));
  space.objects_ = reinterpret_cast<decltype(&sisyfs_arena_objects)>(find("sisyfs_arena_objects"));
  if (open == nullptr || space.check_ == nullptr || space.next_ == nullptr || space.objects_ == nullptr)
    return system_error(fmt::format("{} is of another version", *arena));
  space.control_ = open();
  if (space.control_ == nullptr) return system_error("no address space for the heap of a plug-in");

  if (prepare) prepare(*space.control_);

  Lmid_t id = 0;
  if (dlinfo(space.arena_, RTLD_DI_LMID, &id) != 0)
    return system_error("the dynamic linker does not know its namespace");
  // By an absolute path: a name without a slash would be looked for in the system's folders.
  space.library_ = dlmopen(id, fs::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (space.library_ == nullptr) return load_error(path, dlerror());
  return space;
}

PluginNamespace::PluginNamespace(PluginNamespace&& o) noexcept { *this = std::move(o); }

PluginNamespace& PluginNamespace::operator=(PluginNamespace&& o) noexcept {
  std::swap(path_, o.path_);
  std::swap(arena_, o.arena_);
  std::swap(library_, o.library_);
  std::swap(abandoned_, o.abandoned_);
  std::swap(control_, o.control_);
  std::swap(check_, o.check_);
  std::swap(next_, o.next_);
  std::swap(objects_, o.objects_);
  return *this;
}

PluginNamespace::~PluginNamespace() {
  if (abandoned_ || arena_ == nullptr) return;
  char* const heap = control_ == nullptr ? nullptr : control_->base;
  const uint64_t bytes = control_ == nullptr ? 0 : control_->reserved_bytes;
  if (control_ != nullptr) {  // nobody is left to be told
    control_->on_fault = nullptr;
    control_->on_end = nullptr;
  }
  const auto* const code = reinterpret_cast<const void*>(check_);
  if (library_ != nullptr) dlclose(library_);
  dlclose(arena_);
  // Some libraries never go once they are there, libstdc++ among them, and keep the arena with them. They
  // have destructors that run when the process ends, and then need the heap. (Not asked by dlmopen():
  // glibc 2.36 keeps its lock when it is asked for a namespace that has gone.)
  const bool still_there = code != nullptr && base_of(code) != 0;
  if (heap != nullptr && !still_there) munmap(heap, bytes);
}

void* PluginNamespace::symbol(const char* name) const {
  void* const found = dlsym(library_, name);
  if (found == nullptr) return nullptr;
  // The linker also looks into what the library is linked with, where a name may mean something else.
  link_map* map = nullptr;
  dlinfo(library_, RTLD_DI_LINKMAP, &map);
  return map != nullptr && base_of(found) == base_of(map->l_ld) ? found : nullptr;
}

void* PluginNamespace::inner_symbol(const char* name) const { return dlsym(library_, name); }

std::vector<sisyfs_arena_block> PluginNamespace::live_blocks() const {
  std::vector<sisyfs_arena_block> blocks;
  sisyfs_arena_block block{};
  while (next_(block.address, &block) != 0) blocks.push_back(block);
  return blocks;
}

std::vector<MemoryRange> PluginNamespace::ranges() const {
  RangeFinder finder{.arena = base_of(reinterpret_cast<const void*>(check_)),
                     .libc = base_of(dlsym(arena_, "__errno_location")),
                     .found = {}};
  objects_(add_object, &finder);
  finder.found.push_back({.begin = reinterpret_cast<std::byte*>(control_->base),
                          .size = control_->reserved_bytes,
                          .used = &control_->state->used});
  return std::move(finder.found);
}

}  // namespace sisyfs
