/* probe/trace/modules.c: asks the loader, or a list made before; reads program headers. */
#include "probe/trace/modules.h"

#include "probe/base/libc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define MOST_MODULES 512
#define MOST_PATH 224

static const void *pointer_to(uintptr_t address)
{
    return (const void *) address; /* NOLINT(performance-no-int-to-ptr) */
}

/* ---- program headers ---- */

static uintptr_t segment_start(const struct module *m, const ElfW(Phdr) * p)
{
    return m->bias + (uintptr_t) p->p_vaddr;
}

/* The loaded segment that has these bytes of the file. */
static const ElfW(Phdr) * segment_of(const struct module *m, uintptr_t address, size_t size)
{
    for (size_t i = 0; i < m->header_count; i++) {
        const ElfW(Phdr) *p = &m->headers[i];
        uintptr_t offset = address - segment_start(m, p);
        if (p->p_type == PT_LOAD && (p->p_flags & PF_R) && offset < p->p_filesz &&
            p->p_filesz - offset >= size)
            return p;
    }
    return NULL;
}

static void set_frames_header(struct module *m, uintptr_t address)
{
    const ElfW(Phdr) *segment = address ? segment_of(m, address, 1) : NULL;
    if (!segment)
        return;
    const uint8_t *start = pointer_to(segment_start(m, segment));
    m->bytes = (struct cfi_bytes){start, start + segment->p_filesz};
    m->frames_header = pointer_to(address);
}

/* ---- the loader ---- */

static _Atomic(libc_object_finder *) object_finder;

/* The program headers stand behind the ELF header, both on the first page of the file. */
static bool read_elf_header(struct module *m)
{
    const ElfW(Ehdr) *e = pointer_to(m->start);
    if (memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_phentsize != sizeof(ElfW(Phdr)) ||
        e->e_phoff % sizeof(uintptr_t) != 0 || e->e_phoff > PAGE_BYTES ||
        e->e_phnum > (PAGE_BYTES - e->e_phoff) / sizeof(ElfW(Phdr)))
        return false;
    m->headers = pointer_to(m->start + (uintptr_t) e->e_phoff);
    m->header_count = e->e_phnum;
    return true;
}

bool modules_find_by_loader(uintptr_t address, struct module *ret_module)
{
    libc_object_finder *find = atomic_load_explicit(&object_finder, memory_order_relaxed);
    struct libc_object o;
    if (!find || find((void *) pointer_to(address), &o) != 0)
        return false;
    *ret_module = (struct module){.start = (uintptr_t) o.start,
                                  .end = (uintptr_t) o.end,
                                  .bias = o.file->l_addr,
                                  .path = o.file->l_name};
    if (read_elf_header(ret_module))
        set_frames_header(ret_module, (uintptr_t) o.eh_frame_header);
    return true;
}

/* ---- the list ---- */

struct listed {
    struct module module;
    uint64_t print; /* of its program headers */
    char path[MOST_PATH];
};

/* `version` is odd while the list is made. A fork may interrupt that: then the child goes on. */
static struct {
    _Atomic uint32_t version;
    _Atomic pid_t maker;
    size_t count;
    struct listed files[MOST_MODULES];
} list;

/* So many bytes, and one byte of them wrong, tell one file's headers from another's. */
static uint64_t print_of(const void *bytes, size_t size)
{
    const uint8_t *b = bytes;
    uint64_t print = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        print = (print ^ b[i]) * UINT64_C(0x100000001b3);
    return print;
}

static size_t headers_size(const struct module *m)
{
    size_t size = m->header_count * sizeof *m->headers;
    return size < PAGE_BYTES / 4 ? size : PAGE_BYTES / 4;
}

static void measure(struct module *m)
{
    uintptr_t frames_header = 0;
    m->start = UINTPTR_MAX;
    for (size_t i = 0; i < m->header_count; i++) {
        const ElfW(Phdr) *p = &m->headers[i];
        uintptr_t start = segment_start(m, p), end = start + (uintptr_t) p->p_memsz;
        if (p->p_type == PT_GNU_EH_FRAME)
            frames_header = start;
        if (p->p_type != PT_LOAD)
            continue;
        m->start = start < m->start ? start : m->start;
        m->end = end > m->end ? end : m->end;
    }
    set_frames_header(m, frames_header);
}

static int add_to_list(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void) size, (void) unused;
    if (list.count == MOST_MODULES)
        return 1;
    struct listed *l = &list.files[list.count++];
    l->module = (struct module){.bias = info->dlpi_addr,
                                .path = l->path,
                                .headers = info->dlpi_phdr,
                                .header_count = info->dlpi_phnum};
    measure(&l->module);
    l->print = print_of(info->dlpi_phdr, headers_size(&l->module));
    strncpy(l->path, info->dlpi_name, sizeof l->path - 1);
    return 0;
}

/* False: another thread makes the list now. */
static bool begin_list(void)
{
    pid_t self = getpid(), maker = 0;
    while (!atomic_compare_exchange_strong(&list.maker, &maker, self))
        if (maker == self)
            return false;
    atomic_store(&list.version, atomic_load(&list.version) | 1);
    return true;
}

void modules_take_list(void)
{
    if (!begin_list())
        return;
    list.count = 0;
    dl_iterate_phdr(add_to_list, NULL);
    atomic_fetch_add(&list.version, 1);
    atomic_store(&list.maker, 0);
}

static bool is_still_loaded(const struct listed *l)
{
    uint8_t copy[PAGE_BYTES / 4];
    struct iovec local = {copy, headers_size(&l->module)};
    struct iovec remote = {(void *) l->module.headers, local.iov_len};
    int error = errno;
    long got = syscall(SYS_process_vm_readv, getpid(), &local, 1L, &remote, 1L, 0L);
    errno = error;
    return got == (long) local.iov_len && print_of(copy, local.iov_len) == l->print;
}

static bool copy_from_list(uintptr_t address, struct listed *ret)
{
    for (size_t i = 0; i < list.count && i < MOST_MODULES; i++) {
        const struct module *m = &list.files[i].module;
        if (address - m->start < m->end - m->start) {
            ret->module = *m;
            ret->print = list.files[i].print;
            return true;
        }
    }
    return false;
}

bool modules_find_in_list(uintptr_t address, struct module *ret_module)
{
    struct listed l;
    uint32_t version = atomic_load_explicit(&list.version, memory_order_acquire);
    bool is_found = version % 2 == 0 && copy_from_list(address, &l);
    atomic_thread_fence(memory_order_acquire);
    if (!is_found || atomic_load_explicit(&list.version, memory_order_relaxed) != version ||
        !is_still_loaded(&l))
        return false;
    *ret_module = l.module;
    return true;
}

/* ---- both ---- */

bool modules_find(uintptr_t address, struct module *ret_module)
{
    return atomic_load_explicit(&object_finder, memory_order_relaxed)
               ? modules_find_by_loader(address, ret_module)
               : modules_find_in_list(address, ret_module);
}

/* How many files were loaded and unloaded so far. */
struct changes {
    unsigned long long loaded, unloaded;
};

static int get_changes(struct dl_phdr_info *info, size_t size, void *ret)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *(struct changes *) ret = (struct changes){info->dlpi_adds, info->dlpi_subs};
    return 1;
}

static _Atomic unsigned long long reviewed_loaded, reviewed_unloaded;

static bool review(void)
{
    struct changes now = {0};
    dl_iterate_phdr(get_changes, &now);
    if (!atomic_load(&object_finder))
        atomic_store(&object_finder, libc_get_object_finder());
    bool are_unloaded = atomic_exchange(&reviewed_unloaded, now.unloaded) != now.unloaded;
    bool are_loaded = atomic_exchange(&reviewed_loaded, now.loaded) != now.loaded;
    if ((are_loaded || are_unloaded) && !atomic_load(&object_finder))
        modules_take_list();
    return are_unloaded;
}

/* fork() does not free the lock of dl_iterate_phdr(): in a child that was made while another thread
 * held it, the next dlopen() would wait for ever. So forks wait for reviews, and those that would
 * begin meanwhile are left out. */
#define PATIENCE 1000 /* times PAUSE: someone else may hold the lock, and wait for this fork */
#define PAUSE 100000  /* ns */

static _Atomic uint32_t reviewers, forks;

void modules_before_fork(void)
{
    int kept = errno;
    atomic_fetch_add(&forks, 1);
    for (int i = 0; i < PATIENCE && atomic_load(&reviewers) != 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    errno = kept;
}

void modules_after_fork(bool is_child)
{
    if (is_child)
        atomic_store(&reviewers, 0);
    if (is_child)
        atomic_store(&forks, 0);
    else
        atomic_fetch_sub(&forks, 1);
}

/* A signal handler that forks, or jumps, would leave the lock locked as well. */
bool modules_review(void)
{
    bool are_unloaded = false;
    uint64_t before = libc_block_signals();
    atomic_fetch_add(&reviewers, 1);
    if (atomic_load(&forks) == 0)
        are_unloaded = review();
    atomic_fetch_sub(&reviewers, 1);
    libc_restore_signals(before);
    return are_unloaded;
}

uint64_t modules_hold_forks(void)
{
    int kept = errno;
    uint64_t before = libc_block_signals();
    atomic_fetch_add(&reviewers, 1);
    for (int i = 0; i < PATIENCE && atomic_load(&forks) != 0; i++) {
        atomic_fetch_sub(&reviewers, 1);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
        atomic_fetch_add(&reviewers, 1);
    }
    errno = kept;
    return before;
}

void modules_let_fork(uint64_t before)
{
    atomic_fetch_sub(&reviewers, 1);
    libc_restore_signals(before);
}

/* ---- build-ids ---- */

static size_t padded(size_t size)
{
    return (size + 3) / 4 * 4;
}

static const uint8_t *find_in_notes(const uint8_t *notes, size_t size, size_t *ret_length)
{
    ElfW(Nhdr) n;
    while (size >= sizeof n) {
        memcpy(&n, notes, sizeof n);
        size_t name = padded(n.n_namesz), whole = sizeof n + name + padded(n.n_descsz);
        if (whole > size)
            break;
        if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
            memcmp(notes + sizeof n, "GNU", 4) == 0) {
            *ret_length = n.n_descsz;
            return notes + sizeof n + name;
        }
        notes += whole;
        size -= whole;
    }
    return NULL;
}

const uint8_t *module_build_id(const struct module *m, size_t *ret_length)
{
    for (size_t i = 0; i < m->header_count; i++) {
        const ElfW(Phdr) *p = &m->headers[i];
        uintptr_t start = segment_start(m, p);
        if (p->p_type != PT_NOTE || !segment_of(m, start, p->p_filesz))
            continue;
        const uint8_t *id = find_in_notes(pointer_to(start), p->p_filesz, ret_length);
        if (id)
            return id;
    }
    return NULL;
}
