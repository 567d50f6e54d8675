/*
 * The storage, what the user was promised, the tasks, and the findings. The
 * mapping model has defined, above, the types Inode, Table, Data and Task (with
 * its member `head`), the macros LENGTH(inode) and FILL, and how far apart
 * the bits of two blocks are in the mask of free blocks, STRIDE.
 */
c_decl {
typedef struct { Inode inode[FILES]; Table table; } PACKED Metadata;
typedef struct { Metadata meta; Data data[BLOCKS]; } PACKED Medium;
typedef struct {
#ifndef SPLIT
	Medium disk;
#if CACHE
	Medium cache;
#endif
	Metadata mem;
	Task task[TASKS];
#endif
	u8 ref[(FILES + 1) / 2];	/* a length of 4 bits per file */
} PACKED System;

Medium empty_medium(void);
Metadata empty_metadata(void);
System empty_system(void);
};

c_state "System s" "Global" "empty_system()"

#ifndef SPLIT

#define DISK now.s.disk
#define MEM now.s.mem
#define TASK_STATE(t) now.s.task[t]
#if CACHE
#define DEVICE now.s.cache
#else
#define DEVICE DISK
#endif

#else

c_state "Task task" "Local Tester0"
#if TASKS == 2
c_state "Task task" "Local Tester1"
#endif
c_state "Medium disk" "Local Environment" "empty_medium()"
c_state "Metadata mem" "Local Memory" "empty_metadata()"
#if CACHE
c_state "Medium cache" "Local Cache" "empty_medium()"
#define DEVICE (((CacheState *) pptr(TASKS + 2))->cache)
#else
#define DEVICE DISK
#endif
#define DISK (((EnvironmentState *) pptr(TASKS))->disk)
#define MEM (((MemoryState *) pptr(TASKS + 1))->mem)
#define TASK_STATE(t) (*task_state(t))

#endif

c_code {
#ifdef SPLIT
extern short *proc_offset;	/* of pan, for pptr */
#if TASKS == 1
typedef P1 EnvironmentState;
typedef P2 MemoryState;
#if CACHE
typedef P3 CacheState;
#endif
static inline Task *task_state(int task) { return &((P0 *) pptr(0))->task; }
#else
typedef P2 EnvironmentState;
typedef P3 MemoryState;
#if CACHE
typedef P4 CacheState;
#endif
static inline Task *task_state(int task) {
	return task == 0 ? &((P0 *) pptr(0))->task : &((P1 *) pptr(1))->task;
}
#endif
#endif

extern void (*uerror)(char *);
extern int upto;

static u64 free_blocks(const Table *table);

Metadata empty_metadata(void) { return empty_medium().meta; }

System empty_system(void) {
	System system;
#ifndef SPLIT
	system.disk = empty_medium();
#if CACHE
	system.cache = empty_medium();
#endif
	system.mem = empty_metadata();
	memset(system.task, 0, sizeof system.task);
#endif
	memset(system.ref, 0xFF, sizeof system.ref);
	return system;
}

/* Findings. Each kind is an assertion. With `pan -c0` the search goes on as if
 * nothing had been seen, and only the first of each kind is an error. */

static u64 found[FINDINGS];

static void print_findings(void) {
	printf("findings: M1 %llu M2 %llu M3 %llu M4 %llu\n", found[0], found[1], found[2], found[3]);
}

static void finding(int kind) {
	static const char *const name[FINDINGS] = {
		"M1 dead-block", "M2 lost-block", "M3 double-pointer", "M4 content-error"
	};
	static int first = 1;
	if (first) {
		first = 0;
		atexit(print_findings);
	}
	found[kind]++;
#ifndef DEAD_REPORT
	if (kind == M1_DEAD_BLOCK) return;
#endif
	if (upto != 0 || found[kind] == 1) uerror((char *) name[kind]);
}

/* Promises: ref. */

static inline int ref_of(int file) { return now.s.ref[file / 2] >> file % 2 * 4 & 15; }

static inline void promise(int file, int length) {
	u8 *pair = &now.s.ref[file / 2];
	*pair = (*pair & 0xF0 >> file % 2 * 4) | length << file % 2 * 4;
}

/* Tasks. The head of a task is its op, its file and its step, in this order from bit 0. */

static inline int op_of(int task) { return TASK_STATE(task).head & 3; }
static inline int file_of(int task) { return TASK_STATE(task).head >> 2 & 3; }
static inline int step_of(int task) { return TASK_STATE(task).head >> 4; }

static inline int in_op(int task) { return TASK_STATE(task).head != 0; }

static inline void start(int task, int op, int file, int step) {
	TASK_STATE(task).head = op | file << 2 | step << 4;
}

static inline void go_to(int task, int step) {
	TASK_STATE(task).head = (TASK_STATE(task).head & 15) | step << 4;
}

/* Whether this idle task may start an op on the file. */
static inline int may_start(int task, int file) {
	if (in_op(task)) return 0;
#if TASKS == 2
	return op_of(1 - task) == IDLE || file_of(1 - task) != file;
#else
	return 1;
#endif
}

/* The device. */

static inline int free_count(void) { return __builtin_popcountll(free_blocks(&MEM.table)); }

static inline int first_free(void) {
	return __builtin_ctzll(free_blocks(&MEM.table)) / STRIDE;
}

static inline void fill_free(Medium *medium) {
	u64 mask;
	for (mask = free_blocks(&medium->meta.table); mask; mask &= mask - 1)
		medium->data[__builtin_ctzll(mask) / STRIDE] = FILL;
}

static inline void write_table(void) {
	DEVICE.meta.table = MEM.table;
	fill_free(&DEVICE);
}

static inline void flush(void) {
#if CACHE
	DISK = DEVICE;
#endif
}

static inline void finish(int task, int length) {
	flush();
	promise(file_of(task), length);
	memset(&TASK_STATE(task), 0, sizeof(Task));
}

/* The end of a crash: the disk is checked and repaired, what does it say? */
static inline void remount(void) {
	int file, task;
	for (file = 0; file < FILES; file++) {
		int length = LENGTH(DISK.meta.inode[file]);
		int before = ref_of(file), after = before;
		for (task = 0; task < TASKS; task++)
			if (op_of(task) != IDLE && file_of(task) == file)
				after = op_of(task) == CREATE ? 0 : op_of(task) == APPEND ? before + 1 : ABSENT;
		if (length != before && length != after) finding(M4_CONTENT_ERROR);
		promise(file, length);
	}
	fill_free(&DISK);
#if CACHE
	DEVICE = DISK;
#endif
	MEM = DISK.meta;
	for (task = 0; task < TASKS; task++) memset(&TASK_STATE(task), 0, sizeof(Task));
}
};
