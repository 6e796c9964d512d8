/*
 * workloads/told_census.c: a trainer that tells from inside which steps it has made and what it
 * holds, as a Python program with the probe does: a list that gets an item every step, a deque with
 * a bound, a dict that jumped once. It says who holds them only where that is wanted.
 *
 * --kb K       forgotten in every step (64)
 * --every N    a census every so many steps (20)
 *
 * What it says about its source is in told_census.py of the working directory.
 *
 * grows:   RssAnon; not with --fix
 * verdict: leak; no leak with --fix
 */
#include "load.h"

#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long kb = 64, every = 20;

#define POINTS 12

/* What was counted at the last censuses, oldest first. */
static struct {
    uint64_t time;
    long step;
} points[POINTS];
static unsigned count;
static long taken;

static void remember(long n)
{
    if (count == POINTS)
        memmove(&points[1], &points[2], --count * sizeof(points[0]) - sizeof(points[0]));
    points[count].time = wire_now();
    points[count++].step = n;
    taken++;
}

static void put_points(FILE *out, long (*length)(long step))
{
    for (unsigned i = 0; i < count; i++)
        fprintf(out, "%s%llu:%ld", i ? " " : "", (unsigned long long) points[i].time,
                length(points[i].step));
    fputc('\n', out);
}

static long of_list(long step)
{
    return step;
}

static long of_deque(long step)
{
    return step / 2 + 1;
}

static long of_dict(long step)
{
    return step < 100 ? 10 + step / 50 : 1000000 + step / 50;
}

static void put_growing(FILE *out, bool with_holders)
{
    fprintf(out, "growing\t1\tcontainer\t%ld\t0\t\t", kb << 10);
    put_points(out, of_list);
    fputs("what\t1\tlist\tlist\nitem\t1\tbytes\tbytearray\n", out);
    if (with_holders)
        fprintf(out, "holder\t1\t0.98\tlocal\tkept\ttrain\ttold_census.py\t9\n"
                     "holder\t1\t0.02\tglobal\tmodule.spare\t\t\t\n");
    fprintf(out, "growing\t2\tcontainer\t32\t0\tbounded=1000000\t");
    put_points(out, of_deque);
    fputs("what\t2\tcontainer\tcollections.deque\nitem\t2\tnumber\tfloat\n", out);
    fprintf(out, "growing\t3\tcontainer\t%ld\t0\t\t", kb << 10);
    put_points(out, of_dict);
    fputs("what\t3\tdict\tdict\nitem\t3\tbytes\tbytearray\n", out);
}

static void tell_census(struct wire_ring *ring, long n)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out)
        load_skip("no memory for a text");
    remember(n);
    fprintf(out, WIRE_CENSUS_FIRST_LINE "\ncensus\t%ld\t%llu\t%ld\t1\n", taken,
            (unsigned long long) wire_now(), 50000 + n);
    fprintf(out, "cost\t%ld\t%d\t%ld\t900000\t4000000\n", taken, 1, 500000 * taken);
    fprintf(out, "tensors\tcpu\t330\t8388608\t12\t0\npurpose\tparameters\tcpu\t12\t4194304\n");
    put_growing(out, wire_wanted(ring) == WIRE_CENSUS_HOLDERS && !load.fix);
    fclose(out);
    wire_census_replace(ring, text, len);
    free(text);
}

int main(int argc, char **argv)
{
    struct wire_ring *ring;
    load_init(argc, argv, (struct load_option[]){{"kb", &kb, NULL}, {"every", &every, NULL}, {0}});
    if (wire_open(getenv(WIRE_DIRECTORY_VARIABLE), &ring) < 0)
        load_skip("no ring can be made");
    for (long n = 1; load_running(n); n++) {
        if (!load.fix)
            load_keep((size_t) kb << 10);
        wire_step(ring, WIRE_WATCHER, (double) n);
        if (n % every == 0 && wire_wanted(ring) != WIRE_CENSUS_NONE)
            tell_census(ring, n);
        load_step(n);
    }
    wire_close(ring);
    return load_end();
}
