/* What a block is, as far as it says so itself. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "adapters/ntfs/ntfs_fs.h"

int nt_name_block(const sisyfs_disk* disk, uint64_t block, char* text, uint32_t size) {
  char* bytes = malloc(disk->block_size);
  if (bytes == NULL) return -ENOMEM;
  int error = disk->read(disk, block, 1, bytes);
  if (error == 0 && block == 0) {
    snprintf(text, size, "boot sector");
  } else if (error == 0 && memcmp(bytes, "FILE", 4) == 0) {
    le32 number;
    memcpy(&number, bytes + offsetof(MFT_RECORD, mft_record_number), sizeof number);
    snprintf(text, size, "record %u", le32_to_cpu(number));
  } else if (error == 0 && memcmp(bytes, "INDX", 4) == 0) {
    snprintf(text, size, "index block");
  } else if (error == 0) {
    error = -ENOENT;
  }
  free(bytes);
  return error;
}
