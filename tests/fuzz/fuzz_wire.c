/* tests/fuzz/fuzz_wire.c: any bytes in a ring. The input is 12-byte pieces: a position in the ring
 * (four bytes) and its new content (eight). A position beyond the ring's end makes the watch that
 * reads it tick. Everything it reads is judged and reported. */
#include "report/report.h"
#include "watch/watch.h"
#include "wire/ring.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PIECE 12u
#define PIECES 4096u

static void poke(struct wire_ring *ring, uint32_t place, const uint8_t *bytes)
{
    memcpy((uint8_t *) ring->layout + (place & ~7u), bytes, 8);
}

/* Opens the same bytes as another process's ring. NULL: refused. */
static struct wire_reader *open_as_file(const struct wire_ring *ring)
{
    static const char name[] = "1-1" WIRE_RING_SUFFIX;
    char directory[] = "/tmp/fuzz_wire.XXXXXX";
    struct wire_reader *reader = NULL;
    int folder = mkdtemp(directory) ? open(directory, O_RDONLY | O_DIRECTORY) : -1;
    int fd = openat(folder, name, O_WRONLY | O_CREAT, 0600);
    ssize_t size = sizeof(*ring->layout);
    if (fd < 0 || write(fd, ring->layout, (size_t) size) != size)
        abort();
    if (wire_reader_open(folder, name, &reader) < 0)
        reader = NULL;
    unlinkat(folder, name, 0);
    rmdir(directory);
    close(fd);
    close(folder);
    return reader;
}

static bool is_same(const struct wire_record *a, const struct wire_record *b)
{
    return a->time == b->time && a->kind == b->kind && a->source == b->source &&
           a->name == b->name && a->value == b->value;
}

/* Our own memory and another process's file must read the same. */
static void read_records(struct wire_reader *memory, struct wire_reader *file)
{
    struct wire_record x, y;
    while (wire_read(memory, &x)) {
        if (x.name >= WIRE_NAMES || !(x.value - x.value == 0))
            abort();
        if (file && (!wire_read(file, &y) || !is_same(&x, &y)))
            abort();
    }
    if (file && (wire_read(file, &y) || wire_reader_lost(file) != wire_reader_lost(memory)))
        abort();
}

static void read_names(struct wire_reader *r)
{
    struct wire_name name;
    struct wire_phase_count phase;
    for (unsigned i = 0; i <= WIRE_NAMES; i++)
        if (wire_reader_name(r, i, &name) && strlen(name.kind) >= sizeof(name.kind))
            abort();
    for (unsigned i = 0; i <= WIRE_PHASES; i++)
        if (wire_reader_phase(r, i, &phase) && strlen(phase.name) >= sizeof(phase.name))
            abort();
}

/* Reads a ring without a watch, whatever state it is in. */
static void read_alone(struct wire_ring *ring)
{
    struct wire_reader *memory, *file = open_as_file(ring);
    if (wire_reader_attach(ring, &memory) < 0)
        abort();
    read_records(memory, file);
    read_names(memory);
    if (file)
        read_names(file);
    wire_reader_free(memory);
    wire_reader_free(file);
}

static void report(struct watch *w, double seconds)
{
    struct view view;
    struct buf text = BUF_INIT;
    const struct report_style style = {.width = 80, .full = true};
    watch_finish(w, seconds, &(struct watch_end){0});
    watch_view_init(w, seconds, &view);
    report_run_text(&text, &view, NULL, &style);
    report_run_json(&text, &view);
    buf_release(&text);
    view_release(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Only our own process, for speed. */
    struct watch_options options = {.proc_root = "/proc/self/task", .interval = 1};
    struct wire_ring *ring;
    struct watch *w;
    double seconds = 0;
    if (wire_open(NULL, &ring) < 0 || watch_new(&options, &w) < 0 ||
        watch_add_root(w, getpid(), false) < 0 || watch_add_ring(w, ring) < 0)
        abort();
    for (size_t i = 0; i + PIECE <= size && i < PIECES * PIECE; i += PIECE) {
        uint32_t place;
        memcpy(&place, data + i, sizeof(place));
        if (place < sizeof(struct wire_layout))
            poke(ring, place, data + i + 4);
        else if (seconds < 64)
            watch_tick(w, seconds++);
    }
    read_alone(ring);
    watch_tick(w, seconds);
    report(w, seconds + 1);
    watch_free(w);
    wire_close(ring);
    return 0;
}
