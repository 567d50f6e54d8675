/* What libntfs-3g finds around it here: a clock that stands still, and nobody to talk to.
 *
 * The library is linked in statically, so that its calls end up here and not in the C library, and only its
 * calls. It asks the clock for each time stamp, with no way to hand it one. And its messages go to files that
 * a static library made for programs cannot reach from a shared one.
 */
#include "adapters/ntfs/ntfs_fs.h"

static time_t g_now;

void nt_set_clock(uint64_t seconds) { g_now = (time_t)seconds; }

int clock_gettime(clockid_t clock, struct timespec* out) {
  (void)clock;
  out->tv_sec = g_now;
  out->tv_nsec = 0;
  return 0;
}

int ntfs_log_redirect(const char* function, const char* file, int line, u32 level, void* data,
                      const char* format, ...) {
  (void)function, (void)file, (void)line, (void)level, (void)data, (void)format;
  return 0;
}

u32 ntfs_log_set_levels(u32 levels) { return levels; }
u32 ntfs_log_get_levels(void) { return 0; }
u32 ntfs_log_clear_levels(u32 levels) { return levels; }
void ntfs_log_early_error(const char* format, ...) { (void)format; }
