/*
 * The file-mapping models in Promela with embedded C. The definition is
 * docs/models/file-mapping.md; link.pml and index.pml are written from it alone,
 * as a second opinion on the C++ models and as the measure of what SPIN does
 * with the same model. Options, given to spin by -D:
 *
 *   FILES=1..4  BLOCKS=1..11  TASKS=1|2
 *   CACHE=0|1      the device is the disk, or a cache that FLUSH copies to it
 *   ORDER_NAIVE    the pointer before what it points to (otherwise: after it)
 *   DEAD_REPORT    a dead block is a finding (otherwise: repaired, counted)
 *   ONE_PROCESS    tasks and environment in one process: a shorter state
 *   SPLIT          disk, cache, memory and tasks each in the state of a process:
 *                  the parts that -DCOLLAPSE shares between states
 *
 * Every transition of the definition is one d_step or one expression, and each
 * process is back at the head of its loop after it. The control state is hence
 * constant, pan's stored states are the definition's states, and pan's
 * "stored + matched" is its transitions plus one, for the initial state. All
 * else is one packed struct in the state vector; C does the computing.
 */
#ifndef FILES
#define FILES 4
#endif
#ifndef BLOCKS
#define BLOCKS 6
#endif
#ifndef TASKS
#define TASKS 1
#endif
#ifndef CACHE
#define CACHE 1
#endif

#define NONE 15
#define ABSENT 15
#define PACKED __attribute__((packed))

c_decl {
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

enum { IDLE, CREATE, APPEND, DELETE };

/* The step that a task takes next, named by what it writes. */
enum { NO_STEP, WRITE_INODE, WRITE_INDIRECT, WRITE_TABLE, WRITE_DATA, FINISH };

enum { M1_DEAD_BLOCK, M2_LOST_BLOCK, M3_DOUBLE_POINTER, M4_CONTENT_ERROR, FINDINGS };
};
