/* symbol/caged_reader.c: reads the functions at addresses from one file, in a deputy's cage. */
#include "symbol/caged_reader.h"

#include "symbol/answer.h"
#include "symbol/debug_info.h"
#include "symbol/elf_bytes.h"
#include "symbol/name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Decompressed sections, and what libdw makes of them. */
#define MEMORY_BYTES ((uint64_t) 512 << 20)
#define SECONDS 5u

/* An answer's share for each address: a pass of linked names cannot exceed it. */
#define ROOM_EACH (sizeof(struct answer_record) + ANSWER_MOST_FUNCTION + 1 + ANSWER_MOST_FILE + 1)

struct reader {
    const struct caged_input *in;
    struct caged_output *out;
    size_t size; /* of out->bytes */
    struct libs libs;

    struct elf_bytes file, debug; /* `debug`: no bytes: there is none */
    struct elf_function *functions;
    struct debug_info info;
    uint64_t *units;
    struct buf function; /* of the record that is being written */
};

/* ---- opening ---- */

/* Writable copies of pages: libelf corrects the headers of sections that it decompresses. */
static int open_mapped(int fd, size_t size, struct elf_bytes *ret)
{
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    return bytes == MAP_FAILED ? -errno : elf_bytes_open(bytes, size, ret);
}

/* By its build-id, else by the checksum that the file has noted. */
static bool belongs(const struct elf_bytes *debug, const struct elf_bytes *file)
{
    struct elf_piece id = elf_bytes_build_id(file);
    const char *name;
    uint32_t crc;
    if (id.bytes)
        return elf_bytes_has_build_id(debug, id.bytes, id.size);
    return elf_bytes_debug_link(file, &name, &crc) &&
           elf_crc(debug->file.bytes, debug->file.size) == crc;
}

static void open_debug(struct reader *r)
{
    struct elf_bytes debug = {0};
    const char *link;
    uint32_t crc;
    if (r->in->debug >= 0) {
        if (open_mapped(r->in->debug, r->in->debug_size, &debug) == 0 && belongs(&debug, &r->file))
            r->debug = debug;
        return;
    }
    if (elf_bytes_has_debug_info(&r->file) || !elf_bytes_debug_link(&r->file, &link, &crc))
        return;
    if (strlen(link) < sizeof r->out->debug_link)
        memcpy(r->out->debug_link, link, strlen(link) + 1);
}

static int open_files(struct reader *r)
{
    const struct caged_input *in = r->in;
    int result = open_mapped(in->file, in->file_size, &r->file);
    if (result < 0)
        return result;
    if (in->build_id_length > 0 &&
        !elf_bytes_has_build_id(&r->file, in->build_id, in->build_id_length))
        return -ESTALE;
    open_debug(r);
    return 0;
}

/* ---- names ---- */

static const char *demangled(struct reader *r, const char *linked)
{
    buf_clear(&r->function);
    name_add_linked(&r->function, linked);
    if (!r->libs.demangle || !name_is_mangled(linked))
        return buf_text(&r->function);
    int status;
    char *text = r->libs.demangle(buf_text(&r->function), NULL, NULL, &status);
    if (text) {
        buf_clear(&r->function);
        name_add_tidy(&r->function, text);
        free(text);
    }
    return buf_text(&r->function);
}

static const char *name_of(struct reader *r, const struct debug_frame *f)
{
    return f->linked ? demangled(r, f->linked) : f->name;
}

/* ---- passes ---- */

typedef bool write_function(struct reader *r, struct answer_writer *w, size_t i);

static bool write_linked(struct reader *r, struct answer_writer *w, size_t i)
{
    buf_clear(&r->function);
    if (!r->functions[i].name)
        return true;
    name_add_linked(&r->function, r->functions[i].name);
    return answer_write(w, i, &(struct symbol_frame){buf_text(&r->function), "", 0, false});
}

static bool write_tidy(struct reader *r, struct answer_writer *w, size_t i)
{
    const char *linked = r->functions[i].name;
    return !linked ||
           answer_write(w, i, &(struct symbol_frame){demangled(r, linked), "", 0, false});
}

/* A linker may have folded functions into one: for the outermost, the symbol is as good as its
 * debug information, and has the whole name. */
static bool write_lines(struct reader *r, struct answer_writer *w, size_t i)
{
    struct debug_frame frames[DEBUG_FRAMES];
    size_t count =
        r->units[i] ? debug_info_frames(&r->info, r->units[i], r->in->offsets[i], frames) : 0;
    if (count == 0)
        return write_tidy(r, w, i);
    if (r->functions[i].name)
        frames[count - 1].linked = r->functions[i].name;
    for (size_t k = 0; k < count; k++) {
        const struct debug_frame *f = &frames[k];
        const struct symbol_frame frame = {name_of(r, f), f->file ? f->file : "",
                                           f->line > 0 ? f->line : 0, k + 1 < count};
        if (!answer_write(w, i, &frame))
            return false;
    }
    return true;
}

/* Where there is no room for all, the addresses that are left have no names. */
static void run_pass(struct reader *r, enum caged_pass pass, write_function *write)
{
    uint64_t first = pass == CAGED_LINKED ? 0 : r->out->first[pass - 1] + r->out->length[pass - 1];
    struct answer_writer w = {r->out->bytes + first, r->size - first, 0};
    for (size_t i = 0; i < r->in->count; i++)
        if (!write(r, &w, i))
            break;
    r->out->first[pass] = first;
    r->out->length[pass] = w.used;
    atomic_store(&r->out->passes, pass + 1);
}

static void find_lines(struct reader *r)
{
    const struct elf_bytes *with = elf_bytes_has_debug_info(&r->file) ? &r->file : &r->debug;
    r->units = calloc(r->in->count, sizeof *r->units);
    if (!with->file.bytes || !r->units ||
        debug_info_open(&r->libs.dw, with->file.bytes, with->file.size, &r->info) < 0)
        return;
    debug_info_units(&r->info, r->in->offsets, r->in->count, r->units);
    run_pass(r, CAGED_LINES, write_lines);
}

static int read_names(struct reader *r)
{
    const struct caged_input *in = r->in;
    r->functions = calloc(in->count, sizeof *r->functions);
    if (!r->functions)
        return -ENOMEM;
    elf_bytes_find(&r->file, in->offsets, in->count, r->functions);
    if (r->debug.file.bytes)
        elf_bytes_find(&r->debug, in->offsets, in->count, r->functions);
    run_pass(r, CAGED_LINKED, write_linked);
    if (in->passes > CAGED_TIDY)
        run_pass(r, CAGED_TIDY, write_tidy);
    if (in->passes > CAGED_LINES)
        find_lines(r);
    return 0;
}

/* ---- in the cage ---- */

static void prepare(void *context)
{
    struct reader *r = context;
    if (r->in->passes > CAGED_LINKED)
        libs_load(&r->libs);
}

/* Frees nothing: the process ends with it. */
static int work(void *context)
{
    struct reader *r = context;
    int result = open_files(r);
    return result < 0 ? result : read_names(r);
}

int caged_run(const struct deputy *d, const struct caged_input *in,
              struct caged_output **ret_output, size_t *ret_size)
{
    size_t size = in->count * ROOM_EACH * CAGED_PASSES;
    struct caged_output *out = mmap(NULL, sizeof *out + size, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (out == MAP_FAILED)
        return -errno;
    struct reader r = {.in = in, .out = out, .size = size, .function = BUF_INIT};
    const struct deputy_cage cage = {
        .prepare = prepare,
        .work = work,
        .context = &r,
        .fds = {in->file, in->debug},
        .memory_bytes = MEMORY_BYTES + in->file_size + in->debug_size,
        .seconds = SECONDS,
    };
    int result = deputy_run_caged(d, &cage);
    *ret_output = out;
    *ret_size = size;
    return result;
}

void caged_free(struct caged_output *output, size_t size)
{
    munmap(output, sizeof *output + size);
}
