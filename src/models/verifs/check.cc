#include "models/verifs/check.h"

#include "finding/disk_check.h"
#include "models/verifs/target.h"

namespace sisyfs::verifs {

std::vector<OptionSpec> option_specs(Version version) {
  std::vector<OptionSpec> specs = {
      OptionSpec::integer("inodes", 2, kMaxInodes, 4, "files, directories and links, the root included"),
      OptionSpec::flag("truncate_clear", true,
                       "truncate clears the bytes that it adds; off (wrong): old bytes appear"),
      OptionSpec::flag("hole_zero", true,
                       "a write beyond the end clears the hole; off (wrong): old bytes appear"),
      OptionSpec::choice(
          "size_update", {"always", "on-growth"}, "always",
          "when a write beyond the end updates the size: always, or (wrong) only if the buffer grows"),
      OptionSpec::choice("name_cache", {"fresh", "stale"}, "fresh",
                         "cached names after a restore: fresh (dropped), or stale (wrong: kept)"),
      OptionSpec::integer("files", 0, kMaxInodes, 2, "files in the workload"),
      OptionSpec::integer("dirs", 0, kMaxInodes, 2, "directories in the workload"),
      OptionSpec::integer("depth", 1, 5, 2, "names in a path"),
      OptionSpec::integer("file_bytes", 1, kBufferSize, 8, "bytes of a file in the workload"),
      OptionSpec::integer("snapshots", 0, 8, 1, "snapshots on a path, at most; and as many restores"),
      OptionSpec::flag("reads", false, "also read, stat and readdir as calls of their own"),
      OptionSpec::flag("impossible", true, "also try ops that must fail"),
  };
  if (version == Version::kFirst) return specs;
  specs.push_back(OptionSpec::integer("bytes", 0, kMaxInodes * kBufferSize, 12,
                                      "bytes for all files and symbolic links; 0: no limit"));
  specs.push_back(OptionSpec::integer("links", 1, 8, 2, "names of a file in the workload"));
  specs.push_back(OptionSpec::integer("symlinks", 0, kMaxInodes, 1, "symbolic links in the workload"));
  specs.push_back(OptionSpec::flag("xattrs", false, "also extended attributes"));
  specs.push_back(OptionSpec::flag(
      "xattr_free", true,
      "attributes are deleted with their file; off (wrong): the next file with its inode has them"));
  return specs;
}

Config config_of(Version version, const Options& options) {
  Config c;
  c.version = version;
  c.inodes = static_cast<unsigned>(options.integer("inodes"));
  c.truncate_clear = options.flag("truncate_clear");
  c.hole_zero = options.flag("hole_zero");
  c.size_update = options.choice<SizeUpdate>("size_update");
  c.name_cache = options.choice<NameCache>("name_cache");
  if (version == Version::kFirst) return c;
  c.bytes = static_cast<unsigned>(options.integer("bytes"));
  c.xattr_free = options.flag("xattr_free");
  return c;
}

DiskSetup setup_of(Version version, const Options& options) {
  const auto count = [&](const char* name) { return static_cast<uint32_t>(options.integer(name)); };
  DiskSetup setup;
  setup.options = options.names();
  setup.kind = kind_of(config_of(version, options));
  Bounds& bounds = setup.bounds;
  bounds.max_files = count("files");
  bounds.max_dirs = count("dirs");
  bounds.max_depth = count("depth");
  bounds.max_file_size = count("file_bytes");
  bounds.impossible = options.flag("impossible");
  if (options.flag("reads")) bounds.ops = bounds.ops | OpSet(OpKind::kRead, OpKind::kReaddir, OpKind::kStat);
  // Around the step by which buffers grow.
  bounds.write_sizes = {1, kBufferStep + 1};
  bounds.write_offsets = {0, 2, kBufferStep + 2};
  bounds.truncate_sizes = {0, kBufferStep - 1, kBufferStep + 1};
  if (version == Version::kSecond) {
    bounds.ops = bounds.ops | OpSet(OpKind::kLink, OpKind::kSymlink);
    bounds.max_links = count("links");
    bounds.max_symlinks = count("symlinks");
    if (options.flag("xattrs"))
      bounds.ops =
          bounds.ops | OpSet(OpKind::kSetxattr, OpKind::kGetxattr, OpKind::kListxattr, OpKind::kRemovexattr);
    bounds.xattr_sizes = {1, 5};
  }
  if (count("snapshots") != 0) bounds.ops = bounds.ops | OpSet(OpKind::kSnapshot, OpKind::kRestore);
  setup.max_system_ops = 2 * count("snapshots");
  return setup;
}

Result<std::unique_ptr<Check>> make_check(Version version, const Options& options) {
  return make_disk_check(setup_of(version, options));
}

}  // namespace sisyfs::verifs
