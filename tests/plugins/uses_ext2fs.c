/* A plug-in that is linked with a library which allocates: libext2fs. Declared by hand, so that it builds
 * without the library's headers. */
#include <stddef.h>

struct ext2_struct_u32_list;
typedef struct ext2_struct_u32_list* ext2_u32_list;
long ext2fs_u32_list_create(ext2_u32_list* out, int size);
void ext2fs_u32_list_free(ext2_u32_list list);
int ext2fs_u32_list_add(ext2_u32_list list, unsigned number);
int ext2fs_u32_list_test(ext2_u32_list list, unsigned number);

static ext2_u32_list list;

int numbers_begin(void) { return (int)ext2fs_u32_list_create(&list, 4); }
int numbers_add(unsigned number) { return ext2fs_u32_list_add(list, number); }
int numbers_have(unsigned number) { return ext2fs_u32_list_test(list, number); }
void* numbers_where(void) { return list; }
void numbers_end(void) {
  ext2fs_u32_list_free(list);
  list = NULL;
}
