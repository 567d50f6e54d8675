#define _GNU_SOURCE
#include "adapters/ext2/ext2_problems.h"

#include <stdio.h>
#include <string.h>

#include "adapters/repair/repair_tool.h"

enum { kTextSize = 400 };

/* Beginnings and parts of what is harmless. A bitmap's differences are looked at more closely. */
static const char* const kHarmless[] = {
    "Free blocks count wrong",
    "Free inodes count wrong",
    "Directories count wrong",
    "was not cleanly unmounted",
    "i_blocks is",
    "has zero dtime",
    "Padding at end of",
    "lost+found not found",
    "Unattached zero-length inode",
};

/* "+" before a number: in use, and not marked. The next file would get it too. */
static int is_lost(const char* text) {
  const char* differences = strstr(text, "bitmap differences:");
  if (differences != NULL) return strchr(differences, '+') != NULL;
  for (size_t i = 0; i < sizeof kHarmless / sizeof *kHarmless; ++i) {
    if (strstr(text, kHarmless[i]) != NULL) return 0;
  }
  return 1;
}

/* Numbers that change with everything else on the disk go: which blocks differ, and what was counted. */
static void shorten(char* text) {
  char* differences = strstr(text, "differences:");
  if (differences != NULL) {
    differences[strlen("differences")] = 0;
    return;
  }
  char* counted = strstr(text, ", counted=");
  if (counted == NULL) return;
  while (counted > text && *counted != '(') --counted;
  if (counted > text && counted[-1] == ' ') --counted;
  *counted = 0;
}

/* A paragraph of its output that is being put together to one line. */
struct paragraph {
  char text[kTextSize];
  size_t size;
};

static void add(struct paragraph* p, const char* line, size_t size) {
  if (p->size != 0 && p->size + 1 < kTextSize) p->text[p->size++] = ' ';
  for (size_t i = 0; i < size && p->size + 1 < kTextSize; ++i) {
    const int space = line[i] == ' ' || line[i] == '\t';
    if (space && (p->size == 0 || p->text[p->size - 1] == ' ')) continue;
    p->text[p->size++] = space ? ' ' : line[i];
  }
  p->text[p->size] = 0;
}

static unsigned tell(struct paragraph* p, const struct ext2_teller* teller) {
  if (p->size == 0) return 0;
  const int lost = is_lost(p->text);
  shorten(p->text);
  char whole[kTextSize + 40];
  snprintf(whole, sizeof whole, "%s%s", teller->before, p->text);
  teller->problem(teller->report, teller->repaired, lost, whole);
  p->size = 0;
  p->text[0] = 0;
  return 1;
}

static int ends_with(const char* line, size_t size, const char* end) {
  const size_t length = strlen(end);
  return size >= length && memcmp(line + size - length, end, length) == 0;
}

static int starts_with(const char* line, size_t size, const char* start) {
  const size_t length = strlen(start);
  return size >= length && memcmp(line, start, length) == 0;
}

static int contains(const char* line, size_t size, const char* part) {
  return memmem(line, size, part, strlen(part)) != NULL;
}

/* What is no problem: its version, its passes, and what it says at the end. */
static int is_chatter(const char* line, size_t size) {
  static const char kImage[] = REPAIR_IMAGE_PATH ":";
  if (starts_with(line, size, "e2fsck 1.") || starts_with(line, size, "Pass ") ||
      starts_with(line, size, "Running additional passes") || starts_with(line, size, "(There are ") ||
      starts_with(line, size, "Restarting e2fsck")) {
    return 1;
  }
  return starts_with(line, size, kImage) &&
         (contains(line, size, " files (") || contains(line, size, "FILE SYSTEM WAS MODIFIED") ||
          contains(line, size, "Filesystem still has errors"));
}

unsigned ext2_tell_problems(const char* output, const struct ext2_teller* teller) {
  struct paragraph paragraph = {{0}, 0};
  unsigned told = 0;
  while (*output != 0) {
    const size_t size = strcspn(output, "\n");
    const char* line = output;
    output += size + (line[size] == '\n');
    if (size == 0 || is_chatter(line, size)) {
      told += tell(&paragraph, teller);
      continue;
    }
    const size_t skip = starts_with(line, size, REPAIR_IMAGE_PATH ": ") ? strlen(REPAIR_IMAGE_PATH ": ") : 0;
    const int answered = ends_with(line, size, "? yes") || ends_with(line, size, "? no");
    add(&paragraph, line + skip, size - skip);
    if (answered || ends_with(line, size, "CLEARED.")) told += tell(&paragraph, teller);
  }
  return told + tell(&paragraph, teller);
}
