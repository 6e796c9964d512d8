/* probe/trace/modules.h: the loaded files of this process. Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_MODULES_H
#define TIDEMARK_PROBE_TRACE_MODULES_H

#include "probe/trace/cfi.h"

#include <link.h>

/*
 * Since glibc 2.35 the loader itself finds files without a lock (_dl_find_object()), and knows what
 * is loaded at this moment. Before, there is only a list that this process made at its last
 * review. A file of it may have been unloaded since, so the kernel copies its program headers:
 * where they are the same, its parts are where they were.
 *
 * A found file may be read as long as the calling thread is inside one of its functions, however
 * far down its stack: nobody may unload it then.
 */
struct module {
    uintptr_t start, end, bias;
    const char *path; /* "": the program */
    const ElfW(Phdr) * headers;
    size_t header_count;
    struct cfi_bytes bytes;       /* the segment with its call frame information */
    const uint8_t *frames_header; /* its .eh_frame_hdr; NULL: it has none */
};

/* Nothing is found before the first modules_review(). */
bool modules_find(uintptr_t address, struct module *ret_module);

/* True: files were unloaded since the last review. Takes the lock of the loader's list for a
 * moment. */
bool modules_review(void);

/* Around each fork(); the child is one as well. */
void modules_before_fork(void);
void modules_after_fork(bool is_child);

/* Between both, this thread may hold the lock of the loader's list: forks wait, and signals too.
 * Waits for a fork that is under way. */
uint64_t modules_hold_forks(void);
void modules_let_fork(uint64_t signals);

/* Both ways of modules_find(), for tests. The second finds what modules_take_list() saw. */
bool modules_find_by_loader(uintptr_t address, struct module *ret_module);
bool modules_find_in_list(uintptr_t address, struct module *ret_module);
void modules_take_list(void);

/* NULL: it has none. */
const uint8_t *module_build_id(const struct module *m, size_t *ret_length);

#endif
