/* Blocks in memory, transactions, the journal, checkpoints and replay. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "quill.h"

static uint32_t checksum(uint32_t sum, const void *bytes, size_t length) { /* FNV-1a */
  for (size_t i = 0; i < length; i++) sum = (sum ^ ((const uint8_t *)bytes)[i]) * 16777619u;
  return sum;
}
static uint8_t *at(struct quill *fs, uint8_t *area, uint32_t block) {
  return area + (size_t)block * fs->block_size;
}
static void copy(struct quill *fs, uint8_t *to, uint8_t *from, uint32_t block) {
  memcpy(at(fs, to, block), at(fs, from, block), fs->block_size);
}
static void clear(struct quill *fs, uint8_t *area, uint32_t block) {
  memset(at(fs, area, block), 0, fs->block_size);
}
static int disk_write(struct quill *fs, uint32_t block, uint32_t count, const void *bytes) {
  return fs->disk->write(fs->disk, block, count, bytes);
}
static int disk_flush(struct quill *fs) { return fs->disk->flush(fs->disk); }
/* After an error on the way to the disk, memory does not know what is durable. The next commit begins with a
 * checkpoint, and passes over the number of the record that may be in the journal now. */
static int fail(struct quill *fs, int error) {
  if (error != 0) fs->failed = 1;
  return error;
}

/* --- blocks in memory */

uint8_t *quill_read_block(struct quill *fs, uint32_t block) {
  if (block >= fs->blocks) return NULL;
  if ((fs->flags[block] & QUILL_CACHED) == 0) {
    if (fs->disk->read(fs->disk, block, 1, at(fs, fs->content, block)) != 0) {
      clear(fs, fs->content, block);
      return NULL;
    }
    fs->flags[block] |= QUILL_CACHED;
  }
  return at(fs, fs->content, block);
}

static void save(struct quill *fs, uint32_t block) {
  if (!fs->in_call || (fs->flags[block] & QUILL_SAVED) != 0) return;
  copy(fs, fs->old.content, fs->content, block);
  copy(fs, fs->old.frozen, fs->frozen, block);
  fs->old.flags[block] = fs->flags[block];
  fs->flags[block] |= QUILL_SAVED;
}

/* A fresh block is zeros, and not read. */
uint8_t *quill_change_block(struct quill *fs, uint32_t block, int data, int fresh) {
  if (!fresh && quill_read_block(fs, block) == NULL) return NULL;
  save(fs, block);
  uint16_t *flags = &fs->flags[block];
  if ((*flags & (QUILL_PENDING | QUILL_FROZEN)) == QUILL_PENDING && !BUG(checkpoint_live)) {
    copy(fs, fs->frozen, fs->content, block);
    *flags |= QUILL_FROZEN;
  }
  if (fresh) clear(fs, fs->content, block);
  *flags |= QUILL_CACHED;
  if (data && quill_ordered) {
    *flags |= QUILL_DIRTY;
  } else if ((*flags & QUILL_LOGGED) == 0) {
    *flags |= QUILL_LOGGED;
    fs->running.logged++;
  }
  return at(fs, fs->content, block);
}

/* A pending block still has to get home: a power cut before the commit brings it back. */
void quill_forget_block(struct quill *fs, uint32_t block) {
  save(fs, block);
  uint16_t *flags = &fs->flags[block];
  if ((*flags & QUILL_LOGGED) != 0) fs->running.logged--;
  *flags &= (uint16_t) ~(QUILL_LOGGED | QUILL_DIRTY);
  if ((*flags & QUILL_FROZEN) != 0) {
    copy(fs, fs->content, fs->frozen, block);
    clear(fs, fs->frozen, block);
    *flags &= (uint16_t)~QUILL_FROZEN;
  } else if ((*flags & QUILL_PENDING) == 0) {
    clear(fs, fs->content, block);
    *flags &= (uint16_t)~QUILL_CACHED;
  }
  *flags |= QUILL_FREED;
  fs->running.freed++;
}

int quill_begin(struct quill *fs, uint32_t logged) {
  if (fs->running.logged + logged > fs->journal.blocks - 2) {
    const int error = quill_commit(fs, 0);
    if (error != 0) return error;
  }
  fs->old.running = fs->running;
  fs->in_call = 1;
  return 0;
}

void quill_end(struct quill *fs, int undo) {
  for (uint32_t block = 0; block < fs->blocks; block++) {
    if ((fs->flags[block] & QUILL_SAVED) == 0) continue;
    const uint16_t now = fs->flags[block] &= (uint16_t)~QUILL_SAVED;
    if (undo) {
      copy(fs, fs->content, fs->old.content, block);
      copy(fs, fs->frozen, fs->old.frozen, block);
      fs->flags[block] = fs->old.flags[block];
      /* What failed may be at its home: what was there before goes back. */
      const int data = quill_ordered && (now & (QUILL_LOGGED | QUILL_FREED)) == 0;
      if (data && fs->failed && (fs->flags[block] & QUILL_CACHED) != 0) fs->flags[block] |= QUILL_DIRTY;
    }
    clear(fs, fs->old.content, block);
    clear(fs, fs->old.frozen, block);
    fs->old.flags[block] = 0;
  }
  if (undo) fs->running = fs->old.running;
  memset(&fs->old.running, 0, sizeof fs->old.running);
  fs->in_call = 0;
}

/* --- the journal */

static uint32_t ring(struct quill *fs) { return fs->journal.blocks + (BUG(journal_overrun) ? 1 : 0); }
static uint32_t place(struct quill *fs, uint32_t position) { return QUILL_JOURNAL_AT + position % ring(fs); }

static int write_header(struct quill *fs, uint32_t epoch, uint32_t tail, uint32_t sequence) {
  struct quill_header header = {QUILL_MAGIC, epoch, tail, sequence, 0};
  header.sum = checksum(1, &header, offsetof(struct quill_header, sum));
  uint8_t bytes[QUILL_MAX_BLOCK] = {0};
  memcpy(bytes, &header, sizeof header);
  return disk_write(fs, 1, 1, bytes);
}

/* Writes blocks of the record, in two pieces where the journal ends between them. */
static int write_record(struct quill *fs, uint32_t first, uint32_t count) {
  const uint32_t begin = place(fs, fs->journal.head + first), end = QUILL_JOURNAL_AT + ring(fs);
  const uint32_t now = begin + count > end ? end - begin : count;
  int error = disk_write(fs, begin, now, at(fs, fs->journal.record, first));
  const uint32_t rest = QUILL_JOURNAL_AT + (BUG(wrap_address) ? 1 : 0);
  if (error == 0 && now < count)
    error = disk_write(fs, rest, count - now, at(fs, fs->journal.record, first + now));
  return error;
}

/* Home goes what was committed, not what a call has changed since. */
static int write_homes(struct quill *fs) {
  for (uint32_t block = 0; block < fs->blocks; block++) {
    if ((fs->flags[block] & QUILL_PENDING) == 0) continue;
    uint8_t *area = (fs->flags[block] & QUILL_FROZEN) != 0 ? fs->frozen : fs->content;
    const int error = disk_write(fs, block, 1, at(fs, area, block));
    if (error != 0) return error;
  }
  return 0;
}

static void all_are_home(struct quill *fs) {
  for (uint32_t block = 0; block < fs->blocks; block++) {
    fs->flags[block] &= (uint16_t) ~(QUILL_PENDING | QUILL_FROZEN);
    clear(fs, fs->frozen, block);
  }
}

int quill_checkpoint(struct quill *fs) {
  int error = 0;
  if (fs->failed) fs->journal.sequence++;
  if (BUG(swap_homes_tail))
    error = write_header(fs, fs->journal.epoch, fs->journal.head, fs->journal.sequence);
  if (BUG(swap_homes_tail) && error == 0) error = disk_flush(fs);
  if (error == 0) error = write_homes(fs);
  if (error == 0 && !BUG(flush_homes)) error = disk_flush(fs);
  if (error == 0 && !BUG(swap_homes_tail))
    error = write_header(fs, fs->journal.epoch, fs->journal.head, fs->journal.sequence);
  if (error == 0 && !BUG(flush_tail)) error = disk_flush(fs);
  if (error != 0) return fail(fs, error);
  all_are_home(fs);
  fs->journal.used = 0;
  fs->failed = 0;
  return 0;
}

/* Writes the data of one block, or of all blocks if it is 0. Returns the number of blocks written. */
int quill_write_data(struct quill *fs, uint32_t only) {
  int count = 0;
  for (uint32_t block = 0; block < fs->blocks; block++) {
    if ((fs->flags[block] & QUILL_DIRTY) == 0 || (only != 0 && block != only)) continue;
    const int error = disk_write(fs, block, 1, at(fs, fs->content, block));
    if (error != 0) return fail(fs, error);
    fs->flags[block] &= (uint16_t)~QUILL_DIRTY;
    count++;
  }
  return count;
}

static uint32_t sum_of_record(struct quill *fs, uint32_t blocks) {
  const uint32_t summed = BUG(sum_first) && blocks > 2 ? 2 : blocks;
  uint32_t sum = 1;
  for (uint32_t i = 0; i < summed; i++)
    sum = checksum(sum, at(fs, fs->journal.record, i), BUG(sum_pointer) ? sizeof(uint8_t *) : fs->block_size);
  return sum;
}

/* Makes the record of the running transaction in memory. Returns its length. */
static uint32_t make_record(struct quill *fs) {
  struct quill_record *head = (struct quill_record *)fs->journal.record;
  uint16_t *homes = (uint16_t *)(head + 1);
  *head =
      (struct quill_record){QUILL_MAGIC, QUILL_DESCRIPTOR, fs->journal.epoch, fs->journal.sequence, 0, 0, 0};
  if (BUG(epoch_bits)) head->epoch &= 3;
  for (uint32_t block = 0; block < fs->blocks; block++) {
    if ((fs->flags[block] & QUILL_LOGGED) == 0) continue;
    homes[head->logged++] = (uint16_t)block;
    memcpy(at(fs, fs->journal.record, head->logged), at(fs, fs->content, block), fs->block_size);
  }
  const uint16_t gone = QUILL_FREED | QUILL_PENDING;
  for (uint32_t block = 0; block < fs->blocks && quill_ordered && !BUG(revoke_missing); block++) {
    if ((fs->flags[block] & gone) != gone) continue;
    homes[head->logged + head->revoked++] = (uint16_t)(BUG(revoke_wrong) ? block + 1 : block);
  }
  struct quill_record *commit = (struct quill_record *)at(fs, fs->journal.record, head->logged + 1u);
  *commit = *head;
  commit->kind = QUILL_COMMIT;
  if (!quill_ordered) commit->sum = sum_of_record(fs, head->logged + 1u);
  return head->logged + 2u;
}

/* What was logged is pending now, and what was freed can be used. */
static void finish_commit(struct quill *fs, uint32_t length) {
  for (uint32_t block = 0; block < fs->blocks; block++) {
    uint16_t *flags = &fs->flags[block];
    if ((*flags & QUILL_LOGGED) != 0) {
      *flags = (uint16_t)((*flags & ~(QUILL_LOGGED | QUILL_FROZEN)) | QUILL_PENDING);
      clear(fs, fs->frozen, block);
    } else if ((*flags & QUILL_FREED) != 0) {
      const int keep = BUG(forget_missing) && (*flags & QUILL_PENDING) != 0;
      if (!keep) clear(fs, fs->content, block);
      *flags = (uint16_t)((*flags & QUILL_SAVED) | (keep ? QUILL_CACHED | QUILL_PENDING : 0));
    }
  }
  memset(fs->journal.record, 0, (size_t)length * fs->block_size);
  memset(&fs->running, 0, sizeof fs->running);
  fs->journal.head = place(fs, fs->journal.head + length) - QUILL_JOURNAL_AT;
  fs->journal.used += length;
  fs->journal.sequence++;
}

int quill_commit(struct quill *fs, uint32_t inode) {
  if (fs->failed) { /* before data goes to blocks of which that record may know */
    const int refused = quill_checkpoint(fs);
    if (refused != 0) return refused;
  }
  const int late = BUG(swap_data_commit) && fs->running.logged != 0;
  const int own = BUG(commit_own_data) && inode != 0; /* quill_fsync has written the data of this file */
  const int written = late || own ? 0 : quill_write_data(fs, 0);
  int error = written < 0 ? written : 0;
  if (error == 0 && fs->running.logged == 0)
    return written == 0 || BUG(flush_sync) ? 0 : fail(fs, disk_flush(fs));

  const uint32_t needs = fs->running.logged + 2;
  const uint32_t room = fs->journal.blocks + (BUG(journal_full) ? 1 : 0);
  if (error == 0 && fs->journal.used + needs > room && !BUG(swap_tail_record)) error = quill_checkpoint(fs);
  const uint32_t length = error == 0 ? make_record(fs) : 0;
  if (!quill_ordered) { /* the checksum tells whether all of it is there */
    if (error == 0) error = write_record(fs, 0, length);
    if (error == 0 && !BUG(flush_record)) error = disk_flush(fs);
  } else if (BUG(swap_body_commit)) {
    error = write_record(fs, length - 1, 1);
    if (error == 0) error = disk_flush(fs);
    if (error == 0) error = write_record(fs, 0, length - 1);
    if (error == 0) error = disk_flush(fs);
  } else {
    if (error == 0) error = write_record(fs, 0, length - 1);
    if (error == 0 && !BUG(flush_body)) error = disk_flush(fs); /* the data above, too */
    if (error == 0) error = write_record(fs, length - 1, 1);
    if (error == 0 && !BUG(flush_commit)) error = disk_flush(fs);
  }
  if (error == 0 && late && (error = quill_write_data(fs, 0)) > 0) error = disk_flush(fs);
  if (error != 0) return fail(fs, error);
  finish_commit(fs, length);
  if (BUG(swap_tail_record) && fs->journal.used > room) return quill_checkpoint(fs);
  return 0;
}

/* --- replay */

/* Reads the record at a position. Returns its length, 0 if there is none, or a negative errno. */
static int read_record(struct quill *fs, uint32_t position, uint32_t sequence, uint32_t room) {
  struct quill_record *head = (struct quill_record *)fs->journal.record;
  if (fs->disk->read(fs->disk, place(fs, position), 1, fs->journal.record) != 0) return -EIO;
  const uint32_t epoch = BUG(epoch_bits) ? fs->journal.epoch & 3 : fs->journal.epoch;
  if (head->magic != QUILL_MAGIC || head->kind != QUILL_DESCRIPTOR || head->logged + 2u > room) return 0;
  if (sizeof *head + 2u * (head->logged + head->revoked) > fs->block_size) return 0;
  if (head->epoch != epoch && !BUG(epoch_descriptor)) return 0;
  if (head->sequence != sequence && !BUG(sequence_descriptor)) return 0;
  if (BUG(sequence_zero) && head->sequence == 0) return 0;
  for (uint32_t i = 1; i < head->logged + 2u; i++)
    if (fs->disk->read(fs->disk, place(fs, position + i), 1, at(fs, fs->journal.record, i)) != 0) return -EIO;
  const struct quill_record *commit = (struct quill_record *)at(fs, fs->journal.record, head->logged + 1u);
  if (commit->magic != QUILL_MAGIC || commit->kind != QUILL_COMMIT) return 0;
  if (commit->epoch != head->epoch && !BUG(epoch_commit)) return 0;
  if (commit->sequence != head->sequence && !BUG(sequence_commit)) return 0;
  if (!quill_ordered && commit->sum != sum_of_record(fs, head->logged + 1u) && !BUG(sum_skipped)) return 0;
  return head->logged + 2;
}

static int revokes(struct quill *fs, uint32_t block, uint32_t sequence) {
  if (!fs->revoked.is[block] || BUG(revoke_ignored)) return 0;
  if (BUG(revoke_forever)) return 1;
  if (BUG(revoke_compare)) return sequence <= fs->revoked.number[block];
  return (int32_t)(sequence - fs->revoked.number[block]) <= 0; /* the numbers wrap */
}

/* Twice over the records from the tail: what is revoked; then the blocks, to memory. */
static int replay(struct quill *fs, const struct quill_header *from) {
  for (int pass = 0; pass < 2; pass++) {
    uint32_t position = from->tail, sequence = from->sequence, room = fs->journal.blocks;
    for (int length; (length = read_record(fs, position, sequence, room)) != 0; sequence++) {
      if (length < 0) return length;
      const struct quill_record *head = (struct quill_record *)fs->journal.record;
      const uint16_t *homes = (const uint16_t *)(head + 1);
      for (uint32_t i = 0; i < head->logged && pass == 1; i++) {
        if (homes[i] >= fs->blocks) return -EIO;
        if (revokes(fs, homes[i], head->sequence)) continue;
        if (BUG(replay_oldest) && (fs->flags[homes[i]] & QUILL_PENDING) != 0) continue;
        memcpy(at(fs, fs->content, homes[i]), at(fs, fs->journal.record, i + 1), fs->block_size);
        fs->flags[homes[i]] |= QUILL_CACHED | QUILL_PENDING;
      }
      for (uint32_t i = head->logged; i < (uint32_t)head->logged + head->revoked && pass == 0; i++) {
        if (homes[i] >= fs->blocks) return -EIO;
        fs->revoked.is[homes[i]] = 1;
        fs->revoked.number[homes[i]] = head->sequence;
      }
      position += (uint32_t)length;
      room -= (uint32_t)length;
    }
  }
  memset(fs->journal.record, 0, (size_t)fs->journal.blocks * fs->block_size);
  memset(fs->revoked.number, 0, fs->blocks * sizeof *fs->revoked.number);
  memset(fs->revoked.is, 0, fs->blocks);
  return 0;
}

/* The next mount has its own epoch, so its records are not mistaken for these. */
int quill_recover(struct quill *fs) {
  const uint32_t epoch = fs->journal.epoch + 1;
  int error = 0;
  if (BUG(swap_replay_header)) error = write_header(fs, epoch, 0, QUILL_FIRST_SEQUENCE);
  if (BUG(swap_replay_header) && error == 0) error = disk_flush(fs);
  if (error == 0) error = write_homes(fs);
  if (error == 0 && !BUG(flush_replay_homes)) error = disk_flush(fs);
  if (error == 0 && !BUG(swap_replay_header)) error = write_header(fs, epoch, 0, QUILL_FIRST_SEQUENCE);
  if (error == 0 && !BUG(flush_replay_header)) error = disk_flush(fs);
  if (error != 0) return error;
  all_are_home(fs);
  fs->journal.epoch = epoch;
  fs->journal.sequence = QUILL_FIRST_SEQUENCE;
  return 0;
}

/* --- the disk */

static uint32_t sum_of_super(const struct quill_super *super) {
  return checksum(1, super, offsetof(struct quill_super, sum));
}

static uint32_t bitmap_at(const struct quill_super *super) {
  return QUILL_JOURNAL_AT + super->journal_blocks;
}
static uint32_t data_at(const struct quill_super *super) {
  const size_t bytes = super->inodes * sizeof(struct quill_inode);
  return bitmap_at(super) + 1 + (uint32_t)((bytes + super->block_size - 1) / super->block_size);
}

int quill_open(const sisyfs_disk *disk, struct quill **out) {
  uint8_t bytes[QUILL_MAX_BLOCK];
  struct quill_super super;
  struct quill_header header;
  if (disk->block_size > sizeof bytes) return -EINVAL;
  if (disk->read(disk, 0, 1, bytes) != 0) return -EIO;
  memcpy(&super, bytes, sizeof super);
  if (disk->read(disk, 1, 1, bytes) != 0) return -EIO;
  memcpy(&header, bytes, sizeof header);
  if (super.magic != QUILL_MAGIC || super.sum != sum_of_super(&super) ||
      super.block_size != disk->block_size || super.blocks > disk->block_count)
    return -EINVAL;
  if (header.magic != QUILL_MAGIC || header.sum != checksum(1, &header, offsetof(struct quill_header, sum)))
    return -EIO;

  /* One piece of memory for all. */
  const size_t area = (size_t)super.blocks * super.block_size,
               record = super.journal_blocks * super.block_size;
  struct quill *fs = calloc(1, sizeof *fs + 4 * area + record + super.blocks * (4u + 2u + 2u + 1u));
  if (fs == NULL) return -ENOMEM;
  *fs = (struct quill){.disk = disk,
                       .block_size = super.block_size,
                       .blocks = super.blocks,
                       .journal.blocks = super.journal_blocks,
                       .inodes = super.inodes,
                       .bitmap_at = bitmap_at(&super),
                       .inodes_at = bitmap_at(&super) + 1,
                       .data_at = data_at(&super),
                       .journal.epoch = header.epoch};
  fs->content = (uint8_t *)(fs + 1);
  fs->frozen = fs->content + area;
  fs->old.content = fs->frozen + area;
  fs->old.frozen = fs->old.content + area;
  fs->journal.record = fs->old.frozen + area;
  fs->revoked.number = (uint32_t *)(fs->journal.record + record);
  fs->flags = (uint16_t *)(fs->revoked.number + fs->blocks);
  fs->old.flags = fs->flags + fs->blocks;
  fs->revoked.is = (uint8_t *)(fs->old.flags + fs->blocks);
  const int error = replay(fs, &header);
  if (error != 0)
    free(fs);
  else
    *out = fs;
  return error;
}

void quill_close(struct quill *fs) { free(fs); }

int quill_format(const sisyfs_disk *disk) {
  const int small = disk->block_count <= 64;
  const uint64_t bits = disk->block_size * 8ull;
  struct quill_super super = {QUILL_MAGIC,
                              disk->block_size,
                              (uint32_t)(disk->block_count < bits ? disk->block_count : bits),
                              small ? 16 : 32,
                              small ? 6 : QUILL_INODES,
                              0};
  super.sum = sum_of_super(&super);
  const struct quill_inode root = {.type = SISYFS_DIRECTORY, .links = 1};
  struct quill_header header = {QUILL_MAGIC, 0, 0, QUILL_FIRST_SEQUENCE, 0};
  header.sum = checksum(1, &header, offsetof(struct quill_header, sum));
  if (disk->block_size < 256 || disk->block_size > QUILL_MAX_BLOCK || super.blocks < data_at(&super) + 2)
    return -EINVAL;
  int error = 0;
  for (uint32_t block = 0; block < data_at(&super) && error == 0; block++) {
    uint8_t bytes[QUILL_MAX_BLOCK] = {0};
    if (block == 0) memcpy(bytes, &super, sizeof super);
    if (block == 1) memcpy(bytes, &header, sizeof header);
    for (uint32_t used = 0; used < data_at(&super) && block == bitmap_at(&super); used++)
      bytes[used / 8] |= (uint8_t)(1u << used % 8);
    if (block == bitmap_at(&super) + 1) memcpy(bytes, &root, sizeof root);
    error = disk->write(disk, block, 1, bytes);
  }
  return error != 0 || BUG(flush_format) ? error : disk->flush(disk);
}
