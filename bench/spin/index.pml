/*
 * The index model: an inode with two direct entries and an indirect one, and a
 * bitmap. The options are in options.pml.
 */
#include "options.pml"

#define STRIDE 1
#define FILL 0xFFFF
#define LONGEST (BLOCKS < 6 ? BLOCKS : 6)
#define ABSENT_INODE 0xFFFF

/* An inode is its length and its three entries, 4 bits each, from bit 0. An
 * indirect block is its four entries likewise. */
#define NIBBLE(word, i) ((word) >> 4 * (i) & 15)
#define LENGTH(inode) NIBBLE(inode, 0)
#define ENTRY(inode, i) NIBBLE(inode, 1 + (i))
#define INDIRECT(inode) ENTRY(inode, 2)
#define INODE(length, entry0) (0xFF00 | (entry0) << 4 | (length))

#define HASH(file, block, logical) (0xDB00 + ((file) << 8 | (block) << 4 | (logical)))

/* What a task remembers: b and i of a create or append; or the entries of the
 * inode that it deletes, from bit 0, and those of the indirect block, from bit 12. */
#define NEW_BLOCK(task) NIBBLE(TASK_STATE(task).memory, 0)
#define NEW_INDIRECT(task) NIBBLE(TASK_STATE(task).memory, 1)
#define OLD_INDIRECT(task) NIBBLE(TASK_STATE(task).memory, 2)

c_decl {
typedef u16 Inode;
#if BLOCKS <= 8
typedef u8 Table;
#else
typedef u16 Table;
#endif
typedef u16 Data;
typedef struct { u8 head; u32 memory; } PACKED Task;
};

#include "storage.pml"

c_code {
#define ALL_BLOCKS ((1u << BLOCKS) - 1)

/* A set bit is an allocated block. */
static inline u64 free_blocks(const Table *table) { return ~*table & ALL_BLOCKS; }

static inline int is_lost(u32 table, int block) { return block >= BLOCKS || !(table >> block & 1); }

static inline u32 with_nibble(u32 word, int i, u32 value) {
	return (word & ~(15u << 4 * i)) | value << 4 * i;
}

Medium empty_medium(void) {
	Medium medium;
	memset(&medium, 0xFF, sizeof medium);
	medium.meta.table = 0;
	return medium;
}

/* Memory. */

static inline int allocate(void) {
	int block = first_free();
	MEM.table |= 1u << block;
	return block;
}

/* The inode after a block was appended to it. */
static inline Inode longer(Inode inode, int block, int indirect) {
	int length = LENGTH(inode);
	if (length == 1) inode = with_nibble(inode, 2, block);
	if (length == 2) inode = with_nibble(inode, 3, indirect);
	return inode + 1;
}

/* All pointers of a file, as a task remembers them. */
static inline u32 pointers_of(Inode inode) {
	u32 listed = INDIRECT(inode) < BLOCKS ? DEVICE.data[INDIRECT(inode)] : 0xFFFF;
	return inode >> 4 | listed << 12;
}

static inline void free_pointers(u32 pointers) {
	u32 freed = 0;
	int i;
	for (i = 0; i < 7; i++) freed |= 1u << NIBBLE(pointers, i);
	MEM.table &= ~freed;
}

/* Device. */

static inline void write_inode(int file) { DEVICE.meta.inode[file] = MEM.inode[file]; }

/* Enters the new block, logical block number `logical`, in the indirect block. */
static inline void write_indirect(int task, int logical) {
	int indirect = logical == 2 ? NEW_INDIRECT(task) : INDIRECT(MEM.inode[file_of(task)]);
	if (indirect >= BLOCKS) return;
	DEVICE.data[indirect] =
		with_nibble(logical == 2 ? 0xFFFF : DEVICE.data[indirect], logical - 2, NEW_BLOCK(task));
}

static inline void write_data(int task, int logical) {
	int block = NEW_BLOCK(task);
	if (block < BLOCKS) DEVICE.data[block] = HASH(file_of(task), block, logical);
}

/* Ops. */

static inline int may_create(int task, int file) {
	return may_start(task, file) && MEM.inode[file] == ABSENT_INODE && free_count() > 0;
}

static inline int may_append(int task, int file) {
	int length = LENGTH(MEM.inode[file]);
	return may_start(task, file) && length < LONGEST &&
		(length == 0 || free_count() > (length == 2));
}

static inline int may_delete(int task, int file) {
	return may_start(task, file) && MEM.inode[file] != ABSENT_INODE;
}

static inline int may_verify(int task, int file) {
	return may_start(task, file) && ref_of(file) != ABSENT;
}

static inline void create(int task, int file) {
	int block = allocate();
	TASK_STATE(task).memory = block;
#ifdef ORDER_NAIVE
	MEM.inode[file] = INODE(0, block);
	start(task, CREATE, file, WRITE_INODE);
#else
	start(task, CREATE, file, WRITE_TABLE);
#endif
}

static inline void append(int task, int file) {
	Inode inode = MEM.inode[file];
	int block = LENGTH(inode) == 0 ? ENTRY(inode, 0) : allocate();
	int indirect = LENGTH(inode) == 2 ? allocate() : NONE;
	TASK_STATE(task).memory = block | indirect << 4;
#ifdef ORDER_NAIVE
	MEM.inode[file] = longer(inode, block, indirect);
	start(task, APPEND, file, WRITE_INODE);
#else
	start(task, APPEND, file, WRITE_DATA);
#endif
}

static inline void delete(int task, int file) {
	u32 pointers = pointers_of(MEM.inode[file]);
	MEM.inode[file] = ABSENT_INODE;
#ifdef ORDER_NAIVE
	free_pointers(pointers);
	start(task, DELETE, file, WRITE_TABLE);
#else
	TASK_STATE(task).memory = pointers;
	start(task, DELETE, file, WRITE_INODE);
#endif
}

static inline void advance(int task) {
	int op = op_of(task), file = file_of(task);
	Inode *inode = &MEM.inode[file];
	int length = LENGTH(*inode);
	switch (step_of(task)) {
#ifdef ORDER_NAIVE
	case WRITE_INODE:
		write_inode(file);
		go_to(task, op == DELETE ? FINISH : op == CREATE ? WRITE_TABLE :
			length == 1 ? WRITE_DATA : length == 2 ? WRITE_TABLE : WRITE_INDIRECT);
		break;
	case WRITE_INDIRECT:
		write_indirect(task, length - 1);
		go_to(task, WRITE_TABLE);
		break;
	case WRITE_TABLE:
		write_table();
		go_to(task, op == CREATE ? FINISH : op == APPEND ? WRITE_DATA : WRITE_INODE);
		break;
	case WRITE_DATA:
		write_data(task, length - 1);
		go_to(task, FINISH);
		break;
#else
	case WRITE_DATA:
		write_data(task, length);
		go_to(task, length == 0 ? WRITE_INODE : WRITE_TABLE);
		break;
	case WRITE_TABLE:
		if (op == DELETE) free_pointers(TASK_STATE(task).memory);
		write_table();
		go_to(task, op == DELETE ? FINISH :
			op == APPEND && length >= 2 ? WRITE_INDIRECT : WRITE_INODE);
		break;
	case WRITE_INDIRECT:
		if (op == APPEND) write_indirect(task, length);
		else DEVICE.data[OLD_INDIRECT(task)] = FILL;
		go_to(task, op == APPEND ? WRITE_INODE : WRITE_TABLE);
		break;
	case WRITE_INODE:
		if (op == CREATE) *inode = INODE(0, NEW_BLOCK(task));
		else if (op == APPEND) *inode = longer(*inode, NEW_BLOCK(task), NEW_INDIRECT(task));
		write_inode(file);
		go_to(task, op != DELETE ? FINISH :
			OLD_INDIRECT(task) < BLOCKS ? WRITE_INDIRECT : WRITE_TABLE);
		break;
#endif
	case FINISH:
		finish(task, length);
		break;
	}
}

/* Checks. */

static inline int verify(int file) {
	u32 inode = MEM.inode[file], table = MEM.table, indirect = FILL;
	int length = LENGTH(inode), logical;
	if (length != ref_of(file)) {
		finding(M4_CONTENT_ERROR);
		if (length == ABSENT) return 1;
	}
	if (length > 2) {
		if (is_lost(table, INDIRECT(inode))) {
			finding(M2_LOST_BLOCK);
			length = 2;
		} else {
			indirect = DEVICE.data[INDIRECT(inode)];
		}
	}
	for (logical = 0; logical < length; logical++) {
		int block = logical < 2 ? ENTRY(inode, logical) : NIBBLE(indirect, logical - 2);
		if (is_lost(table, block)) finding(M2_LOST_BLOCK);
		else if (DEVICE.data[block] != HASH(file, block, logical)) finding(M4_CONTENT_ERROR);
	}
	return 1;
}

/* Counts a reference of the off-line check; false if it is lost. */
static inline int refer(u32 *referenced, u32 table, int block) {
	if (block < BLOCKS) {
		if (*referenced >> block & 1) finding(M3_DOUBLE_POINTER);
		*referenced |= 1u << block;
		if (table >> block & 1) return 1;
	}
	finding(M2_LOST_BLOCK);
	return 0;
}

static inline void check_and_repair(void) {
	Medium *disk = &DISK;
	u32 table = disk->meta.table, referenced = 0, trimmed = 0, dead;
	int file, i;
	for (file = 0; file < FILES; file++) {
		Inode inode = disk->meta.inode[file];
		int length = LENGTH(inode);
		if (inode == ABSENT_INODE) continue;
		refer(&referenced, table, ENTRY(inode, 0));
		if (length > 1) refer(&referenced, table, ENTRY(inode, 1));
		if (length > 2 && refer(&referenced, table, INDIRECT(inode))) {
			u32 indirect = disk->data[INDIRECT(inode)];
			for (i = 0; i < length - 2; i++) refer(&referenced, table, NIBBLE(indirect, i));
			trimmed |= 1u << file;
		}
	}
	for (file = 0; file < FILES; file++) {
		Inode *inode = &disk->meta.inode[file];
		int length = LENGTH(*inode);
		if (*inode == ABSENT_INODE) continue;
		if (length < 2) *inode |= 0xFF00;
		else if (length == 2) *inode |= 0xF000;
		if (trimmed >> file & 1) disk->data[INDIRECT(*inode)] |= 0xFFFF << 4 * (length - 2);
	}
	for (dead = table & ~referenced; dead; dead &= dead - 1) finding(M1_DEAD_BLOCK);
	disk->meta.table = table & referenced;
}
};

#include "tester.pml"
