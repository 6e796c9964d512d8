/* words/settings.c: settings that the run gives a reason to change, as sentences. */
#include "words/settings.h"

#include "words/amounts.h"
#include "words/copies.h"

const char *setting_name(enum setting_kind kind)
{
    static const char *const names[] = {
        [SETTING_DATASET] = "dataset",
        [SETTING_WORKERS] = "num_workers",
        [SETTING_COMPILE_WORKERS] = "TORCHINDUCTOR_COMPILE_THREADS=1",
        [SETTING_PINNED] = "pin_memory",
        [SETTING_ARENAS] = "MALLOC_ARENA_MAX",
        [SETTING_COLLECT_CLEANUP] = "gc.collect()",
        [SETTING_COLLECT] = "gc.collect()",
        [SETTING_ACCUMULATION] = "gradient accumulation",
        [SETTING_EXPANDABLE] = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    };
    return names[kind];
}

const char *setting_none(void)
{
    return "nothing to change: this run gives no reason for another setting";
}

static void describe_dataset(struct buf *out, const struct copy_facts *f)
{
    struct copies judged;
    copies_judge(f, &judged);
    copies_describe(out, f, &judged);
}

static void describe_workers(struct buf *out, const struct part_facts *p, double peak)
{
    struct words each = words_of_bytes(p->private_bytes / p->processes);
    buf_addf(out,
             "%u data worker%s %s %s of private memory (%s each), %.0f %% of the job's peak: one "
             "worker less saves about %s. This run does not show whether training would then wait "
             "for data.",
             p->processes, p->processes == 1 ? "" : "s", p->processes == 1 ? "has" : "have",
             words_of_bytes(p->private_bytes).text, each.text, 100 * p->private_bytes / peak,
             each.text);
}

static void describe_compile_workers(struct buf *out, const struct part_facts *p)
{
    struct words own = words_of_bytes(p->private_bytes);
    buf_addf(out,
             "%u compile worker%s: %s by RSS, %s by share, %s of that private. With 1, torch "
             "compiles inside the trainer: that takes longer and saves %s.",
             p->processes, p->processes == 1 ? "" : "s", words_of_bytes(p->rss).text,
             words_of_bytes(p->pss).text, own.text, own.text);
}

static void describe_accumulation(struct buf *out, const struct device_facts *d)
{
    buf_addf(out,
             "%s is %.0f %% full. Tensors took %s at the peak, %s of that only during a step: two "
             "batches of half the size for each optimizer step take about half of that.",
             d->name, 100 * d->used / d->capacity, words_of_bytes(d->highest).text,
             words_of_bytes(d->highest - d->allocated).text);
}

static void describe_expandable(struct buf *out, const struct device_facts *d)
{
    buf_addf(out,
             "torch reserved %s of %s in the second half of the run, and tensors never took more "
             "than %s at a time: %s lie between them in pieces that do not fit.",
             words_of_bytes(d->reserved).text, d->name, words_of_bytes(d->highest).text,
             words_of_bytes(d->reserved - d->highest).text);
}

void setting_describe(struct buf *out, const struct setting *s, const struct setting_facts *f)
{
    switch (s->kind) {
    case SETTING_DATASET:
        describe_dataset(out, f->copies);
        break;
    case SETTING_WORKERS:
        describe_workers(out, &f->parts[s->at], f->host_peak);
        break;
    case SETTING_COMPILE_WORKERS:
        describe_compile_workers(out, &f->parts[s->at]);
        break;
    case SETTING_PINNED:
        buf_addf(out,
                 "torch holds %s of pinned host memory, which cannot be swapped out: "
                 "pin_memory=False or fewer batches ahead (prefetch_factor) free it.",
                 words_of_bytes(f->pinned).text);
        break;
    case SETTING_ARENAS:
        buf_addf(out,
                 "the cleanup's first malloc_trim returned %s of free heap memory to the system: "
                 "MALLOC_ARENA_MAX=2 or MALLOC_TRIM_THRESHOLD_=100000 make malloc retain less.",
                 words_of_bytes(f->freed_by_trim).text);
        break;
    case SETTING_COLLECT_CLEANUP:
        buf_addf(out,
                 "the cleanup's first collection freed %s: reference cycles stay alive until a "
                 "collection.",
                 words_of_bytes(f->freed_by_gc).text);
        break;
    case SETTING_COLLECT:
        buf_addf(out,
                 "host memory fell at %u of %u full collections, typically by %s: reference cycles "
                 "stay alive until a collection. Break the cycle, or collect more often: "
                 "tidemark.Cleanup(every=N) does, and counts what it frees and costs.",
                 f->falls, f->collections, words_of_bytes(f->fall).text);
        break;
    case SETTING_ACCUMULATION:
        describe_accumulation(out, &f->devices[s->at]);
        break;
    case SETTING_EXPANDABLE:
        describe_expandable(out, &f->devices[s->at]);
        break;
    }
}
