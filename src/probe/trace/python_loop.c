/* probe/trace/python_loop.c: the addresses of the interpreter's loop. */
#include "probe/trace/python_loop.h"

#include "probe/base/libc.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

/* From `start` to before `end`. */
struct range {
    uintptr_t start, end;
};

static struct range loop, rare; /* rare: empty if there is none */

static bool has(const struct range *r, uintptr_t address)
{
    return address >= r->start && address < r->end;
}

/* ---- the table of call frames of a file ---- */

#define HEADER_VERSION 1
#define POINTER_ENCODING 0x1b /* DW_EH_PE_pcrel | DW_EH_PE_sdata4: of every usual linker */
#define COUNT_ENCODING 0x03   /* DW_EH_PE_udata4 */
#define TABLE_ENCODING 0x3b   /* DW_EH_PE_datarel | DW_EH_PE_sdata4 */

/* .eh_frame_hdr; its offsets count from the header itself. */
struct header {
    uint8_t version, pointer_encoding, count_encoding, table_encoding;
    int32_t frames;
    uint32_t count;
    struct entry {
        int32_t function, description;
    } entries[]; /* sorted by function */
};

/* What a description begins with. */
struct description {
    uint32_t length, common;
    int32_t function; /* from this field */
    uint32_t bytes;   /* of the function */
};

struct file {
    struct range text; /* the segment that has the loop */
    const struct header *header;
};

static int examine(struct dl_phdr_info *info, size_t size, void *context)
{
    struct file *f = context;
    const struct header *header = NULL;
    bool has_loop = false;
    (void) size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        struct range segment = {start, start + p->p_memsz};
        if (p->p_type == PT_GNU_EH_FRAME)
            header = (const void *) start; /* NOLINT(performance-no-int-to-ptr) */
        if (p->p_type == PT_LOAD && has(&segment, loop.start)) {
            has_loop = true;
            f->text = segment;
        }
    }
    f->header = header;
    return has_loop;
}

static bool file_of_loop(struct file *ret)
{
    *ret = (struct file){0};
    return dl_iterate_phdr(examine, ret) && ret->header && ret->header->version == HEADER_VERSION &&
           ret->header->pointer_encoding == POINTER_ENCODING &&
           ret->header->count_encoding == COUNT_ENCODING &&
           ret->header->table_encoding == TABLE_ENCODING && ret->header->count > 0;
}

/* The part of the program that the table describes as one, and that contains the address. */
static bool part_at(const struct file *f, uintptr_t address, struct range *ret)
{
    const char *base = (const char *) f->header;
    int64_t wanted = (int64_t) (address - (uintptr_t) base);
    size_t low = 0, high = f->header->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(f->header->entries[middle].function <= wanted ? &low : &high) = middle;
    }
    struct description d;
    const char *at = base + f->header->entries[low].description;
    memcpy(&d, at, sizeof(d));
    uintptr_t start =
        (uintptr_t) at + offsetof(struct description, function) + (uintptr_t) d.function;
    *ret = (struct range){start, start + d.bytes};
    return start == (uintptr_t) base + (uintptr_t) f->header->entries[low].function &&
           has(ret, address);
}

/* ---- the rare branches ---- */

#define VOTES_LEAST 3

#ifdef __x86_64__
#define KNOWS_JUMPS true
#else
#define KNOWS_JUMPS false
#endif

/* A conditional jump over a long distance: 0f 80 to 0f 8f, and the distance from its end. */
#define JUMP_BYTES 6

static bool jump_at(const uint8_t *at, uintptr_t *ret_target)
{
    int32_t distance;
    if (at[0] != 0x0f || at[1] < 0x80 || at[1] > 0x8f)
        return false;
    memcpy(&distance, at + 2, sizeof(distance));
    *ret_target = (uintptr_t) at + JUMP_BYTES + (uintptr_t) distance;
    return true;
}

/* Conditional jumps out of a function lead to its rare branches, hardly ever to other functions. A
 * majority outvotes what only looks like a jump. */
static void find_rare(const struct file *f)
{
    struct range leader = {0}, part;
    int votes = 0;
    uintptr_t target;
    for (uintptr_t at = loop.start; at + JUMP_BYTES <= loop.end; at++) {
        /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
        if (!jump_at((const uint8_t *) at, &target) || has(&loop, target) ||
            !has(&f->text, target) || !part_at(f, target, &part))
            continue;
        if (votes == 0)
            leader = part;
        votes += part.start == leader.start ? 1 : -1;
    }
    if (votes >= VOTES_LEAST)
        rare = leader;
}

/* ---- */

bool python_loop_learn(void)
{
    Dl_info info;
    const ElfW(Sym) * symbol;
    struct file file;
    const void *start = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
    if (!start || !libc_symbol(start, &info, &symbol) || !symbol || info.dli_saddr != start)
        return false;
    loop = (struct range){(uintptr_t) start, (uintptr_t) start + symbol->st_size};
    if (KNOWS_JUMPS && file_of_loop(&file))
        find_rare(&file);
    return true;
}

bool python_loop_made(uintptr_t return_address)
{
    /* A call may be the last instruction. */
    return has(&loop, return_address - 1) || has(&rare, return_address - 1);
}
