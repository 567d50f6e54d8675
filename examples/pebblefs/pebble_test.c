/* Tests of pebble on a flash in memory: what each call does, and random runs against a plain model, in which
 * the power is cut at every program and erase, in every way. `pebble_test 500` runs more of them. */
#include "pebble.h"

#include "ram_flash.h"

/* --- a plain model --------------------------------------------------------------------------------- */

enum { MODEL_FILES = 8, MODEL_BYTES = 400, MODEL_PATH = 16 };

struct model_file {
  char path[MODEL_PATH]; /* empty: there is none */
  bool directory;
  uint32_t size;
  uint8_t bytes[MODEL_BYTES];
};
struct model {
  struct model_file files[MODEL_FILES];
};

static struct model_file *model_find(struct model *model, const char *path) {
  for (int i = 0; i < MODEL_FILES; i++)
    if (strcmp(model->files[i].path, path) == 0) return &model->files[i];
  return NULL;
}

static bool lies_below(const char *path, const char *directory) {
  const size_t length = strlen(directory);
  return strncmp(path, directory, length) == 0 && path[length] == '/';
}

static bool model_has_below(const struct model *model, const char *directory) {
  for (int i = 0; i < MODEL_FILES; i++)
    if (lies_below(model->files[i].path, directory)) return true;
  return false;
}

/* Whether the directory of a path is there. */
static bool model_has_parent(struct model *model, const char *path) {
  const size_t length = (size_t)(strrchr(path, '/') - path);
  char parent[MODEL_PATH] = "";
  memcpy(parent, path, length);
  const struct model_file *file = length == 0 ? NULL : model_find(model, parent);
  return length == 0 || (file != NULL && file->directory);
}

static int model_rename(struct model *model, const char *from, const char *to) {
  struct model_file *file = model_find(model, from), *target = model_find(model, to);
  if (file == NULL || !model_has_parent(model, to)) return -ENOENT;
  if (lies_below(to, from)) return -EINVAL;
  if (lies_below(from, to)) return -ENOTEMPTY;
  if (file == target) return 0;
  if (target != NULL) {
    if (file->directory && !target->directory) return -ENOTDIR;
    if (!file->directory && target->directory) return -EISDIR;
    if (model_has_below(model, to)) return -ENOTEMPTY;
    memset(target, 0, sizeof *target);
  }
  for (int i = 0; i < MODEL_FILES; i++) {
    struct model_file *moved = &model->files[i];
    if (moved != file && !lies_below(moved->path, from)) continue;
    char path[2 * MODEL_PATH] = "";
    snprintf(path, sizeof path, "%s%s", to, moved->path + strlen(from));
    memcpy(moved->path, path, MODEL_PATH);
  }
  return 0;
}

struct walk {
  struct pebble *fs;
  struct model *model;
  const char *directory;
  int found;
  bool same;
};

static int walk_name(void *context, const char *name) {
  struct walk *walk = context;
  char path[2 * MODEL_PATH];
  snprintf(path, sizeof path, "%s/%s", walk->directory, name);
  struct model_file *file = model_find(walk->model, path);
  struct pebble_stat stat;
  walk->found++;
  if (file == NULL || pebble_stat(walk->fs, path, &stat) != 0 || stat.is_directory != file->directory) {
    walk->same = false;
    return 1;
  }
  if (stat.is_directory) {
    struct walk below = {walk->fs, walk->model, path, 0, true};
    CHECK(pebble_readdir(walk->fs, path, walk_name, &below) == 0);
    walk->found += below.found;
    walk->same &= below.same;
  } else {
    uint8_t bytes[MODEL_BYTES + 1];
    const int64_t length = pebble_read(walk->fs, path, 0, bytes, sizeof bytes);
    walk->same &= length == (int64_t)stat.size && stat.size == file->size &&
                  memcmp(bytes, file->bytes, file->size) == 0;
  }
  return 0;
}

static bool is_same(struct pebble *fs, struct model *model) {
  struct walk walk = {fs, model, "", 0, true};
  CHECK(pebble_readdir(fs, "/", walk_name, &walk) == 0);
  int files = 0;
  for (int i = 0; i < MODEL_FILES; i++) files += model->files[i].path[0] != 0;
  return walk.same && walk.found == files;
}

/* --- random runs ----------------------------------------------------------------------------------- */

static uint32_t random_state;
static uint32_t dice(uint32_t sides) {
  random_state = random_state * 1664525 + 1013904223;
  return (random_state >> 8) % sides;
}

/* What a call on a file answers, if there is none or it is a directory; -1: its directory is not there
 * either, which has two names. */
static int file_error(struct model *model, const char *path) {
  const struct model_file *file = model_find(model, path);
  if (!model_has_parent(model, path)) return -1;
  return file == NULL ? -ENOENT : file->directory ? -EISDIR : 0;
}

static int step_add(struct pebble *fs, struct model *model, const char *path, bool directory, int *expected) {
  struct model_file *file = model_find(model, "");
  *expected = !model_has_parent(model, path) ? -1 : model_find(model, path) != NULL ? -EEXIST : 0;
  if (file == NULL) return *expected = 0; /* the model is full: nothing is tried */
  if (*expected == 0) {
    strcpy(file->path, path);
    file->directory = directory;
  }
  return directory ? pebble_mkdir(fs, path) : pebble_create(fs, path);
}

static int step_remove(struct pebble *fs, struct model *model, const char *path, bool directory,
                       int *expected) {
  *expected = file_error(model, path);
  if (directory && *expected == -EISDIR)
    *expected = model_has_below(model, path) ? -ENOTEMPTY : 0;
  else if (directory && *expected == 0)
    *expected = -ENOTDIR;
  if (*expected == 0) memset(model_find(model, path), 0, sizeof(struct model_file));
  return directory ? pebble_rmdir(fs, path) : pebble_unlink(fs, path);
}

static int step_truncate(struct pebble *fs, struct model *model, const char *path, uint32_t size,
                         int *expected) {
  struct model_file *file = model_find(model, path);
  if ((*expected = file_error(model, path)) == 0) {
    if (size < file->size) memset(file->bytes + size, 0, file->size - size);
    file->size = size;
  }
  return pebble_truncate(fs, path, size);
}

static int step_write(struct pebble *fs, struct model *model, const char *path, uint32_t offset,
                      int *expected) {
  struct model_file *file = model_find(model, path);
  const uint32_t length = dice(2) ? 1 + dice(40) : 1 + dice(MODEL_BYTES / 2), value = dice(256);
  uint8_t bytes[MODEL_BYTES];
  for (uint32_t i = 0; i < length; i++) bytes[i] = (uint8_t)(value + i);
  if ((*expected = file_error(model, path)) == 0) {
    memcpy(file->bytes + offset, bytes, length);
    if (file->size < offset + length) file->size = offset + length;
  }
  const int64_t written = pebble_write(fs, path, offset, bytes, length);
  CHECK(written < 0 || written == length);
  return written < 0 ? (int)written : 0;
}

/* One call there and in the model. The model changes only where the call succeeded; what it answers otherwise
 * must be what the model says, or that there is no room, or that the power is gone. */
static int step(struct pebble *fs, struct model *model, bool *synced) {
  static const char *const paths[] = {"/a", "/b", "/c", "/d", "/d/a", "/d/b", "/a/b", "/d/d"};
  const char *path = paths[dice(8)], *to = paths[dice(8)];
  struct model after = *model;
  const uint32_t kind = dice(12), offset = dice(MODEL_BYTES / 2);
  const bool needs_no_room = kind >= 3 && kind <= 5;
  int expected = 0, answer;
  *synced = false;
  if (kind < 3) {
    answer = step_add(fs, &after, path, kind == 0, &expected);
  } else if (kind < 5) {
    answer = step_remove(fs, &after, path, kind == 3, &expected);
  } else if (kind < 6) {
    answer = step_truncate(fs, &after, path, offset, &expected);
  } else if (kind < 8) {
    expected = !model_has_parent(&after, path) ? -1 : model_rename(&after, path, to);
    if (expected == -ENOENT) expected = -1;
    answer = pebble_rename(fs, path, to);
  } else if (kind < 9) {
    answer = dice(2) ? pebble_sync(fs) : pebble_fsync(fs, "/");
    *synced = answer == 0;
  } else {
    answer = step_write(fs, &after, path, offset, &expected);
  }
  if (answer == -EIO) return answer;
  if (answer == -ENOSPC)
    CHECK(expected == 0 && !needs_no_room);
  else if (expected == -1)
    CHECK(answer == -ENOENT || answer == -ENOTDIR || answer == -EINVAL);
  else
    CHECK(answer == expected);
  if (answer == 0) *model = after;
  return 0;
}

static void on_problem(void *report, const char *text) {
  (void)report;
  fprintf(stderr, "check: %s\n", text);
  abort();
}

enum { STEPS = 12 };

/* What a run goes through when nothing goes wrong. */
struct story {
  struct model states[STEPS + 1];
  int synced[STEPS + 1];       /* the last state that was synced then */
  uint32_t changes[STEPS + 1]; /* programs and erases until then */
  uint32_t all_changes;        /* with the unmount */
};

/* Runs from the first state on, until the power goes if it does. */
static void tell(struct ram_flash *ram, struct story *story, uint32_t seed) {
  struct pebble *fs;
  random_state = seed;
  CHECK(pebble_mount(&ram->flash, &fs) == 0);
  CHECK(is_same(fs, &story->states[0]));
  for (int i = 1; i <= STEPS && !ram->off; i++) {
    bool synced;
    story->states[i] = story->states[i - 1];
    if (step(fs, &story->states[i], &synced) != 0) {
      CHECK(ram->off);
      break;
    }
    story->synced[i] = synced ? i : story->synced[i - 1];
    story->changes[i] = ram->changes;
    if (!ram->off) CHECK(is_same(fs, &story->states[i]));
  }
  CHECK(pebble_unmount(fs) == (ram->off ? -EIO : 0));
  story->all_changes = ram->changes;
}

/* The power was cut off at this change: gives which state of the story came back. */
static int recovered(struct ram_flash *ram, struct story *story, uint32_t cut) {
  int last = 1;
  while (last <= STEPS && story->changes[last] < cut) last++;
  const int from = story->synced[last - 1], to = last <= STEPS ? last : STEPS;
  ram_power_on(ram);
  CHECK(pebble_check(&ram->flash, on_problem, NULL) == 0);
  struct pebble *fs;
  CHECK(pebble_mount(&ram->flash, &fs) == 0);
  int found = to;
  while (found >= from && !is_same(fs, &story->states[found])) found--;
  CHECK(found >= from);
  CHECK(pebble_unmount(fs) == 0);
  CHECK(ram->changes == 0);
  return found;
}

static uint64_t cuts;

/* The same run, with the power cut off at one of its changes: gives the state that came back. */
static struct model *tell_with_cut(struct ram_flash *ram, struct story *story, uint32_t seed, uint32_t cut,
                                   uint32_t variant) {
  static struct story until_cut;
  until_cut.states[0] = story->states[0];
  ram_power_on(ram);
  ram->cut_after = cut;
  ram->variant = variant;
  tell(ram, &until_cut, seed);
  CHECK(ram->off);
  cuts++;
  return &story->states[recovered(ram, story, cut)];
}

/* Every cut of a run, in every way, and after each of them another run with a cut somewhere. */
static void cut_everywhere(struct ram_flash *ram, const struct ram_flash *start, struct story *story,
                           uint32_t seed) {
  static struct story next;
  struct ram_flash *after_cut = ram_copy(ram);
  for (uint32_t cut = 1; cut <= story->all_changes; cut++) {
    uint32_t variants = 1;
    for (uint32_t variant = 0; variant < variants; variant++) {
      ram_load(ram, start);
      next.states[0] = *tell_with_cut(ram, story, seed, cut, variant);
      variants = ram_variants(ram);
      ram_load(after_cut, ram);
      const uint32_t next_seed = seed ^ cut * 31 ^ variant;
      tell(ram, &next, next_seed);
      if (next.all_changes == 0) continue;
      ram_load(ram, after_cut);
      tell_with_cut(ram, &next, next_seed, 1 + next_seed % next.all_changes, next_seed / 7 % 81);
    }
  }
  ram_free(after_cut);
}

/* Runs one after the other on the same flash. */
static void test_random_runs(uint32_t page_size, uint32_t unit_pages, uint32_t units, uint32_t runs) {
  static struct story story;
  memset(&story, 0, sizeof story);
  struct ram_flash *ram = ram_new(page_size, unit_pages, units);
  CHECK(pebble_format(&ram->flash) == 0);
  for (uint32_t run = 1; run <= runs; run++) {
    const uint32_t seed = run * 7919 + units;
    struct ram_flash *start = ram_copy(ram);
    ram_power_on(ram);
    tell(ram, &story, seed);
    struct ram_flash *end = ram_copy(ram);
    cut_everywhere(ram, start, &story, seed);
    ram_load(ram, end);
    story.states[0] = story.states[STEPS];
    ram_free(start);
    ram_free(end);
  }
  ram_free(ram);
}

/* --- one thing at a time --------------------------------------------------------------------------- */

static struct pebble *mounted(struct ram_flash *ram) {
  struct pebble *fs;
  CHECK(pebble_mount(&ram->flash, &fs) == 0);
  return fs;
}

static struct pebble *formatted(struct ram_flash *ram) {
  CHECK(pebble_format(&ram->flash) == 0);
  return mounted(ram);
}

static void test_names(void) {
  struct ram_flash *ram = ram_new(256, 8, 8);
  struct pebble *fs = formatted(ram);
  CHECK(pebble_create(fs, "/a") == 0 && pebble_create(fs, "/a") == -EEXIST &&
        pebble_create(fs, "/") == -EEXIST);
  CHECK(pebble_create(fs, "/x/a") == -ENOENT && pebble_create(fs, "/a/a") == -ENOTDIR);
  CHECK(pebble_create(fs, "/abcdefghijklmnopqrstuvw") == 0);
  CHECK(pebble_create(fs, "/abcdefghijklmnopqrstuvwx") == -ENAMETOOLONG);
  CHECK(pebble_mkdir(fs, "/d") == 0 && pebble_mkdir(fs, "/d/e") == 0 && pebble_create(fs, "/d/e/f") == 0);
  CHECK(pebble_unlink(fs, "/d") == -EISDIR && pebble_rmdir(fs, "/a") == -ENOTDIR);
  CHECK(pebble_rmdir(fs, "/d") == -ENOTEMPTY && pebble_rmdir(fs, "/") == -EBUSY);
  CHECK(pebble_rename(fs, "/d", "/d/e/g") == -EINVAL && pebble_rename(fs, "/a", "/d") == -EISDIR);
  CHECK(pebble_rename(fs, "/d", "/a") == -ENOTDIR && pebble_rename(fs, "/a", "/a") == 0);
  CHECK(pebble_rename(fs, "/d/e", "/e") == 0 && pebble_rename(fs, "/a", "/e/f") == 0);
  struct pebble_stat stat;
  CHECK(pebble_stat(fs, "/a", &stat) == -ENOENT && pebble_stat(fs, "/e/f", &stat) == 0 && !stat.is_directory);
  CHECK(pebble_stat(fs, "/d/e", &stat) == -ENOENT && pebble_stat(fs, "/e", &stat) == 0 && stat.is_directory);
  CHECK(pebble_fsync(fs, "/nothing") == -ENOENT);
  CHECK(pebble_unmount(fs) == 0);
  ram_free(ram);
}

static void test_holes_and_ends_are_zero(void) {
  struct ram_flash *ram = ram_new(256, 8, 8);
  struct pebble *fs = formatted(ram);
  uint8_t bytes[300], zeros[300] = {0}, ones[300];
  memset(ones, 1, sizeof ones);
  CHECK(pebble_create(fs, "/a") == 0 && pebble_write(fs, "/a", 100, ones, 150) == 150);
  CHECK(pebble_read(fs, "/a", 0, bytes, 300) == 250);
  CHECK(memcmp(bytes, zeros, 100) == 0 && memcmp(bytes + 100, ones, 150) == 0);
  CHECK(pebble_truncate(fs, "/a", 120) == 0 && pebble_truncate(fs, "/a", 300) == 0);
  for (int again = 0; again < 2; again++) {
    CHECK(pebble_read(fs, "/a", 0, bytes, 300) == 300 && pebble_read(fs, "/a", 300, bytes, 1) == 0);
    CHECK(memcmp(bytes + 100, ones, 20) == 0 && memcmp(bytes + 120, zeros, 180) == 0);
    CHECK(pebble_unmount(fs) == 0);
    fs = mounted(ram);
  }
  CHECK(pebble_write(fs, "/a", UINT64_MAX, ones, 1) == -EFBIG &&
        pebble_read(fs, "/a", UINT64_MAX, bytes, 1) == 0);
  CHECK(pebble_truncate(fs, "/a", UINT64_MAX) == -EFBIG);
  CHECK(pebble_unmount(fs) == 0);
  ram_free(ram);
}

/* A full flash answers so, keeps what it has, and lets go of it. */
static void test_full(uint32_t page_size, uint32_t unit_pages, uint32_t units) {
  struct ram_flash *ram = ram_new(page_size, unit_pages, units);
  struct pebble *fs = formatted(ram);
  uint8_t bytes[1000], back[1000];
  for (uint32_t round = 0; round < 5; round++) {
    memset(bytes, (int)round, sizeof bytes);
    CHECK(pebble_create(fs, "/a") == 0);
    uint32_t size = 0;
    while (size + 7 <= sizeof bytes && pebble_write(fs, "/a", size, bytes, 7) == 7) size += 7;
    if (size + 7 <= sizeof bytes) CHECK(pebble_write(fs, "/a", size, bytes, 7) == -ENOSPC);
    for (uint32_t i = 0; i < 200; i++) {
      CHECK(pebble_write(fs, "/a", i * 7 % (size - 7), bytes, 7) == 7);
      if (i % 3 == 0) CHECK(pebble_sync(fs) == 0);
    }
    CHECK(pebble_read(fs, "/a", 0, back, sizeof back) == size && memcmp(back, bytes, size) == 0);
    CHECK(pebble_truncate(fs, "/a", size - 1) == 0 && pebble_sync(fs) == 0);
    CHECK(pebble_unlink(fs, "/a") == 0 && pebble_sync(fs) == 0);
  }
  uint32_t least = UINT32_MAX, most = 0;
  for (uint32_t unit = 0; unit < units; unit++) {
    least = ram->erases[unit] < least ? ram->erases[unit] : least;
    most = ram->erases[unit] > most ? ram->erases[unit] : most;
  }
  CHECK(least > 10 && most - least <= 1);
  CHECK(pebble_unmount(fs) == 0);
  ram_free(ram);
}

/* A call of the flash that fails once is made good: nobody notices. */
static void test_failing_calls(void) {
  struct ram_flash *ram = ram_new(128, 4, 8);
  CHECK(pebble_format(&ram->flash) == 0);
  uint8_t bytes[100], back[100];
  for (uint32_t nth = 1; nth < 400; nth++) {
    memset(bytes, (int)nth, sizeof bytes);
    ram->fail_call = nth % 97;
    struct pebble *fs = mounted(ram);
    const int created = pebble_create(fs, "/a");
    CHECK(created == 0 || created == -EEXIST);
    CHECK(pebble_write(fs, "/a", 0, bytes, sizeof bytes) == sizeof bytes);
    CHECK(pebble_rename(fs, "/a", "/b") == 0);
    CHECK(pebble_read(fs, "/b", 0, back, sizeof back) == sizeof back &&
          memcmp(back, bytes, sizeof back) == 0);
    CHECK(pebble_sync(fs) == 0);
    ram->fail_call = 0;
    CHECK(pebble_unmount(fs) == 0);
    CHECK(pebble_check(&ram->flash, on_problem, NULL) == 0);
  }
  ram_free(ram);
}

static void test_bad_unit(void) {
  struct ram_flash *ram = ram_new(128, 4, 10);
  struct pebble *fs = formatted(ram);
  ram->bad_unit = 5;
  uint8_t bytes[100] = {0};
  CHECK(pebble_create(fs, "/a") == 0);
  for (uint32_t i = 0; i < 300; i++) {
    bytes[0] = (uint8_t)i;
    CHECK(pebble_write(fs, "/a", 0, bytes, sizeof bytes) == sizeof bytes && pebble_sync(fs) == 0);
  }
  CHECK(pebble_unmount(fs) == 0);
  fs = mounted(ram);
  CHECK(pebble_read(fs, "/a", 0, bytes, 1) == 1 && bytes[0] == (uint8_t)299);
  CHECK(pebble_unmount(fs) == 0);
  ram_free(ram);
}

static void count_problem(void *report, const char *text) { *(int *)report += text[0] != 0; }

/* A page that was whole and is lost is not passed over in silence. */
static void test_lost_page(void) {
  struct ram_flash *ram = ram_new(128, 4, 8);
  struct pebble *fs;
  int problems = 0;
  CHECK(pebble_mount(&ram->flash, &fs) == -EINVAL);
  CHECK(pebble_check(&ram->flash, count_problem, &problems) == 0 && problems == 1);
  fs = formatted(ram);
  for (int i = 0; i < 3; i++)
    CHECK(pebble_mkdir(fs, i == 0 ? "/a" : i == 1 ? "/b" : "/c") == 0 && pebble_sync(fs) == 0);
  CHECK(pebble_unmount(fs) == 0);
  ram->bytes[2 * 128 + 20] ^= 1;
  CHECK(pebble_mount(&ram->flash, &fs) == -EIO);
  CHECK(pebble_check(&ram->flash, count_problem, &problems) == 0 && problems == 2);
  char text[200];
  CHECK(pebble_describe(&ram->flash, 1, text, sizeof text) == 0);
  CHECK(strcmp(text, "log 1 from 0; dir 1 a") == 0);
  CHECK(pebble_describe(&ram->flash, 2, text, sizeof text) == 0 && strcmp(text, "no whole page") == 0);
  CHECK(pebble_describe(&ram->flash, 9, text, sizeof text) == 0 && strcmp(text, "erased") == 0);
  ram_free(ram);
  ram = ram_new(128, 4, 4);
  CHECK(pebble_format(&ram->flash) == -EINVAL);
  ram_free(ram);
}

int main(int argc, char **argv) {
  const uint32_t runs = argc > 1 ? (uint32_t)atoi(argv[1]) : 50;
  test_names();
  test_holes_and_ends_are_zero();
  test_full(64, 2, 12);
  test_full(128, 4, 8);
  test_full(128, 2, 9);
  test_full(256, 16, 4);
  test_full(512, 3, 7);
  test_failing_calls();
  test_bad_unit();
  test_lost_page();
  test_random_runs(128, 4, 8, runs);
  test_random_runs(64, 2, 16, runs);
  test_random_runs(128, 2, 9, runs);
  test_random_runs(256, 8, 6, runs);
  printf("%lu power cuts\n", (unsigned long)cuts);
  return 0;
}
