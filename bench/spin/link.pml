/*
 * The link model: one table of links, two inodes to a disk block. The options
 * are in options.pml.
 */
#include "options.pml"

#define LAST_LINK 14
#define FREE_LINK 15
#define STRIDE 4
#define FILL 0xFF
#define LENGTH(inode) ((inode) & 15)
#define START(inode) ((inode) >> 4)
#define INODE(length, start) ((length) | (start) << 4)
#define ABSENT_INODE 0xFF

/* The hash of (file, disk block, logical block), less what the place of the
 * data says already: its disk block. */
#define HASH(file, logical) ((file) << 4 | (logical))

c_decl {
typedef u8 Inode;
typedef struct { u8 links[(BLOCKS + 1) / 2]; } PACKED Table;	/* 4 bits per block */
typedef u8 Data;
typedef struct { u8 head; u8 block; } PACKED Task;
};

#include "storage.pml"

c_code {
#define ALL_LINKS ((1ULL << 4 * BLOCKS) - 1)

static inline u64 load_table(const Table *table) {
	u64 links = 0;
	memcpy(&links, table, sizeof *table);
	return links;
}

static inline void store_table(Table *table, u64 links) { memcpy(table, &links, sizeof *table); }

static inline int link_of(u64 links, int block) { return links >> 4 * block & 15; }

static inline u64 with_link(u64 links, int block, u64 link) {
	return (links & ~(15ULL << 4 * block)) | link << 4 * block;
}

static inline u64 free_blocks(const Table *table) {
	u64 links = load_table(table);
	links &= links >> 1;
	return links & links >> 2 & 0x1111111111111111ULL & ALL_LINKS;
}

Medium empty_medium(void) {
	Medium medium;
	memset(&medium, 0xFF, sizeof medium);
	return medium;
}

/* Memory. */

static inline int allocate(void) {
	int block = first_free();
	store_table(&MEM.table, with_link(load_table(&MEM.table), block, LAST_LINK));
	return block;
}

static inline void append_link(int file, int block) {
	u64 links = load_table(&MEM.table);
	int last = START(MEM.inode[file]);
	int hops = LENGTH(MEM.inode[file]) - 1;
	while (hops-- > 0 && link_of(links, last) < BLOCKS) last = link_of(links, last);
	if (last < BLOCKS) store_table(&MEM.table, with_link(links, last, block));
}

static inline void free_chain(int block) {
	u64 links = load_table(&MEM.table);
	int left = BLOCKS;
	while (left-- > 0 && block < BLOCKS && link_of(links, block) != FREE_LINK) {
		int next = link_of(links, block);
		links = with_link(links, block, FREE_LINK);
		block = next;
	}
	store_table(&MEM.table, links);
}

/* Device. */

static inline void write_inode(int file) {
	int first = file & ~1;
	int count = first + 1 < FILES ? 2 : 1;
	memcpy(&DEVICE.meta.inode[first], &MEM.inode[first], count);
}

/* Ops. */

static inline int may_create(int task, int file) {
	return may_start(task, file) && MEM.inode[file] == ABSENT_INODE && free_count() > 0;
}

static inline int may_append(int task, int file) {
	int length = LENGTH(MEM.inode[file]);
	return may_start(task, file) && length < BLOCKS && (length == 0 || free_count() > 0);
}

static inline int may_delete(int task, int file) {
	return may_start(task, file) && MEM.inode[file] != ABSENT_INODE;
}

static inline int may_verify(int task, int file) {
	return may_start(task, file) && ref_of(file) != ABSENT;
}

static inline void create(int task, int file) {
	int block = allocate();
	TASK_STATE(task).block = block;
#ifdef ORDER_NAIVE
	MEM.inode[file] = INODE(0, block);
	start(task, CREATE, file, WRITE_INODE);
#else
	start(task, CREATE, file, WRITE_TABLE);
#endif
}

static inline void append(int task, int file) {
	Inode inode = MEM.inode[file];
	if (LENGTH(inode) == 0) {
		TASK_STATE(task).block = START(inode);
	} else {
		int block = allocate();
		append_link(file, block);
		TASK_STATE(task).block = block;
	}
#ifdef ORDER_NAIVE
	MEM.inode[file] = inode + 1;
	start(task, APPEND, file, WRITE_INODE);
#else
	start(task, APPEND, file, WRITE_DATA);
#endif
}

static inline void delete(int task, int file) {
	int first = START(MEM.inode[file]);
	MEM.inode[file] = ABSENT_INODE;
#ifdef ORDER_NAIVE
	free_chain(first);
	start(task, DELETE, file, WRITE_TABLE);
#else
	TASK_STATE(task).block = first;
	start(task, DELETE, file, WRITE_INODE);
#endif
}

static inline void advance(int task) {
	int op = op_of(task), file = file_of(task), block = TASK_STATE(task).block;
	Inode *inode = &MEM.inode[file];
	switch (step_of(task)) {
#ifdef ORDER_NAIVE
	case WRITE_INODE:
		write_inode(file);
		go_to(task, op == DELETE ? FINISH : op == APPEND && LENGTH(*inode) == 1 ? WRITE_DATA : WRITE_TABLE);
		break;
	case WRITE_TABLE:
		write_table();
		go_to(task, op == CREATE ? FINISH : op == APPEND ? WRITE_DATA : WRITE_INODE);
		break;
	case WRITE_DATA:
		DEVICE.data[block] = HASH(file, LENGTH(*inode) - 1);
		go_to(task, FINISH);
		break;
#else
	case WRITE_DATA:
		DEVICE.data[block] = HASH(file, LENGTH(*inode));
		go_to(task, LENGTH(*inode) == 0 ? WRITE_INODE : WRITE_TABLE);
		break;
	case WRITE_TABLE:
		if (op == DELETE) free_chain(block);
		write_table();
		go_to(task, op == DELETE ? FINISH : WRITE_INODE);
		break;
	case WRITE_INODE:
		if (op == CREATE) *inode = INODE(0, block);
		else if (op == APPEND) *inode += 1;
		write_inode(file);
		go_to(task, op == DELETE ? WRITE_TABLE : FINISH);
		break;
#endif
	case FINISH:
		finish(task, LENGTH(*inode));
		break;
	}
}

/* Checks. */

static inline int verify(int file) {
	Inode inode = MEM.inode[file];
	u64 links = load_table(&MEM.table);
	int length = LENGTH(inode), block = START(inode), logical;
	if (length != ref_of(file)) {
		finding(M4_CONTENT_ERROR);
		if (length == ABSENT) return 1;
	}
	for (logical = 0; logical < length; logical++) {
		if (block >= BLOCKS || link_of(links, block) == FREE_LINK) {
			finding(M2_LOST_BLOCK);
			break;
		}
		if (DEVICE.data[block] != HASH(file, logical)) finding(M4_CONTENT_ERROR);
		block = link_of(links, block);
	}
	return 1;
}

static inline void check_and_repair(void) {
	Metadata *meta = &DISK.meta;
	u64 links = load_table(&meta->table);
	u64 repaired = links;
	u32 referenced = 0;
	int file, block;
	for (file = 0; file < FILES; file++) {
		Inode inode = meta->inode[file];
		int left = LENGTH(inode), last = NONE;
		if (inode == ABSENT_INODE) continue;
		if (left == 0) left = 1;
		for (block = START(inode); left > 0; left--) {
			if (block >= BLOCKS) break;
			if (referenced >> block & 1) finding(M3_DOUBLE_POINTER);
			referenced |= 1u << block;
			if (link_of(links, block) == FREE_LINK) break;
			last = block;
			block = link_of(links, block);
		}
		if (left > 0) finding(M2_LOST_BLOCK);
		else repaired = with_link(repaired, last, LAST_LINK);
	}
	for (block = 0; block < BLOCKS; block++)
		if (!(referenced >> block & 1) && link_of(links, block) != FREE_LINK) {
			finding(M1_DEAD_BLOCK);
			repaired = with_link(repaired, block, FREE_LINK);
		}
	store_table(&meta->table, repaired);
}
};

#include "tester.pml"
