#include "adapters/fuse/file_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <set>
#include <utility>

#include "adapters/guest/open_file.h"
#include "base/assert.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE 2
#endif

namespace sisyfs {

FileStore::FileStore() {
  StoredFile root;
  root.type = S_IFDIR;
  root.mode = 0755;
  root.uid = geteuid();
  root.gid = getegid();
  root.changed = now();
  root.links = 2;
  objects_.emplace(kRootFile, std::move(root));
}

timespec FileStore::now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

const StoredFile* FileStore::find(FileId id) const {
  const auto found = objects_.find(id);
  return found == objects_.end() ? nullptr : &found->second;
}

StoredFile& FileStore::at(FileId id) {
  const auto found = objects_.find(id);
  if (found != objects_.end()) return found->second;
  SISYFS_ASSERT(decides_ != nullptr, "an object that is there");
  return objects_.emplace(id, decides_->object(id)).first->second;
}

// --- deciding -------------------------------------------------------------------------------------------

void FileStore::decide_size(FileId id, StoredFile& file) {
  if (std::exchange(file.open_size, false)) file.size = decides_->size(id);
}

const FilePageRef& FileStore::decide_page(FileId id, StoredFile& file, uint64_t page) {
  static const FilePageRef kZeros;
  if (const auto known = file.pages.find(page); known != file.pages.end()) return known->second;
  if (!file.open_pages) return kZeros;
  return file.pages.emplace(page, decides_->page(id, page)).first->second;
}

void FileStore::decide_attributes(FileId id, StoredFile& file) {
  if (std::exchange(file.open_attributes, false)) file.attributes = decides_->attributes(id);
}

// --- looking --------------------------------------------------------------------------------------------

const StoredFile& FileStore::stat(FileId id) {
  StoredFile& file = at(id);
  if (std::exchange(file.open_mode, false)) file.mode = decides_->mode(id);
  decide_size(id, file);
  return file;
}

FileId FileStore::lookup(FileId directory, const std::string& name) {
  StoredFile& dir = at(directory);
  const auto known = dir.entries.find(name);
  if (known != dir.entries.end()) return known->second;
  if (!dir.open_entries) return kNoFile;
  const FileId object = decides_->entry(directory, name);
  return dir.entries.emplace(name, object).first->second;
}

std::vector<std::pair<std::string, FileId>> FileStore::list(FileId directory) {
  if (std::exchange(at(directory).open_entries, false))
    for (const std::string& name : decides_->names(directory))
      if (StoredFile& dir = at(directory); !dir.entries.contains(name))
        dir.entries.emplace(name, decides_->entry(directory, name));
  std::vector<std::pair<std::string, FileId>> out;
  for (const auto& [name, object] : at(directory).entries)
    if (object != kNoFile) out.emplace_back(name, object);
  return out;
}

size_t FileStore::read(FileId file, uint64_t offset, std::span<std::byte> out) {
  StoredFile& from = at(file);
  decide_size(file, from);
  if (offset >= from.size) return 0;
  const size_t count = std::min<uint64_t>(out.size(), from.size - offset);
  for (size_t done = 0; done < count;) {
    const uint64_t page = (offset + done) / kFilePageBytes, within = (offset + done) % kFilePageBytes;
    const size_t part = std::min<size_t>(count - done, kFilePageBytes - within);
    const FilePageRef& bytes = decide_page(file, from, page);
    if (bytes == nullptr)
      std::memset(out.data() + done, 0, part);
    else
      std::memcpy(out.data() + done, bytes->data() + within, part);
    done += part;
  }
  return count;
}

const std::string& FileStore::target(FileId link) { return at(link).target; }

const std::map<std::string, std::string>& FileStore::attributes(FileId object) {
  StoredFile& file = at(object);
  decide_attributes(object, file);
  return file.attributes;
}

// --- names ----------------------------------------------------------------------------------------------

void FileStore::begin(FileEvent event) {
  if (observer_ != nullptr) observer_->begin(std::move(event));
}

void FileStore::set_entry(FileId directory, const std::string& name, FileId object) {
  const FileId before = lookup(directory, name);
  StoredFile& dir = at(directory);
  if (object == kNoFile && !dir.open_entries && decides_ == nullptr)
    dir.entries.erase(name);
  else
    dir.entries[name] = object;
  dir.changed = now();
  if (observer_ != nullptr) observer_->entry(directory, name, before, object);
}

int FileStore::create(FileEvent event, FileId directory, const std::string& name, const New& wanted,
                      FileId& made) {
  if (name.size() > 255) return ENAMETOOLONG;
  if (lookup(directory, name) != kNoFile) return EEXIST;
  made = next_++;
  StoredFile file;
  file.type = wanted.mode & S_IFMT;
  file.mode = wanted.mode & 07777;
  file.uid = wanted.uid;
  file.gid = (at(directory).mode & S_ISGID) != 0 ? at(directory).gid : wanted.gid;
  file.device = wanted.device;
  file.target = wanted.target;
  file.size = wanted.target.size();
  file.links = S_ISDIR(wanted.mode) ? 2 : 1;
  file.changed = now();
  objects_[made] = std::move(file);
  if (S_ISDIR(wanted.mode)) ++at(directory).links;
  event.object = made;
  event.directory = directory;
  event.name = name;
  begin(std::move(event));
  set_entry(directory, name, made);
  return 0;
}

int FileStore::link(FileEvent event, FileId object, FileId directory, const std::string& name) {
  if (lookup(directory, name) != kNoFile) return EEXIST;
  if (at(object).is_directory()) return EPERM;
  event.object = object;
  event.directory = directory;
  event.name = name;
  begin(std::move(event));
  ++at(object).links;
  set_entry(directory, name, object);
  return 0;
}

int FileStore::unlink(FileEvent event, FileId directory, const std::string& name) {
  const FileId object = lookup(directory, name);
  if (object == kNoFile) return ENOENT;
  if (at(object).is_directory()) return EISDIR;
  event.object = object;
  event.directory = directory;
  event.name = name;
  begin(std::move(event));
  if (at(object).links > 0) --at(object).links;
  set_entry(directory, name, kNoFile);
  return 0;
}

int FileStore::rmdir(FileEvent event, FileId directory, const std::string& name) {
  const FileId object = lookup(directory, name);
  if (object == kNoFile) return ENOENT;
  if (!at(object).is_directory()) return ENOTDIR;
  if (!list(object).empty()) return ENOTEMPTY;
  event.object = object;
  event.directory = directory;
  event.name = name;
  begin(std::move(event));
  if (at(directory).links > 2) --at(directory).links;
  at(object).links = 0;
  set_entry(directory, name, kNoFile);
  return 0;
}

int FileStore::rename(FileEvent event, FileId directory, const std::string& name, FileId to,
                      const std::string& new_name, unsigned flags) {
  if ((flags & ~unsigned{RENAME_NOREPLACE | RENAME_EXCHANGE}) != 0) return EINVAL;
  const FileId object = lookup(directory, name), other = lookup(to, new_name);
  if (object == kNoFile) return ENOENT;
  if ((flags & RENAME_NOREPLACE) != 0 && other != kNoFile) return EEXIST;
  const bool exchange = (flags & RENAME_EXCHANGE) != 0;
  if (exchange && other == kNoFile) return ENOENT;
  if (object == other && !exchange) return 0;
  if (other != kNoFile && !exchange) {
    if (at(other).is_directory() != at(object).is_directory())
      return at(other).is_directory() ? EISDIR : ENOTDIR;
    if (at(other).is_directory() && !list(other).empty()) return ENOTEMPTY;
  }
  event.object = object;
  event.replaced = exchange ? kNoFile : other;
  event.directory = directory;
  event.name = name;
  event.new_directory = to;
  event.new_name = new_name;
  if (exchange) event.kind = FileEventKind::kExchange;
  begin(std::move(event));
  const auto move = [&](FileId folder, FileId from, FileId into) {
    if (folder == kNoFile || !at(folder).is_directory()) return;
    if (at(from).links > 2) --at(from).links;
    if (into != kNoFile) ++at(into).links;
  };
  move(object, directory, to);
  move(other, to, exchange ? directory : kNoFile);
  if (other != kNoFile && !exchange && at(other).links > 0) --at(other).links;
  // The new name first: it is the one that other rules speak of.
  set_entry(to, new_name, object);
  set_entry(directory, name, exchange ? other : kNoFile);
  return 0;
}

// --- data -----------------------------------------------------------------------------------------------

void FileStore::put_size(FileId id, StoredFile& file, uint64_t size) {
  const uint64_t before = std::exchange(file.size, size);
  if (before != size && observer_ != nullptr) observer_->size(id, before, size);
}

void FileStore::change_page(FileId id, StoredFile& file, uint64_t page, size_t from, size_t count,
                            const std::byte* bytes) {
  const FilePageRef before = decide_page(id, file, page);
  if (before == nullptr && bytes == nullptr) return;
  auto after = before == nullptr ? std::make_shared<FilePage>() : std::make_shared<FilePage>(*before);
  if (bytes != nullptr)
    std::memcpy(after->data() + from, bytes, count);
  else
    std::memset(after->data() + from, 0, count);
  FilePageRef& place = file.pages[page];
  place = std::move(after);
  if (observer_ != nullptr) observer_->page(id, page, before, place);
}

void FileStore::zero(FileId id, StoredFile& file, uint64_t from, uint64_t to) {
  while (from < to) {
    const uint64_t page = from / kFilePageBytes, within = from % kFilePageBytes;
    const uint64_t part = std::min<uint64_t>(to - from, kFilePageBytes - within);
    change_page(id, file, page, within, part, nullptr);
    from += part;
  }
}

int FileStore::write(FileEvent event, FileId id, uint64_t offset, std::span<const std::byte> bytes) {
  StoredFile& file = at(id);
  decide_size(id, file);
  event.object = id;
  event.offset = offset;
  event.length = bytes.size();
  begin(std::move(event));
  // What a page holds behind the end of the file is not seen when the file grows.
  const uint64_t end_page = (file.size + kFilePageBytes - 1) / kFilePageBytes * kFilePageBytes;
  if (decides_ != nullptr && offset + bytes.size() > file.size && file.size < end_page)
    zero(id, file, file.size, end_page);
  for (size_t done = 0; done < bytes.size();) {
    const uint64_t page = (offset + done) / kFilePageBytes, within = (offset + done) % kFilePageBytes;
    const size_t part = std::min<size_t>(bytes.size() - done, kFilePageBytes - within);
    change_page(id, file, page, within, part, bytes.data() + done);
    done += part;
  }
  if (offset + bytes.size() > file.size) put_size(id, file, offset + bytes.size());
  file.changed = now();
  return 0;
}

int FileStore::truncate(FileEvent event, FileId id, uint64_t size) {
  StoredFile& file = at(id);
  if (file.is_directory()) return EISDIR;
  decide_size(id, file);
  if (size == file.size) return 0;
  event.object = id;
  event.offset = size;
  begin(std::move(event));
  const uint64_t end = (std::max(size, file.size) + kFilePageBytes - 1) / kFilePageBytes * kFilePageBytes;
  zero(id, file, std::min(size, file.size), end);
  put_size(id, file, size);
  if (size == 0) emptied_.insert(id);
  file.changed = now();
  return 0;
}

int FileStore::fallocate(FileEvent event, FileId id, int mode, uint64_t offset, uint64_t length) {
  constexpr int kKnown = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE;
  if ((mode & ~kKnown) != 0) return EOPNOTSUPP;
  StoredFile& file = at(id);
  decide_size(id, file);
  event.object = id;
  event.offset = offset;
  event.length = length;
  begin(std::move(event));
  if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0)
    zero(id, file, offset, std::min(offset + length, std::max(file.size, offset)));
  if ((mode & FALLOC_FL_KEEP_SIZE) == 0 && offset + length > file.size) {
    if (decides_ != nullptr)
      zero(id, file, file.size, (file.size + kFilePageBytes - 1) / kFilePageBytes * kFilePageBytes);
    put_size(id, file, offset + length);
  }
  file.changed = now();
  return 0;
}

// --- the rest -------------------------------------------------------------------------------------------

void FileStore::flush(FileEvent event, FileId object) {
  event.object = object;
  begin(std::move(event));
}

void FileStore::closed(FileEvent event, FileId file) {
  if (emptied_.erase(file) != 0) flush(std::move(event), file);
}

int FileStore::set_mode(FileEvent event, FileId object, mode_t mode) {
  stat(object);
  StoredFile& file = at(object);
  event.object = object;
  begin(std::move(event));
  const mode_t before = std::exchange(file.mode, mode & 07777);
  if (before != file.mode && observer_ != nullptr) observer_->mode(object, before, file.mode);
  return 0;
}

void FileStore::set_unrecorded(FileId object, const uid_t* uid, const gid_t* gid, const timespec* time) {
  if (uid != nullptr) at(object).uid = *uid;
  if (gid != nullptr) at(object).gid = *gid;
  if (time != nullptr) at(object).changed = *time;
}

int FileStore::set_attribute(FileEvent event, FileId object, const std::string& name,
                             const std::string& value, int flags) {
  StoredFile& file = at(object);
  decide_attributes(object, file);
  const auto known = file.attributes.find(name);
  const bool is_there = known != file.attributes.end();
  if ((flags & XATTR_CREATE) != 0 && is_there) return EEXIST;
  if ((flags & XATTR_REPLACE) != 0 && !is_there) return ENODATA;
  event.object = object;
  begin(std::move(event));
  const std::string before = is_there ? known->second : std::string();
  file.attributes[name] = value;
  if (observer_ != nullptr) observer_->attribute(object, name, is_there ? &before : nullptr, &value);
  return 0;
}

int FileStore::remove_attribute(FileEvent event, FileId object, const std::string& name) {
  StoredFile& file = at(object);
  decide_attributes(object, file);
  const auto known = file.attributes.find(name);
  if (known == file.attributes.end()) return ENODATA;
  event.object = object;
  begin(std::move(event));
  if (observer_ != nullptr) observer_->attribute(object, name, &known->second, nullptr);
  file.attributes.erase(known);
  return 0;
}

// --- taking over a folder -------------------------------------------------------------------------------

namespace {

// A user has no other users in a namespace of his own. What belongs to others becomes his, with the
// permissions that he has.
void own(int folder, const char* name, StoredFile& file) {
  if (geteuid() == 0) return;
  file.gid = getegid();
  if (file.uid == geteuid() || file.type == S_IFLNK) {
    file.uid = geteuid();
    return;
  }
  file.uid = geteuid();
  file.mode &= ~mode_t{0700};
  constexpr std::pair<int, mode_t> kRights[] = {{R_OK, 0400}, {W_OK, 0200}, {X_OK, 0100}};
  for (const auto& [right, bit] : kRights)
    if (faccessat(folder, name, right, AT_EACCESS) == 0) file.mode |= bit;
}

Error cannot_take(const std::string& path) {
  return bad_input(fmt::format("cannot read {}: {}: name another work directory with --dir, or --empty", path,
                               std::strerror(errno)));
}

}  // namespace

Status FileStore::load(const std::string& folder, uint64_t most_bytes) {
  const OpenFile root(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (root.get() < 0 || fstat(root.get(), &info) != 0) return cannot_take(folder);
  StoredFile& top = at(kRootFile);
  top.mode = info.st_mode & 07777;
  top.uid = info.st_uid;
  top.gid = info.st_gid;
  own(root.get(), ".", top);
  uint64_t left = most_bytes;
  Status loaded = load_folder(root.get(), kRootFile, folder, left);
  if (!loaded && left == 0)
    return bad_input(
        fmt::format("{} has more than {} MiB: name a smaller work directory with --dir, or --empty", folder,
                    most_bytes >> 20));
  return loaded;
}

Status FileStore::load_folder(int folder, FileId id, const std::string& path, uint64_t& left) {
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(copy < 0 ? nullptr : fdopendir(copy), closedir);
  if (listing == nullptr) return cannot_take(path);
  std::set<std::string> names;
  while (const dirent* entry = readdir(listing.get()))
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      names.insert(entry->d_name);
  for (const std::string& name : names) {
    std::string whole = path;
    whole.append("/").append(name);
    if (Status s = load_entry(folder, name.c_str(), id, whole, left, loaded_); !s) return s;
  }
  return {};
}

Status FileStore::load_entry(int folder, const char* name, FileId id, const std::string& path, uint64_t& left,
                             std::map<std::pair<dev_t, ino_t>, FileId>& seen) {
  struct stat info {};
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return cannot_take(path);
  // Sockets, pipes and devices are not files: they are left out.
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode) && !S_ISLNK(info.st_mode)) return {};
  const std::pair<dev_t, ino_t> key{info.st_dev, info.st_ino};
  if (const auto other = seen.find(key); other != seen.end() && !S_ISDIR(info.st_mode)) {
    ++at(other->second).links;
    at(id).entries[name] = other->second;
    return {};
  }
  const FileId made = next_++;
  if (info.st_nlink > 1 && !S_ISDIR(info.st_mode)) seen.emplace(key, made);
  at(id).entries[name] = made;
  StoredFile& file = objects_[made];
  file.type = info.st_mode & S_IFMT;
  file.mode = info.st_mode & 07777;
  file.uid = info.st_uid;
  file.gid = info.st_gid;
  own(folder, name, file);
  file.changed = info.st_mtim;
  if (S_ISLNK(info.st_mode)) {
    char text[4096];
    const ssize_t count = readlinkat(folder, name, text, sizeof text);
    if (count < 0) return cannot_take(path);
    file.target.assign(text, static_cast<size_t>(count));
    file.size = file.target.size();
    return {};
  }
  if (S_ISDIR(info.st_mode)) {
    file.links = 2;
    ++at(id).links;
    const OpenFile inner(openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (inner.get() < 0) return cannot_take(path);
    return load_folder(inner.get(), made, path, left);
  }
  const OpenFile content(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (content.get() < 0) return cannot_take(path);
  for (uint64_t page = 0;; ++page) {
    auto bytes = std::make_shared<FilePage>();
    const ssize_t count =
        pread(content.get(), bytes->data(), kFilePageBytes, static_cast<off_t>(page * kFilePageBytes));
    if (count < 0) return cannot_take(path);
    if (count == 0) break;
    if (left < kFilePageBytes) return left = 0, bad_input("too large");
    left -= kFilePageBytes;
    file.size += static_cast<uint64_t>(count);
    file.pages.emplace(page, std::move(bytes));
    if (count < static_cast<ssize_t>(kFilePageBytes)) break;
  }
  return {};
}

}  // namespace sisyfs
