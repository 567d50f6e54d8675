/*
 * The workload and the environment. The mapping model has defined, above:
 *
 *   may_create(task, file), may_append, may_delete, may_verify   guards
 *   create(task, file), append, delete                           first steps
 *   advance(task)       the next step of the op in flight
 *   verify(file)        on-line check; true
 *   check_and_repair()  off-line check of the disk
 *
 * The guards have no side effect; spin would reject them as calls without the space.
 */
#define FILE_CHOICES(t, f) \
	:: d_step { c_expr { may_create (t, f) } -> c_code { create(t, f); } } \
	:: d_step { c_expr { may_append (t, f) } -> c_code { append(t, f); } } \
	:: d_step { c_expr { may_delete (t, f) } -> c_code { delete(t, f); } } \
	:: c_expr { may_verify (t, f) && verify(f) }

#if FILES == 1
#define CHOICES(t) FILE_CHOICES(t, 0)
#elif FILES == 2
#define CHOICES(t) FILE_CHOICES(t, 0) FILE_CHOICES(t, 1)
#elif FILES == 3
#define CHOICES(t) FILE_CHOICES(t, 0) FILE_CHOICES(t, 1) FILE_CHOICES(t, 2)
#else
#define CHOICES(t) \
	FILE_CHOICES(t, 0) FILE_CHOICES(t, 1) FILE_CHOICES(t, 2) FILE_CHOICES(t, 3)
#endif

#define TASK(t) \
	:: d_step { c_expr { in_op (t) } -> c_code { advance(t); } } \
	CHOICES(t)

#define CRASH \
	:: c_code { check_and_repair(); remount(); }

#ifdef ONE_PROCESS

active proctype Everything() {
	do
	TASK(0)
#if TASKS == 2
	TASK(1)
#endif
	CRASH
	od
}

#else

active proctype Tester0() {
	do
	TASK(0)
	od
}

#if TASKS == 2
active proctype Tester1() {
	do
	TASK(1)
	od
}
#endif

active proctype Environment() {
	do
	CRASH
	od
}

#ifdef SPLIT
active proctype Memory() {
	false
}

#if CACHE
active proctype Cache() {
	false
}
#endif
#endif

#endif
