/* words/size.c: why a job needs this much memory, as sentences. */
#include "words/size.h"

#include "words/amounts.h"

#include <math.h>

void size_caveat(struct buf *out, enum size_caveat caveat, const char *ending)
{
    static const char taken[] = "The figures below are what this run took.";
    if (caveat == CAVEAT_LEAK)
        buf_adds(out, "No amount of memory is enough for a job that leaks: fix the leak first. The "
                      "figures below say how long memory lasts.");
    else if (caveat == CAVEAT_FAILED)
        buf_addf(out,
                 "This run supports no recommendation: the command failed (%s). Record a run that "
                 "trains to its end. %s",
                 ending, taken);
    else if (caveat == CAVEAT_SHORT)
        buf_addf(out,
                 "This run supports no recommendation: it is too short. Record a longer one. %s",
                 taken);
}

void size_overhead(struct buf *out, const struct part_facts *p)
{
    buf_addf(out, "%s by RSS", words_of_bytes(p->rss).text);
    if (isfinite(p->pss))
        buf_addf(out, ", %s by share, %s; without %s %s less", words_of_bytes(p->pss).text,
                 p->stable ? "stable" : "not stable", p->processes == 1 ? "it" : "them",
                 words_of_bytes(p->private_bytes).text);
}

static struct words position(const struct size_facts *f, double at)
{
    return words_of_position(at, f->answer->first_at, f->clock);
}

/* "32.0 GB (RAM)". */
static struct words capacity_words(const struct size_facts *f)
{
    const char *source = f->capacity_source;
    return words_joined("%s%s%s%s", words_of_bytes(f->capacity).text, source ? " (" : "",
                        source ? source : "", source ? ")" : "");
}

/* "16,000 steps (2.9 min)", "2.9 min": at the pace of the run. */
static struct words length_words(const struct size_facts *f, double length)
{
    const struct answer *a = f->answer;
    double pace = (a->last_seconds - a->first_seconds) / (a->last_at - a->first_at);
    struct words said = words_of_length(length, f->clock);
    if (f->clock == CLOCK_SECONDS || !(pace > 0) || !isfinite(pace * length))
        return said;
    return words_joined("%s (%s)", said.text, words_of_duration(pace * length).text);
}

static double amount_of(double value)
{
    return value > 0 ? value : 0;
}

/* How much a leak needs, and how long memory lasts. */
static void describe_leak(struct buf *out, const struct size_reason *r, const struct size_facts *f)
{
    const struct answer *a = f->answer;
    if (r->kind == SIZE_ENDLESS)
        buf_addf(out, "It grows %s without end: no size is enough for good.",
                 words_of_rate(a->rate, f->clock).text);
    else if (r->kind == SIZE_LASTS)
        buf_addf(out, "%s last until %s, about %s after the end of this run.",
                 capacity_words(f).text, position(f, r->amount).text,
                 length_words(f, fmax(0, r->amount - a->last_at)).text);
    else if (r->kind == SIZE_EACH_GB)
        buf_addf(out, "Each GB more lasts about %s.", length_words(f, r->amount).text);
    else
        buf_addf(out, "The plan up to %s would take %s.", position(f, a->plan).text,
                 words_of_bytes(r->amount).text);
}

static void describe_part(struct buf *out, const struct size_reason *r, const struct size_facts *f)
{
    struct words bytes = words_of_bytes(r->amount);
    if (r->kind == SIZE_PEAK)
        buf_addf(out, "The peak was %s%s.", bytes.text,
                 isfinite(f->files) ? ", without file pages" : "");
    else if (r->kind == SIZE_COPIED)
        buf_addf(out, "Data workers copied %s of that; %s is the job's own.", bytes.text,
                 words_of_bytes(f->peak - r->amount - amount_of(f->shared)).text);
    else
        buf_addf(out, "%s more by the end of the plan (%s): it grows %s.", bytes.text,
                 position(f, f->answer->plan).text, words_of_rate(f->answer->rate, f->clock).text);
}

/* Kinds that need nothing but their amount: "12 MB" and `after`; or `alone`, without it. */
static const struct {
    const char *after, *alone;
} plain[] = {
    [SIZE_NEEDED] = {.after = ": the peak of tensors, and what the process has there outside "
                              "torch."},
    [SIZE_SHARED] = {.after = " of that was in /dev/shm."},
    [SIZE_UNSEEN] = {.after = " more for a moment between two samples, by the kernel's own peak."},
    [SIZE_FAILED] = {.alone = "The command failed: what it would have taken later is not known."},
    [SIZE_SHORT] = {.alone = "The run is too short to show where that ends."},
    [SIZE_SPIKE] = {.after = " by which the highest spike exceeded the usual ones: the next may "
                             "too."},
    [SIZE_NOISE] = {.after = " for noise: three times what was measured."},
    [SIZE_PLAN_UNCERTAIN] = {.after = " by which the growth to the end of the plan is uncertain."},
    [SIZE_PLAN_UNNOTICED] = {.after = " that growth within the noise may add by the end of the "
                                      "plan."},
    [SIZE_NEGLIGIBLE] = {.after = " that its negligible leak adds in a run 10 times as long."},
    [SIZE_COPIES_TO_COME] = {.after = " that data workers may still copy."},
    [SIZE_FILES] = {.after = " of mapped files, code and libraries: the kernel can reclaim them, "
                             "and then has to read them again."},
    [SIZE_RETAINED] = {.after = " that torch's allocator retained beyond what tensors took."},
    [SIZE_NO_MARGIN] = {.alone = "Nothing in this run exceeded the minimum."},
};

void size_describe(struct buf *out, const struct size_reason *r, const struct size_facts *f)
{
    switch (r->kind) {
    case SIZE_ENDLESS:
    case SIZE_LASTS:
    case SIZE_EACH_GB:
    case SIZE_FOR_PLAN:
        describe_leak(out, r, f);
        break;
    case SIZE_PEAK:
    case SIZE_COPIED:
    case SIZE_PLAN:
        describe_part(out, r, f);
        break;
    case SIZE_EXCEEDS:
        buf_addf(out, "That is %s more than there is: %s.", words_of_bytes(r->amount).text,
                 capacity_words(f).text);
        break;
    default:
        buf_adds(out, plain[r->kind].alone ? plain[r->kind].alone : words_of_bytes(r->amount).text);
        buf_adds(out, plain[r->kind].alone ? "" : plain[r->kind].after);
    }
}
