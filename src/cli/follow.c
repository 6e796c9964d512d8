/* cli/follow.c: reads a source that still grows. */
#include "cli/follow.h"

#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS (250L * 1000 * 1000)

static volatile sig_atomic_t stopped;
static int source_fd, null_fd;

/*
 * Replaces the source by an empty one: a read that waits for a pipe restarts and finds the end. So
 * the last report comes at once, even if the pipe never ends.
 */
static void on_signal(int number)
{
    int saved = errno;
    (void) number;
    stopped = 1;
    dup2(null_fd, source_fd);
    errno = saved;
}

static int catch_signals(int fd)
{
    source_fd = fd;
    null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null_fd < 0) {
        int error = errno;
        cli_say("/dev/null: cannot be opened: %s", error_words(error));
        return -error;
    }
    /* With SA_RESTART a read restarts on the new source, and a write is not cut short. */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return 0;
}

struct follower {
    struct load *load;
    follow_printer print;
    void *context;
    struct timespec checked;
    bool file;           /* its end may move; a pipe's end is final */
    bool printed, fresh; /* fresh: samples came since the last check */
    struct job_answer last;
};

static bool changed(const struct job_answer *a, const struct job_answer *b)
{
    return a->verdict != b->verdict || a->severity != b->severity || a->leaks != b->leaks;
}

/* Prints the answers if they changed, or if `always`. */
static int look(struct follower *f, bool always, bool last)
{
    struct judgement j;
    judgement_init(&j, f->load);
    int r = 0;
    if (j.job.count > 0 && (always || changed(&j.answer, &f->last))) {
        r = f->print(f->context, &j, last);
        f->last = j.answer;
        f->printed = true;
    }
    judgement_release(&j);
    f->fresh = false;
    return r;
}

/* A pipe is read in one call until it ends, so checks happen between its samples. What a file
 * already holds is history, not news. */
static int on_sample(void *context)
{
    struct follower *f = context;
    f->fresh = true;
    if (f->file && !f->printed)
        return 0;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    double since = (double) (now.tv_sec - f->checked.tv_sec) * 1e9 +
                   (double) (now.tv_nsec - f->checked.tv_nsec);
    if (since < POLL_NS)
        return 0;
    f->checked = now;
    return look(f, false, false);
}

static bool is_file(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* A file that is now shorter than what was read was rewritten: read it from its start. */
static void notice_rewrite(struct follower *f)
{
    struct stat st;
    off_t at = lseek(f->load->fd, 0, SEEK_CUR);
    if (fstat(f->load->fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size >= at)
        return;
    lseek(f->load->fd, 0, SEEK_SET);
    cli_say("%s: became shorter: reading it from its start", f->load->path);
}

static int read_all(struct follower *f)
{
    while (!stopped) {
        int r = load_read(f->load);
        if (r < 0 || !f->file)
            return r;
        if (f->fresh || !f->printed)
            r = look(f, !f->printed, false);
        if (r < 0)
            return r;
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
        notice_rewrite(f);
    }
    return 0;
}

int follow(struct load *l, follow_printer print, void *context)
{
    struct follower f = {.load = l, .print = print, .context = context, .file = is_file(l->fd)};
    l->context = &f;
    l->on_sample = on_sample;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &f.checked);

    int r = catch_signals(l->fd);
    if (r >= 0)
        r = read_all(&f);
    if (r >= 0)
        r = load_finish(l);
    if (r >= 0)
        r = look(&f, true, true);
    l->on_sample = NULL;
    l->context = NULL;
    return r;
}
