/* words/notes.c: the notes of a report, as sentences. */
#include "words/notes.h"

#include <math.h>

#define SHM_PATH "/dev/shm"

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static const char *processes_of(size_t count)
{
    return count == 1 ? "process" : "processes";
}

/* ---- other programs ---- */

void note_elsewhere(struct buf *out, const struct elsewhere_facts *f)
{
    buf_adds(out, "memory in use on this machine grew by ");
    units_add_bytes(out, f->system);
    buf_adds(out, ", this job by ");
    units_add_bytes(out, fmax(f->job, 0));
    buf_addf(out, ". Process %d (", f->pid);
    utf8_add_clean(out, f->command, false);
    buf_adds(out, ") grew by ");
    units_add_bytes(out, f->grew);
    buf_addf(out, "; if that is the training, run: tidemark watch --pid %d", f->pid);
}

static void add_left(struct buf *out, const struct shm_notes *f)
{
    buf_adds(out, "this job left ");
    units_add_bytes(out, f->left);
    buf_addf(out,
             " behind in " SHM_PATH ", in %zu file%s that none of its processes maps or has "
             "open: " SHM_PATH "/",
             f->left_count, plural(f->left_count));
    utf8_add_clean(out, f->left_first, false);
    if (f->left_count > 1)
        buf_addf(out, " and %zu more", f->left_count - 1);
    buf_adds(out, ". A file there stays until somebody deletes it");
}

void note_shm(struct buf *out, const struct shm_notes *f)
{
    if (isfinite(f->left))
        add_left(out, f);
    if (!isfinite(f->unknown))
        return;
    buf_adds(out, out->len > 0 ? ". " : "");
    units_add_bytes(out, f->unknown);
    buf_adds(out, " appeared in " SHM_PATH " in files that no process maps or has open. This job "
                  "or another may have written them, so they are not counted. To list them: "
                  "ls -lt " SHM_PATH);
}

/* ---- what could not be read ---- */

void note_unread(struct buf *out, const char *why)
{
    buf_addf(out, "some processes of the job are missing here, because they could not be read: %s",
             why);
}

void note_no_clock(struct buf *out, enum no_clock why)
{
    static const char *const words[] = {
        [NO_CLOCK_ONE_MOMENT] =
            "all steps were reported at one moment, so memory was not sampled between them",
        [NO_CLOCK_INSIDE] = "the program reported no steps: judged by time",
        [NO_CLOCK_OUTPUT] =
            ("no steps were found in the output: judged by time. If the output has them, describe "
             "them with --step-regex 'step ([0-9]+)'; tidemark.Watcher counts those of any loop"),
    };
    buf_adds(out, words[why]);
}

void note_foreign_probe(struct buf *out, const char *process)
{
    buf_addf(out,
             "%s still has the probe of another tidemark version loaded. Restart it, or use "
             "that version",
             process ? process : "It");
}

void note_no_gpu(struct buf *out, const char *why)
{
    buf_addf(out, "no GPU series: %s", why);
}

void note_gpu_without_pids(struct buf *out)
{
    buf_adds(out, "the driver names no process of this job: GPU memory is that of whole devices");
}

void note_shares_forbidden(struct buf *out, unsigned processes)
{
    buf_addf(out,
             "PSS of %u %s cannot be read. RSS is used instead; it counts shared pages once "
             "per process",
             processes, processes_of(processes));
}

void note_shares_unread(struct buf *out, unsigned unread, unsigned processes)
{
    buf_addf(out,
             "PSS of %u of %u processes was not read: reading so many would slow the job "
             "down. A forked process without PSS counts what it allocated itself",
             unread, processes);
}

void note_shares_late(struct buf *out, unsigned late, unsigned processes, double seconds)
{
    buf_addf(out,
             "PSS of %u of %u processes was read up to %.0f s ago: reading so many more often "
             "would slow the job down. Since then it is moved on by what each allocates",
             late, processes, seconds);
}

/* ---- cleanup ---- */

void note_cleanup_begin(struct buf *out)
{
    buf_adds(out, "cleanup:");
}

void note_cleanup_action(struct buf *out, bool first, const char *action, double freed_bytes,
                         double seconds)
{
    buf_addf(out, "%s %s freed ", first ? "" : ";", action);
    if (freed_bytes > 0)
        units_add_bytes(out, freed_bytes);
    else
        buf_adds(out, "nothing");
    buf_addf(out, " in %.3g s", seconds);
}

void note_cleanup_refused(struct buf *out)
{
    buf_adds(out, "TIDEMARK_CLEANUP is not valid, so the job ran as if it were not set. Example: "
                  "every=10,gc=1,trim=0");
}

void note_not_traced(struct buf *out)
{
    buf_adds(out,
             "no allocation was traced: the job ended at once, or its programs have an allocator "
             "of their own (a sanitizer, a static program, malloc linked in)");
}

/* ---- the run file, the end, the limit ---- */

void note_store_incomplete(struct buf *out, const char *why)
{
    buf_addf(out, "the run file lacks the end: %s", why);
}

void note_still_running(struct buf *out, size_t processes)
{
    buf_addf(out, "%zu %s of the job still run%s", processes, processes_of(processes),
             processes == 1 ? "s" : "");
}

void note_near_limit(struct buf *out, double used, double limit, const char *source)
{
    units_add_bytes(out, used);
    buf_adds(out, " of ");
    units_add_bytes(out, limit);
    buf_addf(out, " (%s) are in use, %.0f %%", source, 100 * used / limit);
}

void note_store_failed(struct buf *out, const char *why)
{
    buf_addf(out, "the run file cannot be written (%s); tidemark goes on watching", why);
}

void note_store_works_again(struct buf *out)
{
    buf_adds(out, "the run file is written again; it has a gap");
}
