/* workloads/load.c: what the test programs share. */
#include "load.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct load load = {.steps = 1000, .step_ms = 10, .base_mb = 16};

static volatile sig_atomic_t stop_signal;

struct child {
    struct child *next;
    pid_t pid;
};

static struct child *children;

struct block {
    struct block *next;
};

static struct block *kept;

_Noreturn void load_fail(const char *what)
{
    perror(what);
    exit(1);
}

_Noreturn void load_skip(const char *why)
{
    fprintf(stderr, "%s: skipped: %s\n", program_invocation_short_name, why);
    exit(77);
}

/* ---- options ---- */

static _Noreturn void usage(const char *what, const struct load_option *own)
{
    fprintf(stderr, "%s: %s\nusage: %s [--steps N] [--step-ms N] [--base-mb N] [--fix]",
            program_invocation_short_name, what, program_invocation_short_name);
    for (; own && own->name; own++)
        fprintf(stderr, own->flag ? " [--%s]" : " [--%s N]", own->name);
    fputc('\n', stderr);
    exit(1);
}

static const struct load_option *find_option(const struct load_option *list, const char *name)
{
    for (; list && list->name; list++)
        if (strcmp(list->name, name) == 0)
            return list;
    return NULL;
}

void load_options(int argc, char **argv, const struct load_option *own)
{
    const struct load_option common[] = {{"steps", &load.steps, NULL},
                                         {"step-ms", &load.step_ms, NULL},
                                         {"base-mb", &load.base_mb, NULL},
                                         {"fix", NULL, &load.fix},
                                         {0}};
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0)
            usage("options begin with --", own);
        const struct load_option *o = find_option(common, argv[i] + 2);
        if (!o)
            o = find_option(own, argv[i] + 2);
        if (!o)
            usage("no such option", own);
        if (o->flag) {
            *o->flag = true;
            continue;
        }
        char *end = NULL;
        const char *text = ++i < argc ? argv[i] : "";
        long value = strtol(text, &end, 10);
        if (end == text || *end || value < 0)
            usage("a number is missing", own);
        *o->value = value;
    }
}

static void on_stop(int number)
{
    stop_signal = number;
}

void load_init(int argc, char **argv, const struct load_option *own)
{
    load_options(argc, argv, own);
    /* Without SA_RESTART: a sleep ends at once. */
    struct sigaction action = {.sa_handler = on_stop};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    if (load.base_mb > 0)
        load_keep((size_t) load.base_mb << 20);
}

/* ---- steps ---- */

bool load_stopped(void)
{
    return stop_signal != 0;
}

bool load_running(long n)
{
    return n <= load.steps && !load_stopped();
}

void load_sleep_ms(long ms)
{
    if (ms <= 0)
        return;
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

void load_step(long n)
{
    printf("step %ld\n", n);
    fflush(stdout);
    load_sleep_ms(load.step_ms);
}

void load_idle(void)
{
    sigset_t stops, before;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    sigprocmask(SIG_BLOCK, &stops, &before);
    while (!load_stopped())
        sigsuspend(&before);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

void load_truth(pid_t leaking)
{
    if (load.fix)
        return;
    printf("truth: pid %ld leaks\n", (long) leaking);
    fflush(stdout);
}

/* ---- children ---- */

static void forget_children(void)
{
    while (children) {
        struct child *first = children;
        children = first->next;
        free(first);
    }
}

pid_t load_fork(void)
{
    pid_t parent = getpid();
    struct child *c = malloc(sizeof(*c));
    if (!c)
        load_fail("malloc");
    fflush(stdout);
    c->pid = fork();
    if (c->pid < 0)
        load_fail("fork");
    if (c->pid == 0) {
        free(c);
        forget_children();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        return 0;
    }
    c->next = children;
    children = c;
    return c->pid;
}

/* Two seconds of grace: a child that has children of its own ends those first. */
static void reap(pid_t pid)
{
    for (int ms = 0; ms < 2000; ms++) {
        pid_t got = waitpid(pid, NULL, WNOHANG);
        if (got == pid || (got < 0 && errno == ECHILD))
            return;
        load_sleep_ms(1);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

void load_end_child(pid_t pid)
{
    for (struct child **link = &children; *link; link = &(*link)->next) {
        struct child *c = *link;
        if (c->pid != pid)
            continue;
        *link = c->next;
        free(c);
        kill(pid, SIGTERM);
        reap(pid);
        return;
    }
}

int load_end(void)
{
    for (struct child *c = children; c; c = c->next)
        kill(c->pid, SIGTERM);
    for (struct child *c = children; c; c = c->next)
        reap(c->pid);
    forget_children();
    fflush(stdout);
    if (load_stopped()) {
        signal(stop_signal, SIG_DFL);
        raise(stop_signal);
    }
    return 0;
}

/* ---- memory ---- */

void *load_keep(size_t bytes)
{
    struct block *b = malloc(sizeof(*b) + bytes);
    if (!b)
        load_fail("malloc");
    b->next = kept;
    kept = b;
    return memset(b + 1, 0x5a, bytes);
}

void *load_map(size_t bytes)
{
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        load_fail("mmap");
    return memset(map, 0x5a, bytes);
}

void load_unmap(void *map, size_t bytes)
{
    munmap(map, bytes);
}

/* ---- times ---- */

uint64_t load_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

void load_times_init(struct load_times *t, size_t capacity)
{
    *t = (struct load_times){.ns = malloc(capacity * sizeof(*t->ns)), .capacity = capacity};
    if (!t->ns)
        load_fail("malloc");
    memset(t->ns, 0x5a, capacity * sizeof(*t->ns));
}

void load_times_release(struct load_times *t)
{
    free(t->ns);
    *t = (struct load_times){0};
}

void load_times_add(struct load_times *t, uint64_t ns)
{
    t->ns[t->count++ % t->capacity] = ns;
}

static int compare_ns(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return (x > y) - (x < y);
}

struct load_times_summary load_times_summary(struct load_times *t)
{
    size_t n = t->count < t->capacity ? t->count : t->capacity;
    if (n == 0)
        return (struct load_times_summary){0};
    qsort(t->ns, n, sizeof(*t->ns), compare_ns);
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += t->ns[i];
    return (struct load_times_summary){.steps = t->count,
                                       .mean_ns = sum / n,
                                       .p50_ns = t->ns[n / 2],
                                       .p99_ns = t->ns[n - 1 - n / 100],
                                       .max_ns = t->ns[n - 1]};
}

void load_times_print(const char *name, const struct load_times_summary *s)
{
    printf("%s steps %llu mean_ns %llu p50_ns %llu p99_ns %llu max_ns %llu\n", name,
           (unsigned long long) s->steps, (unsigned long long) s->mean_ns,
           (unsigned long long) s->p50_ns, (unsigned long long) s->p99_ns,
           (unsigned long long) s->max_ns);
    fflush(stdout);
}
