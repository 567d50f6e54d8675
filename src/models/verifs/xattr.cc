// Extended attributes: one table for all files, by inode and name.
#include <algorithm>
#include <cerrno>
#include <tuple>

#include "models/verifs/core.h"
#include "tree/xattrs.h"

namespace sisyfs::verifs {
namespace {

constexpr std::string_view kSpace = "user.";

// What is wrong with a name, in the order in which Linux looks.
int check_length(std::string_view name) { return name.empty() || name.size() > 255 ? ERANGE : 0; }
int check_space(std::string_view name) {
  if (!name.starts_with(kSpace)) return EOPNOTSUPP;
  return name.size() == kSpace.size() ? EINVAL : 0;
}

// The name as it is kept: all of them start the same way.
std::string_view short_name(std::string_view name) { return name.substr(kSpace.size()); }

}  // namespace

int Core::find_for_xattr(std::string_view path, std::string_view name, Ino* ino) {
  if (const int error = check_length(name)) return error;
  if (const int error = find(path, ino)) return error;
  return check_space(name);
}

Xattr* Core::xattr(Ino ino, std::string_view name) {
  const std::string_view wanted = short_name(name);
  if (wanted.size() > kNameLength) return nullptr;
  for (Xattr& x : memory_.store.xattrs)
    if (x.ino == ino && x.name.text() == wanted) return &x;
  return nullptr;
}

int Core::set_xattr(std::string_view path, std::string_view name, std::span<const std::byte> bytes) {
  if (check_length(name) == 0 && bytes.size() > Xattrs::kMaxValue) return E2BIG;
  Ino ino = kNoIno;
  if (const int error = find_for_xattr(path, name, &ino)) return error;
  auto& all = memory_.store.xattrs;
  Xattr* at = xattr(ino, name);
  const bool full = at == nullptr && all.back().ino != kNoIno;
  if (full || bytes.size() > kXattrSize || short_name(name).size() > kNameLength) return ENOSPC;
  if (at == nullptr) {
    // In order of inode and name, so that nothing depends on who came first.
    const Name wanted = Name::of(short_name(name));
    at = std::find_if(all.begin(), all.end(), [&](const Xattr& x) {
      return x.ino == kNoIno || std::tie(ino, wanted) < std::tie(x.ino, x.name);
    });
    std::copy_backward(at, all.end() - 1, all.end());
    *at = {ino, 0, wanted, {}};
  }
  at->size = static_cast<uint8_t>(bytes.size());
  at->value = {};
  std::copy(bytes.begin(), bytes.end(), at->value.begin());
  return 0;
}

int Core::get_xattr(std::string_view path, std::string_view name, std::span<const std::byte>* out) {
  Ino ino = kNoIno;
  if (const int error = find_for_xattr(path, name, &ino)) return error;
  const Xattr* at = xattr(ino, name);
  if (at == nullptr) return ENODATA;
  *out = std::span(at->value).first(at->size);
  return 0;
}

int Core::remove_xattr(std::string_view path, std::string_view name) {
  Ino ino = kNoIno;
  if (const int error = find_for_xattr(path, name, &ino)) return error;
  Xattr* at = xattr(ino, name);
  if (at == nullptr) return ENODATA;
  auto& all = memory_.store.xattrs;
  std::copy(at + 1, all.end(), at);
  all.back() = {};
  return 0;
}

void Core::drop_xattrs(Ino ino) {
  if (!config_.xattr_free) return;
  auto& all = memory_.store.xattrs;
  const auto kept = std::remove_if(all.begin(), all.end(), [&](const Xattr& x) { return x.ino == ino; });
  std::fill(kept, all.end(), Xattr());
}

}  // namespace sisyfs::verifs
