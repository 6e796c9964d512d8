/* tests/trace/dump.c: FILE: what stands in a trace file, as JSON. */
#include "wire/wire.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct found {
    unsigned live, claimed, torn, stacks, deep;
    double bytes;
    double large; /* of `bytes`: blocks of 16000 */
};

#define LARGE 16000u
#define CLAIMED 1u

static void look_at_live(const struct wire_trace_layout *f, struct found *ret)
{
    for (unsigned i = 0; i < WIRE_TRACE_LIVE; i++) {
        const struct wire_trace_sample *s = &f->live_samples[i];
        if (f->addresses[i] == CLAIMED)
            ret->claimed++;
        if (f->addresses[i] <= CLAIMED)
            continue;
        ret->live++;
        ret->torn += s->check != wire_trace_check(f->addresses[i], s);
        ret->bytes += (double) s->weight;
        ret->large += s->size == LARGE ? (double) s->weight : 0;
    }
}

static void look_at_stacks(const struct wire_trace_layout *f, struct found *ret)
{
    for (unsigned i = 0; i < WIRE_TRACE_STACKS; i++) {
        ret->stacks += f->stacks[i].hash != 0;
        ret->deep += f->stacks[i].hash != 0 && f->stacks[i].depth > 2;
    }
}

static void show(const char *name, unsigned long long number)
{
    printf("\"%s\": %llu, ", name, number);
}

int main(int argc, char **argv)
{
    struct stat st;
    struct found found = {0};
    int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &st) < 0 || (size_t) st.st_size != sizeof(struct wire_trace_layout))
        return 1;
    const struct wire_trace_layout *f = mmap(NULL, sizeof(*f), PROT_READ, MAP_SHARED, fd, 0);
    if (f == MAP_FAILED || f->magic != WIRE_TRACE_MAGIC)
        return 1;
    look_at_live(f, &found);
    look_at_stacks(f, &found);
    printf("{");
    show("pid", (unsigned long long) f->pid);
    show("generation", f->generation);
    show("armed", f->armed);
    show("coverage", f->coverage);
    show("interval", f->interval);
    show("samples", f->samples);
    show("counted", f->live);
    show("live", found.live);
    show("claimed", found.claimed);
    show("torn", found.torn);
    show("dropped", f->dropped);
    show("dropped_bytes", f->dropped_bytes);
    show("stackless", f->stackless);
    show("thinned", f->thinned);
    show("lost_frees", f->lost_frees);
    show("stacks", found.stacks);
    show("deep", found.deep);
    show("spent", f->spent);
    show("bytes", (unsigned long long) found.bytes);
    printf("\"large\": %llu}\n", (unsigned long long) found.large);
    return 0;
}
