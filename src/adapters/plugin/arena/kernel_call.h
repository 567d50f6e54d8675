/* A system call without libc: none of its functions that the arena replaces is on the way, and errno stays as
 * it is. The result is the kernel's: a negative errno if it failed. */
#pragma once

/* This is C. NOLINTBEGIN(modernize-*) */

#if defined(__x86_64__)
static inline __attribute__((always_inline)) long kernel(long n, long a, long b, long c, long d, long e,
                                                         long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
static inline __attribute__((always_inline)) long kernel(long n, long a, long b, long c, long d, long e,
                                                         long f) {
  register long x8 __asm__("x8") = n;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}
#else
#define SISYFS_NO_SYSTEM_CALLS
#endif

/* NOLINTEND(modernize-*) */
