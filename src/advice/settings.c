/* advice/settings.c: what could be set otherwise, by what the run shows. */
#include "advice/words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MB (1024.0 * 1024)
#define GB (1024 * MB)

/* What is to be had is worth a change from so much on, and from that share of the whole on. */
#define WORTH_BYTES (64 * MB)
#define WORTH_SHARE 0.05

/* Data workers are there for a reason: only where they weigh. */
#define WORKERS_SHARE 0.2

/* A device is nearly full from this share on; what a step takes is a good part of it from that. */
#define NEARLY_FULL 0.9
#define STEP_SHARE 0.3

/* What an allocator keeps beyond the most that was ever in use. */
#define UNUSED_SHARE 0.2
#define UNUSED_BYTES (256 * MB)

/* Falls at collections are a rule from so many on, and if most collections show one. */
#define FALLS_LEAST 3u
#define FALLS_SHARE 0.5

__attribute__((format(printf, 3, 4))) static void advise(struct settings *s, const char *name,
                                                         const char *format, ...)
{
    if (s->count == ADVICE_SETTINGS)
        return;
    struct setting *one = &s->list[s->count++];
    va_list args;
    va_start(args, format);
    vsnprintf(one->why, sizeof(one->why), format, args);
    va_end(args);
    one->name = name;
}

static bool is_worth(const struct setting_facts *f, double bytes, double share)
{
    return bytes >= WORTH_BYTES && !(bytes < share * f->host_peak);
}

/* ---- processes ---- */

static void advise_copies(const struct setting_facts *f, struct settings *s)
{
    struct copies judged;
    struct buf text = BUF_INIT;
    if (!f->copies)
        return;
    copies_judge(f->copies, &judged);
    copies_describe(&text, f->copies, &judged);
    advise(s, "dataset", "%s", buf_text(&text));
    buf_release(&text);
}

static void advise_part(const struct setting_facts *f, const struct part_facts *p,
                        struct settings *s)
{
    const char *plural = p->processes == 1 ? "" : "s";
    double each = p->private_bytes / p->processes;
    bool data = strcmp(p->role, "data worker") == 0;
    bool compile = strcmp(p->role, "compile worker") == 0;
    if (data && !f->copies && is_worth(f, p->private_bytes, WORKERS_SHARE))
        advise(s, "num_workers",
               "%u data worker%s %s %s for themselves (%s each), %.0f %% of the job's peak: one "
               "worker less saves about %s. Whether training would then wait for data, this run "
               "does not say.",
               p->processes, plural, p->processes == 1 ? "has" : "have",
               words_of_bytes(p->private_bytes).text, words_of_bytes(each).text,
               100 * p->private_bytes / f->host_peak, words_of_bytes(each).text);
    if (compile && is_worth(f, p->private_bytes, WORTH_SHARE))
        advise(s, "TORCHINDUCTOR_COMPILE_THREADS=1",
               "%u compile worker%s: %s by RSS, %s by share, %s of that for themselves. With 1 "
               "torch compiles inside the trainer, which takes longer, and the %s are free.",
               p->processes, plural, words_of_bytes(p->rss).text, words_of_bytes(p->pss).text,
               words_of_bytes(p->private_bytes).text, words_of_bytes(p->private_bytes).text);
}

/* ---- the host ---- */

static void advise_host(const struct setting_facts *f, struct settings *s)
{
    if (is_worth(f, f->pinned, WORTH_SHARE))
        advise(
            s, "pin_memory",
            "torch holds %s of pinned host memory, which cannot be swapped out: pin_memory=False "
            "or fewer batches ahead (prefetch_factor) give it back.",
            words_of_bytes(f->pinned).text);
    if (is_worth(f, f->freed_by_trim, WORTH_SHARE))
        advise(
            s, "MALLOC_ARENA_MAX",
            "the first malloc_trim of the cleanup gave %s back to the system, which the allocator "
            "had kept after it was freed: MALLOC_ARENA_MAX=2 or MALLOC_TRIM_THRESHOLD_=100000 keep "
            "it "
            "from holding so much.",
            words_of_bytes(f->freed_by_trim).text);
    if (is_worth(f, f->freed_by_gc, WORTH_SHARE))
        advise(
            s, "gc.collect()",
            "the first collection of the cleanup freed %s: objects that hold each other stay until "
            "then.",
            words_of_bytes(f->freed_by_gc).text);
    else if (f->falls >= FALLS_LEAST && f->falls >= FALLS_SHARE * f->collections &&
             is_worth(f, f->fall, WORTH_SHARE))
        advise(s, "gc.collect()",
               "host memory fell at %u of %u full collections, typically by %s: objects that hold "
               "each other stay until then. Break the cycle, or collect more often: "
               "tidemark.Cleanup(every=N) does, and counts what it frees and costs.",
               f->falls, f->collections, words_of_bytes(f->fall).text);
}

/* ---- devices ---- */

static void advise_device(const struct device_facts *d, struct settings *s)
{
    double step = d->highest - d->allocated, unused = d->reserved - d->highest;
    if (d->used >= NEARLY_FULL * d->capacity && step >= STEP_SHARE * d->highest)
        advise(
            s, "gradient accumulation",
            "%s is %.0f %% full, and %s of the %s that tensors took at most are there only during "
            "a step: batches of half the size, two to an optimizer step, take about half of "
            "that.",
            d->name, 100 * d->used / d->capacity, words_of_bytes(step).text,
            words_of_bytes(d->highest).text);
    if (unused >= UNUSED_BYTES && unused >= UNUSED_SHARE * d->reserved)
        advise(s, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
               "torch kept %s of %s for the second half of the run, and tensors never took more "
               "than %s at a time: %s lie between them in pieces that do not fit.",
               words_of_bytes(d->reserved).text, d->name, words_of_bytes(d->highest).text,
               words_of_bytes(unused).text);
}

void settings_judge(const struct setting_facts *f, struct settings *ret)
{
    ret->count = 0;
    advise_copies(f, ret);
    for (size_t i = 0; i < f->part_count; i++)
        advise_part(f, &f->parts[i], ret);
    advise_host(f, ret);
    for (unsigned i = 0; i < f->device_count; i++)
        advise_device(&f->devices[i], ret);
}
