#include "adapters/fuse/fuse_server.h"

#define FUSE_USE_VERSION 312
#include <fcntl.h>
#include <fmt/format.h>
#include <fuse3/fuse_lowlevel.h>
#include <poll.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

namespace sisyfs {

// Named as the calls of the protocol, which are also those of libc.
namespace fuse_calls {

constexpr double kForEver = 1e9;                       // what the kernel may remember, in seconds
constexpr fuse_ino_t kServices = fuse_ino_t{1} << 40;  // and above: services

// Of an open file.
constexpr uint64_t kSyncsAll = 1, kSyncsData = 2;

struct Server {
  FileStore& files;
  FuseServices* services;
  std::set<uint32_t> refused = {};
};

Server& server_of(fuse_req_t request) { return *static_cast<Server*>(fuse_req_userdata(request)); }
FileStore& files_of(fuse_req_t request) { return server_of(request).files; }

FileId object_of(fuse_ino_t inode) { return static_cast<FileId>(inode); }
bool is_service(fuse_ino_t inode) { return inode >= kServices; }

struct stat stat_of(FileStore& files, FileId id) {
  const StoredFile& file = files.stat(id);
  struct stat out {};
  out.st_ino = id;
  out.st_mode = file.type | file.mode;
  out.st_nlink = file.links;
  out.st_uid = file.uid;
  out.st_gid = file.gid;
  out.st_rdev = file.device;
  out.st_size = static_cast<off_t>(file.is_directory() ? kFilePageBytes : file.size);
  out.st_blksize = kFilePageBytes;
  out.st_blocks = static_cast<blkcnt_t>((file.size + 511) / 512);
  out.st_atim = out.st_mtim = out.st_ctim = file.changed;
  return out;
}

struct stat stat_of_service(fuse_ino_t inode) {
  struct stat out {};
  out.st_ino = inode;
  out.st_mode = S_IFREG | 0666;
  out.st_nlink = 1;
  out.st_uid = geteuid();
  out.st_gid = getegid();
  return out;
}

FileEvent event_of(fuse_req_t request, FileEventKind kind) {
  FileEvent event;
  event.kind = kind;
  event.thread = static_cast<uint32_t>(fuse_req_ctx(request)->pid);
  return event;
}

void answer(fuse_req_t request, int error) { fuse_reply_err(request, error); }

void answer_entry(fuse_req_t request, FileId id, fuse_file_info* opened = nullptr) {
  fuse_entry_param entry{};
  entry.ino = id;
  entry.attr_timeout = entry.entry_timeout = kForEver;
  if (id != kNoFile) entry.attr = stat_of(files_of(request), id);
  if (opened != nullptr)
    fuse_reply_create(request, &entry, opened);
  else
    fuse_reply_entry(request, &entry);
}

void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  const Server& server = server_of(request);
  if (parent == FUSE_ROOT_ID && server.services != nullptr) {
    if (const int service = server.services->find(name); service >= 0) {
      fuse_entry_param entry{};
      entry.ino = kServices + static_cast<fuse_ino_t>(service);
      entry.attr = stat_of_service(entry.ino);
      fuse_reply_entry(request, &entry);
      return;
    }
  }
  answer_entry(request, files_of(request).lookup(object_of(parent), name));
}

void getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  struct stat out = is_service(inode) ? stat_of_service(inode) : stat_of(files_of(request), object_of(inode));
  // Scripts ask whether it is empty.
  if (is_service(inode))
    out.st_size =
        static_cast<off_t>(server_of(request).services->read(static_cast<int>(inode - kServices)).size());
  fuse_reply_attr(request, &out, is_service(inode) ? 0 : kForEver);
}

void setattr(fuse_req_t request, fuse_ino_t inode, struct stat* wanted, int what, fuse_file_info* opened) {
  if (is_service(inode)) return getattr(request, inode, opened);
  FileStore& files = files_of(request);
  const FileId id = object_of(inode);
  int error = 0;
  if ((what & FUSE_SET_ATTR_MODE) != 0)
    error = files.set_mode(event_of(request, FileEventKind::kMode), id, wanted->st_mode);
  if (error == 0 && (what & FUSE_SET_ATTR_SIZE) != 0)
    error = files.truncate(event_of(request, FileEventKind::kTruncate), id,
                           static_cast<uint64_t>(wanted->st_size));
  files.set_unrecorded(id, (what & FUSE_SET_ATTR_UID) != 0 ? &wanted->st_uid : nullptr,
                       (what & FUSE_SET_ATTR_GID) != 0 ? &wanted->st_gid : nullptr,
                       (what & FUSE_SET_ATTR_MTIME) != 0 ? &wanted->st_mtim : nullptr);
  if (error != 0) return answer(request, error);
  getattr(request, inode, opened);
}

void readlink(fuse_req_t request, fuse_ino_t inode) {
  fuse_reply_readlink(request, files_of(request).target(object_of(inode)).c_str());
}

void make(fuse_req_t request, fuse_ino_t parent, const char* name, FileEventKind kind, FileStore::New wanted,
          fuse_file_info* opened = nullptr) {
  const fuse_ctx* const caller = fuse_req_ctx(request);
  wanted.uid = caller->uid;
  wanted.gid = caller->gid;
  FileId made = kNoFile;
  const int error = files_of(request).create(event_of(request, kind), object_of(parent), name, wanted, made);
  if (error != 0) return answer(request, error);
  answer_entry(request, made, opened);
}

void mknod(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  FileStore::New wanted;
  wanted.mode = mode;
  wanted.device = device;
  make(request, parent, name, FileEventKind::kCreate, wanted);
}
void mkdir(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  FileStore::New wanted;
  wanted.mode = S_IFDIR | (mode & 07777);
  make(request, parent, name, FileEventKind::kMkdir, wanted);
}
void symlink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
  FileStore::New wanted;
  wanted.mode = S_IFLNK | 0777;
  wanted.target = target;
  make(request, parent, name, FileEventKind::kSymlink, wanted);
}

void unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  answer(request,
         files_of(request).unlink(event_of(request, FileEventKind::kUnlink), object_of(parent), name));
}
void rmdir(fuse_req_t request, fuse_ino_t parent, const char* name) {
  answer(request, files_of(request).rmdir(event_of(request, FileEventKind::kRmdir), object_of(parent), name));
}
void rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t to, const char* new_name,
            unsigned flags) {
  answer(request, files_of(request).rename(event_of(request, FileEventKind::kRename), object_of(parent), name,
                                           object_of(to), new_name, flags));
}
void link(fuse_req_t request, fuse_ino_t inode, fuse_ino_t parent, const char* name) {
  const int error = files_of(request).link(event_of(request, FileEventKind::kLink), object_of(inode),
                                           object_of(parent), name);
  if (error != 0) return answer(request, error);
  answer_entry(request, object_of(inode));
}

uint64_t handle_of(int flags) {
  if ((flags & O_SYNC) == O_SYNC) return kSyncsAll;
  return (flags & O_DSYNC) != 0 ? kSyncsData : 0;
}

void open(fuse_req_t request, fuse_ino_t inode, fuse_file_info* opened) {
  opened->fh = handle_of(opened->flags);
  if (is_service(inode))
    opened->direct_io = 1;
  else
    opened->keep_cache = 1;
  fuse_reply_open(request, opened);
}
void create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* opened) {
  opened->fh = handle_of(opened->flags);
  opened->keep_cache = 1;
  FileStore::New wanted;
  wanted.mode = S_IFREG | (mode & 07777);
  make(request, parent, name, FileEventKind::kCreate, wanted, opened);
}

void read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, fuse_file_info*) {
  const auto from = static_cast<uint64_t>(offset);
  if (is_service(inode)) {
    const std::string all = server_of(request).services->read(static_cast<int>(inode - kServices));
    const size_t begin = std::min<uint64_t>(from, all.size());
    fuse_reply_buf(request, all.data() + begin, std::min(size, all.size() - begin));
    return;
  }
  std::vector<std::byte> bytes(size);
  const size_t count = files_of(request).read(object_of(inode), from, bytes);
  fuse_reply_buf(request, reinterpret_cast<const char*>(bytes.data()), count);
}

void write(fuse_req_t request, fuse_ino_t inode, const char* bytes, size_t size, off_t offset,
           fuse_file_info* opened) {
  if (is_service(inode)) {
    server_of(request).services->write(static_cast<int>(inode - kServices), {bytes, size},
                                       fuse_req_ctx(request)->pid);
    fuse_reply_write(request, size);
    return;
  }
  FileEvent event = event_of(request, FileEventKind::kWrite);
  // A write-back of a mapping has no handle that says what was promised.
  if (opened->writepage == 0 && (opened->fh & kSyncsAll) != 0) event.promise = FilePromise::kAll;
  if (opened->writepage == 0 && (opened->fh & kSyncsData) != 0) event.promise = FilePromise::kData;
  const int error = files_of(request).write(std::move(event), object_of(inode), static_cast<uint64_t>(offset),
                                            {reinterpret_cast<const std::byte*>(bytes), size});
  if (error != 0) return answer(request, error);
  fuse_reply_write(request, size);
}

void sync_object(fuse_req_t request, fuse_ino_t inode, int data_only) {
  if (!is_service(inode)) {
    FileEvent event = event_of(request, data_only != 0 ? FileEventKind::kFdatasync : FileEventKind::kFsync);
    event.promise = data_only != 0 ? FilePromise::kData : FilePromise::kAll;
    files_of(request).flush(std::move(event), object_of(inode));
  }
  answer(request, 0);
}
void fsync(fuse_req_t request, fuse_ino_t inode, int data_only, fuse_file_info*) {
  sync_object(request, inode, data_only);
}
// All of a directory is its entries, which fdatasync flushes too.
void fsyncdir(fuse_req_t request, fuse_ino_t inode, int, fuse_file_info*) { sync_object(request, inode, 0); }

void fallocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset, off_t length, fuse_file_info*) {
  answer(request,
         files_of(request).fallocate(event_of(request, FileEventKind::kTruncate), object_of(inode), mode,
                                     static_cast<uint64_t>(offset), static_cast<uint64_t>(length)));
}

// A close of the program. The handle itself lives on while there are copies of it.
void flush(fuse_req_t request, fuse_ino_t, fuse_file_info*) { answer(request, 0); }
void release(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  if (!is_service(inode))
    files_of(request).closed(event_of(request, FileEventKind::kClose), object_of(inode));
  answer(request, 0);
}

// An opened directory. Its listing stays as it is while it is read, whatever comes and goes meanwhile.
using Listing = std::vector<std::pair<std::string, FileId>>;

Listing* listing_of(fuse_file_info* opened) {
  return reinterpret_cast<Listing*>(opened->fh);  // NOLINT(performance-no-int-to-ptr)
}
void opendir(fuse_req_t request, fuse_ino_t, fuse_file_info* opened) {
  opened->fh = reinterpret_cast<uint64_t>(new Listing);
  fuse_reply_open(request, opened);
}
void releasedir(fuse_req_t request, fuse_ino_t, fuse_file_info* opened) {
  delete listing_of(opened);
  answer(request, 0);
}

void readdir(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, fuse_file_info* opened) {
  FileStore& files = files_of(request);
  Listing& all = *listing_of(opened);
  if (offset == 0) {
    all = {{".", object_of(inode)}, {"..", object_of(inode)}};
    for (auto& entry : files.list(object_of(inode))) all.push_back(std::move(entry));
  }
  std::vector<char> out(size);
  size_t used = 0;
  for (auto i = static_cast<size_t>(offset); i < all.size(); ++i) {
    struct stat info {};
    info.st_ino = all[i].second;
    info.st_mode = files.type_of(all[i].second);
    const size_t need = fuse_add_direntry(request, out.data() + used, size - used, all[i].first.c_str(),
                                          &info, static_cast<off_t>(i + 1));
    if (need > size - used) break;
    used += need;
  }
  fuse_reply_buf(request, out.data(), used);
}

void statfs(fuse_req_t request, fuse_ino_t) {
  struct statvfs out {};
  out.f_bsize = out.f_frsize = kFilePageBytes;
  out.f_blocks = 1 << 22;
  out.f_bfree = out.f_bavail = 1 << 21;
  out.f_files = 1 << 20;
  out.f_ffree = out.f_favail = 1 << 19;
  out.f_namemax = 255;
  fuse_reply_statfs(request, &out);
}

void setxattr(fuse_req_t request, fuse_ino_t inode, const char* name, const char* value, size_t size,
              int flags) {
  answer(request, files_of(request).set_attribute(event_of(request, FileEventKind::kAttribute),
                                                  object_of(inode), name, std::string(value, size), flags));
}

void answer_bytes(fuse_req_t request, const std::string& bytes, size_t room) {
  if (room == 0)
    fuse_reply_xattr(request, bytes.size());
  else if (room < bytes.size())
    answer(request, ERANGE);
  else
    fuse_reply_buf(request, bytes.data(), bytes.size());
}

void getxattr(fuse_req_t request, fuse_ino_t inode, const char* name, size_t size) {
  // The kernel asks for this before each write; nothing here has it.
  if (is_service(inode) || std::strcmp(name, "security.capability") == 0) return answer(request, ENODATA);
  const auto& all = files_of(request).attributes(object_of(inode));
  const auto found = all.find(name);
  if (found == all.end()) return answer(request, ENODATA);
  answer_bytes(request, found->second, size);
}
void listxattr(fuse_req_t request, fuse_ino_t inode, size_t size) {
  std::string names;
  if (!is_service(inode))
    for (const auto& [name, value] : files_of(request).attributes(object_of(inode)))
      names.append(name).push_back('\0');
  answer_bytes(request, names, size);
}
void removexattr(fuse_req_t request, fuse_ino_t inode, const char* name) {
  answer(request, files_of(request).remove_attribute(event_of(request, FileEventKind::kAttribute),
                                                     object_of(inode), name));
}

void init(void*, fuse_conn_info* connection) {
  // The kernel asks for a page when somebody reads it, and tells of each write at once.
  connection->max_readahead = 0;
  for (const unsigned off : {FUSE_CAP_ASYNC_READ, FUSE_CAP_WRITEBACK_CACHE, FUSE_CAP_READDIRPLUS,
                             FUSE_CAP_READDIRPLUS_AUTO, FUSE_CAP_ATOMIC_O_TRUNC, FUSE_CAP_SPLICE_READ,
                             FUSE_CAP_SPLICE_WRITE, FUSE_CAP_SPLICE_MOVE, FUSE_CAP_NO_OPENDIR_SUPPORT})
    connection->want &= ~off;
}

fuse_lowlevel_ops all_calls() {
  fuse_lowlevel_ops calls{};
  calls.init = init;
  calls.lookup = lookup;
  calls.getattr = getattr;
  calls.setattr = setattr;
  calls.readlink = readlink;
  calls.mknod = mknod;
  calls.mkdir = mkdir;
  calls.symlink = symlink;
  calls.unlink = unlink;
  calls.rmdir = rmdir;
  calls.rename = rename;
  calls.link = link;
  calls.open = open;
  calls.create = create;
  calls.read = read;
  calls.write = write;
  calls.flush = flush;
  calls.release = release;
  calls.fsync = fsync;
  calls.fsyncdir = fsyncdir;
  calls.fallocate = fallocate;
  calls.opendir = opendir;
  calls.readdir = readdir;
  calls.releasedir = releasedir;
  calls.statfs = statfs;
  calls.setxattr = setxattr;
  calls.getxattr = getxattr;
  calls.listxattr = listxattr;
  calls.removexattr = removexattr;
  return calls;
}

}  // namespace fuse_calls

struct FuseServer::Session {
  fuse_calls::Server server;
  fuse_session* session = nullptr;
};

FuseServer::FuseServer(FileStore& files, FuseServices* services)
    : session_(std::make_unique<Session>(Session{{files, services}, nullptr})) {}

FuseServer::~FuseServer() {
  if (session_->session != nullptr) fuse_session_destroy(session_->session);
}

const std::set<uint32_t>& FuseServer::refused() const { return session_->server.refused; }

Status FuseServer::serve(int fuse, int until) {
  if (session_->session == nullptr) {
    static const fuse_lowlevel_ops kCalls = fuse_calls::all_calls();
    char name[] = "sisyfs";
    char* words[] = {name, nullptr};
    fuse_args arguments = FUSE_ARGS_INIT(1, words);
    session_->session = fuse_session_new(&arguments, &kCalls, sizeof kCalls, &session_->server);
    fuse_opt_free_args(&arguments);
    const int own = fcntl(fuse, F_DUPFD_CLOEXEC, 0);  // the session closes it
    if (session_->session == nullptr || own < 0 ||
        fuse_session_mount(session_->session, fmt::format("/dev/fd/{}", own).c_str()) != 0)
      return system_error(fmt::format("FUSE cannot be used: {}", std::strerror(errno)));
  }
  fuse_buf buffer{};
  pollfd polled[] = {{until, POLLIN, 0}, {fuse_session_fd(session_->session), POLLIN, 0}};
  for (;;) {
    if (poll(polled, 2, -1) < 0 && errno != EINTR) break;
    // What the other side says comes before the next request.
    if (polled[0].revents != 0) break;
    if (polled[1].revents != 0) {
      const int count = fuse_session_receive_buf(session_->session, &buffer);
      if (count == -EINTR || count == -EAGAIN) continue;
      if (count <= 0) break;  // unmounted
      constexpr size_t kOpcode = 4;
      uint32_t opcode = 0;
      std::memcpy(&opcode, static_cast<const char*>(buffer.mem) + kOpcode, sizeof opcode);
      constexpr uint32_t kTmpfile = 51;
      if (opcode == kTmpfile) session_->server.refused.insert(opcode);
      fuse_session_process_buf(session_->session, &buffer);
    }
  }
  std::free(buffer.mem);
  return {};
}

}  // namespace sisyfs
