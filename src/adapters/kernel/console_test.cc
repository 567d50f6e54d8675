#include "adapters/kernel/console.h"

#include <gtest/gtest.h>

#include <string>

namespace sisyfs::console_test {
namespace {

// What kernels print, one line for each pattern.
constexpr const char* kKernel[] = {
    "BUG: kernel NULL pointer dereference, address: 0000000000000008",
    "BUG: unable to handle page fault for address: ffffc90000000000",
    "BUG: sleeping function called from invalid context at mm/slab.h:411",
    "BUG: Dentry 00000000a1{i=c,n=a}  still in use (1) [unmount of ext4 nbd0]",
    "kernel BUG at fs/jbd2/journal.c:862!",
    "WARNING: CPU: 0 PID: 1 at fs/inode.c:334 drop_nlink+0x31/0x40",
    "WARNING: possible circular locking dependency detected",
    "WARNING: possible recursive locking detected",
    "WARNING: suspicious RCU usage",
    "WARNING: inconsistent lock state",
    "WARNING: bad unlock balance detected!",
    "Oops: 0000 [#1] PREEMPT SMP",
    "Kernel panic - not syncing: sysrq triggered crash",
    "general protection fault, probably for non-canonical address 0x6b6b6b6b6b6b6b6b",
    "UBSAN: array-index-out-of-bounds in fs/jfs/jfs_dmap.c:2984:30",
    "BUG: KASAN: use-after-free in ext4_find_extent+0x1f0/0x320",
    "BUG: KCSAN: data-race in ext4_writepages / ext4_writepages",
    "INFO: task sync:123 blocked for more than 120 seconds.",
    "INFO: possible recursive locking detected",
    "[ INFO: possible circular locking dependency detected ]",
    "rcu: INFO: rcu_preempt self-detected stall on CPU",
    "watchdog: BUG: soft lockup - CPU#0 stuck for 23s! [init:1]",
    "Out of memory: Killed process 1 (init) total-vm:1212kB",
    "init: page allocation failure: order:4, mode:0x40cc0(GFP_KERNEL|__GFP_COMP)",
    "list_add corruption. next->prev should be prev (0000000060), but was 0000000061.",
    "list_del corruption, 0000000062->next is LIST_POISON1 (dead000000000100)",
    "refcount_t: underflow; use-after-free.",
    "BUG ext4_inode_cache (Not tainted): Objects remaining in ext4_inode_cache on __kmem_cache_shutdown()",
    "Unable to handle kernel paging request at virtual address dead000000000100",
    "VFS: Busy inodes after unmount of nbd0. Self-destruct in 5 seconds.  Have a nice day...",
    "stack segment: 0000 [#1] SMP",
    "INFO: rcu_sched detected stalls on CPUs/tasks:",
};
constexpr const char* kFileSystem[] = {
    "EXT2-fs (nbd0): error: ext2_lookup: deleted inode referenced: 12",
    "EXT4-fs error (device nbd0): ext4_lookup:1855: inode #2: comm init: deleted inode referenced: 12",
    "EXT4-fs (nbd0): Remounting filesystem read-only",
    "EXT4-fs (nbd0): error loading journal",
    "EXT4-fs (nbd0): Delayed block allocation failed for inode 12 at logical offset 0 with max blocks 1 with "
    "error 117",
    "EXT4-fs (nbd0): This should not happen!! Data will be lost",
    "JBD2: Detected IO errors while flushing file data on nbd0-8",
    "EXT4-fs (nbd0): warning: mounting fs with errors, running e2fsck is recommended",
    "JBD2: Error -5 detected when updating journal superblock for nbd0-8.",
    "Aborting journal on device nbd0-8.",
    "XFS (nbd0): Metadata corruption detected at xfs_agf_verify+0x60/0x1a0, xfs_agf block 0x1",
    "XFS (nbd0): Corruption of in-memory data (0x8) detected at xfs_trans_cancel+0x120/0x150",
    "XFS (nbd0): Internal error xfs_trans_cancel at line 1097 of file fs/xfs/xfs_trans.c.",
    "XFS (nbd0): Metadata CRC error detected at xfs_agi_read_verify+0x90/0xc0, xfs_agi block 0x2",
    "XFS (nbd0): Assertion failed: 0, file: fs/xfs/xfs_inode.c, line: 1234",
    "XFS: Assertion failed: fs_is_ok, file: fs/xfs/libxfs/xfs_alloc.c, line: 446",
    "XFS (nbd0): Shutting down filesystem.",
    "BTRFS critical (device nbd0): corrupt leaf: root=5 block=30408704 slot=4, bad key order",
    "BTRFS error (device nbd0): parent transid verify failed on logical 30408704",
    "BTRFS: error (device nbd0) in btrfs_replay_log:2500: errno=-22 unknown",
    "BTRFS: Transaction aborted (error -17)",
    "F2FS-fs (nbd0): Inconsistent error blkaddr:1234, sit bitmap:0",
    "F2FS-fs (nbd0): inconsistent node block, nid:4, node_footer[nid:0,ino:0]",
    "F2FS-fs (nbd0): sanity_check_inode: corrupted inode ino=4, run fsck to fix.",
    "F2FS-fs (nbd0): access invalid blkaddr:3735928559",
    "F2FS-fs (nbd0): Bitmap was wrongly set, blk:1234",
    "ERROR: (device nbd0): dtSearch: stack overrun!",
    "REISERFS error (device nbd0): vs-5150 search_by_key: invalid format found in block 1",
    "REISERFS panic: journal-003: journal_end: some text",
    "REISERFS warning (device nbd0): vs-4010 is_leaf: wrong item",
    "NILFS error (device nbd0): nilfs_bmap_lookup_contig: broken bmap (inode number=4)",
    "NILFS (nbd0): I/O error reading segment: error -5",
    "FAT-fs (nbd0): error, fat_get_cluster: invalid cluster chain (i_pos 0)",
    "FAT-fs (nbd0): Filesystem has been set read-only",
    "minix_free_inode: bit 5 already cleared: corrupt",
    "MINIX-fs: error: inode table",
    "UDF-fs: error (device nbd0): udf_read_inode: (ino 4) failed !bh",
    "hfsplus: inconsistency in B*Tree: corrupted",
    "overlayfs: cleanup of 'work/#1' failed (-2)",
};
// What a healthy one prints.
constexpr const char* kNormal[] = {
    "EXT4-fs (nbd0): mounted filesystem with ordered data mode. Quota mode: none.",
    "EXT4-fs (nbd0): recovery complete",
    "EXT4-fs (nbd0): 2 orphan inodes deleted",
    "EXT4-fs (nbd0): unmounting filesystem.",
    "EXT4-fs (nbd0): mounting ext3 file system using the ext4 subsystem",
    "EXT4-fs (nbd0): shut down requested (2)",
    "EXT4-fs (nbd0): warning: mounting unchecked fs, running e2fsck is recommended",
    "ext2: Unknown parameter 'x'",
    "EXT2-fs (nbd0): warning: mounting unchecked fs, running e2fsck is recommended",
    "XFS (nbd0): Mounting V5 Filesystem",
    "XFS (nbd0): Ending clean mount",
    "XFS (nbd0): Starting recovery (logdev: internal)",
    "XFS (nbd0): Ending recovery (logdev: internal)",
    "XFS (nbd0): Unmounting Filesystem",
    "XFS (nbd0): User initiated shutdown received.",
    "XFS (nbd0): Log I/O Error (0x2) detected at xfs_fs_goingdown+0x60/0x80.  Shutting down filesystem.",
    "XFS (nbd0): User initiated shutdown (0x8) detected at xfs_fs_goingdown+0x5a/0x90.  Shutting down "
    "filesystem.",
    "XFS (nbd0): Please unmount the filesystem and rectify the problem(s)",
    "BTRFS: device fsid 1-2 devid 1 transid 6 /dev/nbd0 scanned by init (1)",
    "BTRFS info (device nbd0): using crc32c (crc32c-generic) checksum algorithm",
    "BTRFS info (device nbd0): start tree-log replay",
    "BTRFS info (device nbd0): checking UUID tree",
    "F2FS-fs (nbd0): Found nat_bits in checkpoint",
    "F2FS-fs (nbd0): Mounted with checkpoint version = 5c2f13b1",
    "F2FS-fs (nbd0): recover_inode: ino = 4, name = a, inline = 1",
    "REISERFS (device nbd0): found reiserfs format \"3.6\" with standard journal",
    "REISERFS (device nbd0): using ordered data mode",
    "reiserfs: using flush barriers",
    "REISERFS (device nbd0): replayed 3 transactions in 0 seconds",
    "reiserfs: reiserfs support is deprecated and scheduled to be removed from the kernel in 2025",
    "NILFS version 2 loaded",
    "NILFS (nbd0): segctord starting. Construction interval = 5 seconds, CP frequency < 30 seconds",
    "NILFS (nbd0): recovery complete",
    "NILFS (nbd0): mounting unchecked fs",
    "FAT-fs (nbd0): utf8 is not a recommended IO charset for FAT filesystems",
    "FAT-fs (nbd0): Volume was not properly unmounted. Some data may be corrupt. Please run fsck.",
    "UDF-fs: INFO Mounting volume 'LinuxUDF', timestamp 2020/09/13 12:26 (1000)",
    "hfsplus: write access to a journaled filesystem is not supported, use the force option at your own risk",
    "block nbd0: Receive control failed (result -32)",
    "random: crng init done",
    "clocksource: Switched to clocksource timer",
    "SELinux: CONFIG_SECURITY_SELINUX_CHECKREQPROT_VALUE is non-zero.",
    "INFO: lockdep is turned off.",
    "------------[ cut here ]------------",
    "",
};

Complaint kind_of(const std::string& line) { return complaint_in(line).what; }

TEST(ConsoleTest, TroubleOfTheKernelIsRecognized) {
  for (const std::string line : kKernel) {
    EXPECT_EQ(kind_of(line), Complaint::kKernel) << line;
    EXPECT_EQ(kind_of("[   12.345678] " + line + "\r\n"), Complaint::kKernel) << line;
  }
}

TEST(ConsoleTest, TroubleOfAFileSystemIsRecognized) {
  for (const std::string line : kFileSystem) {
    EXPECT_EQ(kind_of(line), Complaint::kFileSystem) << line;
    EXPECT_EQ(kind_of("[   12.345678] " + line + "\r\n"), Complaint::kFileSystem) << line;
  }
}

TEST(ConsoleTest, WhatIsNormalIsNone) {
  std::string all;
  for (const std::string line : kNormal) {
    EXPECT_EQ(kind_of(line), Complaint::kNone) << line;
    all += line + "\r\n";
  }
  EXPECT_EQ(kind_of(all), Complaint::kNone);
}

TEST(ConsoleTest, TheFirstLineOfTheGravestKindIsTold) {
  const std::string normal = kNormal[0], file_system = kFileSystem[0], kernel = kKernel[0];
  EXPECT_EQ(complaint_in(normal + "\n" + file_system + "\r\n" + kFileSystem[1]).line, file_system);
  EXPECT_EQ(complaint_in(file_system + "\n" + kernel + "  \r\n" + kKernel[1]).line, kernel);
  EXPECT_EQ(complaint_in(kernel + "\n" + file_system).line, kernel);
}

}  // namespace
}  // namespace sisyfs::console_test
