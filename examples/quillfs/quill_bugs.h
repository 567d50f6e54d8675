/* The mistakes that a build can plant, one at a time: -DQUILL_BUG=flush_homes. README.md tells what each
 * does. */
#ifndef QUILL_BUGS_H
#define QUILL_BUGS_H

#define QUILL_BUG_NUMBER(name) QUILL_BUG_NUMBER_(name)
#define QUILL_BUG_NUMBER_(name) quill_bug_##name
#ifndef QUILL_BUG
#define QUILL_BUG none
#endif
/* Whether this build has the mistake. */
#define BUG(name) (QUILL_BUG_NUMBER(QUILL_BUG) == quill_bug_##name)

enum quill_bug {
  quill_bug_none,
  quill_bug_checkpoint_live,
  quill_bug_commit_own_data,
  quill_bug_enospc_create,
  quill_bug_enospc_indirect,
  quill_bug_enospc_size,
  quill_bug_epoch_bits,
  quill_bug_epoch_commit,
  quill_bug_epoch_descriptor,
  quill_bug_errno_inodes,
  quill_bug_errno_rename,
  quill_bug_errno_rmdir,
  quill_bug_errno_unlink,
  quill_bug_fdatasync_size,
  quill_bug_flush_body,
  quill_bug_flush_commit,
  quill_bug_flush_data,
  quill_bug_flush_format,
  quill_bug_flush_homes,
  quill_bug_flush_record,
  quill_bug_flush_replay_header,
  quill_bug_flush_replay_homes,
  quill_bug_flush_sync,
  quill_bug_flush_tail,
  quill_bug_forget_missing,
  quill_bug_fsync_directory,
  quill_bug_fsync_indirect,
  quill_bug_fsync_indirect_data,
  quill_bug_fsync_link,
  quill_bug_fsync_rename,
  quill_bug_fsync_size,
  quill_bug_hole_block,
  quill_bug_journal_full,
  quill_bug_journal_overrun,
  quill_bug_last_block,
  quill_bug_last_inode,
  quill_bug_osync_plain,
  quill_bug_osync_size,
  quill_bug_rename_full,
  quill_bug_rename_leak,
  quill_bug_rename_same,
  quill_bug_rename_two,
  quill_bug_replay_oldest,
  quill_bug_reuse_early,
  quill_bug_revoke_compare,
  quill_bug_revoke_forever,
  quill_bug_revoke_ignored,
  quill_bug_revoke_missing,
  quill_bug_revoke_wrong,
  quill_bug_sequence_commit,
  quill_bug_sequence_descriptor,
  quill_bug_sequence_zero,
  quill_bug_stale_block,
  quill_bug_stale_gap,
  quill_bug_stale_map,
  quill_bug_stale_name,
  quill_bug_stale_tail,
  quill_bug_sum_first,
  quill_bug_sum_pointer,
  quill_bug_sum_skipped,
  quill_bug_swap_body_commit,
  quill_bug_swap_data_commit,
  quill_bug_swap_homes_tail,
  quill_bug_swap_replay_header,
  quill_bug_swap_tail_record,
  quill_bug_truncate_leak,
  quill_bug_truncate_pointer,
  quill_bug_unlink_all,
  quill_bug_unmount_data,
  quill_bug_wrap_address,
};

#endif
