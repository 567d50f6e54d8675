/* Functions that start a thread or fork: they end the call and tell the engine. What they start would go
 * on while memory is saved and loaded. No header that declares them is included here, because nothing of
 * their arguments is used. */
#include "adapters/plugin/arena/heap.h"

#define REFUSE(name)                                                                      \
  void name(void);                                                                        \
  SISYFS_EXPORT void name(void) {                                                         \
    const struct sisyfs_arena_end end = {                                                 \
        .kind = SISYFS_END_STARTS, .text = #name, .caller = __builtin_return_address(0)}; \
    end_with(&end);                                                                       \
  }

REFUSE(pthread_create)
REFUSE(thrd_create)
REFUSE(clone)
REFUSE(fork)
REFUSE(_Fork)
REFUSE(vfork)
REFUSE(daemon)
REFUSE(execl)
REFUSE(execle)
REFUSE(execlp)
REFUSE(execv)
REFUSE(execve)
REFUSE(execveat)
REFUSE(execvp)
REFUSE(execvpe)
REFUSE(fexecve)
