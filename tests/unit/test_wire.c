/* tests/unit/test_wire.c: what a process writes into its ring is what its watcher reads. */
#include "unit.h"
#include "wire/ring.h"
#include "wire_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 4096

TEST(wire__what_is_put_is_read_in_order)
{
    struct wire_ring *ring;
    struct wire_reader *reader;
    struct wire_record x;
    CHECK(wire_open(NULL, &ring) == 0);
    CHECK(wire_reader_attach(ring, &reader) == 0);
    CHECK(!wire_read(reader, &x));
    for (unsigned i = 0; i < 100; i++)
        wire_put(ring, WIRE_SAMPLE, WIRE_WATCHER, i % 7, 1000 + i, 0.5 * i);
    for (unsigned i = 0; i < 100; i++) {
        CHECK(wire_read(reader, &x));
        CHECK(x.kind == WIRE_SAMPLE && x.source == WIRE_WATCHER && x.name == i % 7);
        CHECK(x.time == 1000 + i);
        CHECK_NEAR(x.value, 0.5 * i, 0);
    }
    CHECK(!wire_read(reader, &x));
    CHECK(wire_reader_lost(reader) == 0);
    wire_reader_free(reader);
    wire_close(ring);
}

TEST(wire__what_was_not_read_in_time_is_counted_as_lost)
{
    struct wire_ring *ring;
    struct wire_reader *reader;
    struct wire_record x;
    CHECK(wire_open(NULL, &ring) == 0);
    CHECK(wire_reader_attach(ring, &reader) == 0);
    for (unsigned i = 0; i < 3 * SLOTS; i++)
        wire_put(ring, WIRE_STEP, WIRE_OPTIMIZER, 0, i, i);
    unsigned read = 0;
    double last = -1;
    while (wire_read(reader, &x)) {
        CHECK(x.value > last);
        last = x.value;
        read++;
    }
    CHECK(read > 0 && read <= SLOTS);
    CHECK_NEAR(last, 3 * SLOTS - 1, 0);
    CHECK(wire_reader_lost(reader) + read == 3 * SLOTS);
    wire_reader_free(reader);
    wire_close(ring);
}

TEST(wire__a_counter_has_one_number)
{
    struct wire_ring *ring;
    struct wire_reader *reader;
    struct wire_name a = {.kind = "torch.allocated", .device = "cuda:0", .judged = 1}, b = a, got;
    CHECK(wire_open(NULL, &ring) == 0);
    CHECK(wire_reader_attach(ring, &reader) == 0);
    int number = wire_name(ring, &a);
    CHECK(number >= 0 && wire_name(ring, &a) == number);
    strcpy(b.device, "cuda:1");
    CHECK(wire_name(ring, &b) != number);
    CHECK(wire_reader_name(reader, (unsigned) number, &got));
    CHECK_TEXT(got.kind, "torch.allocated");
    CHECK_TEXT(got.device, "cuda:0");
    for (unsigned i = 0; i < WIRE_NAMES; i++) {
        snprintf(b.kind, sizeof(b.kind), "own.%u", i);
        number = wire_name(ring, &b);
    }
    CHECK(number == -ENOSPC);
    CHECK(!wire_reader_name(reader, WIRE_NAMES, &got));
    wire_reader_free(reader);
    wire_close(ring);
}

TEST(wire__a_higher_source_is_believed_and_no_step_counts_twice)
{
    struct wire_ring *ring;
    struct wire_reader *reader;
    struct wire_record x;
    CHECK(wire_open(NULL, &ring) == 0);
    CHECK(wire_reader_attach(ring, &reader) == 0);
    CHECK(isnan(wire_reader_step(reader)));
    CHECK(wire_step(ring, WIRE_OPTIMIZER, 1));
    CHECK(wire_step(ring, WIRE_WATCHER, 11));
    CHECK(!wire_step(ring, WIRE_OPTIMIZER, 2));
    CHECK(wire_believed(ring) == WIRE_WATCHER);
    CHECK_NEAR(wire_reader_step(reader), 11, 0);
    unsigned steps = 0, samples = 0;
    while (wire_read(reader, &x)) {
        steps += x.kind == WIRE_STEP;
        samples += x.kind == WIRE_SAMPLE && x.value > 0;
    }
    CHECK(steps == 2 && samples == 2);
    wire_reader_free(reader);
    wire_close(ring);
}

TEST(wire__steps_are_told_sparsely_and_counted_exactly)
{
    struct wire_ring *ring;
    struct wire_reader *reader;
    struct wire_record x;
    CHECK(wire_open(NULL, &ring) == 0);
    CHECK(wire_reader_attach(ring, &reader) == 0);
    for (unsigned i = 1; i <= 100000; i++)
        wire_step(ring, WIRE_WATCHER, i);
    CHECK_NEAR(wire_reader_step(reader), 100000, 0);
    unsigned told = 0;
    while (wire_read(reader, &x))
        told += x.kind == WIRE_STEP;
    CHECK(told >= 1 && told < 10000);
    wire_reader_free(reader);
    wire_close(ring);
}

/* How many of 1,000 steps of `source` are reported, if the optimizer's are requested each time. */
static unsigned told_steps(struct wire_ring *ring, enum wire_source source)
{
    unsigned told = 0;
    for (unsigned i = 1; i <= 1000; i++) {
        wire_tell_next(ring, WIRE_OPTIMIZER);
        told += wire_step(ring, source, i) != 0;
    }
    return told;
}

TEST(wire__a_step_can_be_told_out_of_turn_by_who_is_believed)
{
    struct wire_ring *ring;
    CHECK(wire_open(NULL, &ring) == 0);
    CHECK(told_steps(ring, WIRE_OPTIMIZER) == 1000);
    CHECK(wire_step(ring, WIRE_WATCHER, 1));
    CHECK(told_steps(ring, WIRE_WATCHER) < 500);
    wire_close(ring);
}

TEST(wire__two_openings_in_one_process_are_one_ring)
{
    struct wire_ring *a, *b;
    struct wire_record x;
    make_directory();
    CHECK(wire_open(directory, &a) == 0);
    wire_step(a, WIRE_OPTIMIZER, 1);
    CHECK(wire_open(directory, &b) == 0);
    CHECK(wire_believed(b) == WIRE_OPTIMIZER);
    wire_put(b, WIRE_EPOCH, WIRE_WATCHER, 0, 7, 1);
    struct wire_reader *reader = open_own_ring();
    CHECK(reader != NULL);
    CHECK(wire_reader_pid(reader) == getpid());
    CHECK(wire_reader_start(reader) > 0);
    bool epoch = false;
    while (wire_read(reader, &x))
        epoch = epoch || (x.kind == WIRE_EPOCH && x.time == 7);
    CHECK(epoch);
    wire_reader_free(reader);
    wire_close(a);
    wire_close(b);
    remove_directory();
}

TEST(wire__a_sleeper_is_woken_at_the_step_it_asked_for)
{
    struct wire_ring *ring;
    char path[128], byte;
    make_directory();
    snprintf(path, sizeof(path), "%s/" WIRE_WAKE_FILE, directory);
    CHECK(mkfifo(path, 0600) == 0);
    int fifo = open(path, O_RDONLY | O_NONBLOCK);
    CHECK(wire_open(directory, &ring) == 0);
    CHECK(read(fifo, &byte, 1) == 1); /* a new ring */
    struct wire_reader *reader = open_own_ring();
    CHECK(reader != NULL);
    wire_reader_wake_at(reader, 5);
    for (unsigned i = 1; i < 5; i++)
        wire_step(ring, WIRE_OPTIMIZER, i);
    CHECK(read(fifo, &byte, 1) <= 0);
    wire_step(ring, WIRE_OPTIMIZER, 5);
    CHECK(read(fifo, &byte, 1) == 1);
    wire_step(ring, WIRE_OPTIMIZER, 6);
    CHECK(read(fifo, &byte, 1) <= 0);
    close(fifo);
    wire_step(ring, WIRE_OPTIMIZER, 7); /* nobody listens */
    wire_reader_free(reader);
    wire_close(ring);
    remove_directory();
}

static volatile sig_atomic_t pipes_broken;

static void on_broken_pipe(int number)
{
    (void) number;
    pipes_broken++;
}

/* Starts a process that listens and leaves, again and again. */
static pid_t start_fickle_listener(const char *fifo)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    for (;;) {
        int fd = open(fifo, O_RDONLY | O_NONBLOCK);
        close(fd);
    }
}

TEST(wire__a_sleeper_that_goes_away_does_not_kill_who_wakes_it)
{
    struct wire_ring *ring;
    char path[128];
    make_directory();
    snprintf(path, sizeof(path), "%s/" WIRE_WAKE_FILE, directory);
    CHECK(mkfifo(path, 0600) == 0);
    pid_t listener = start_fickle_listener(path);
    signal(SIGPIPE, on_broken_pipe);
    CHECK(wire_open(directory, &ring) == 0);
    struct wire_reader *reader = open_own_ring();
    for (unsigned i = 1; i < 20000; i++) {
        wire_reader_wake_at(reader, 0);
        wire_step(ring, WIRE_OPTIMIZER, i);
    }
    CHECK(pipes_broken == 0);
    signal(SIGPIPE, SIG_DFL);
    kill(listener, SIGKILL);
    waitpid(listener, NULL, 0);
    wire_reader_free(reader);
    wire_close(ring);
    remove_directory();
}

/* Begins a record, as a thread that exec() ends in the middle of writing. */
static void begin_a_record(struct wire_ring *ring)
{
    uint64_t number = atomic_fetch_add(&ring->layout->head, 1);
    atomic_store(&ring->layout->ring[number % WIRE_SLOTS].sequence, wire_writing(number));
}

TEST(wire__a_record_that_is_never_ended_is_given_up)
{
    struct wire_ring *ring;
    struct wire_reader *reader;
    struct wire_record x;
    CHECK(wire_open(NULL, &ring) == 0);
    CHECK(wire_reader_attach(ring, &reader) == 0);
    begin_a_record(ring);
    wire_put(ring, WIRE_EPOCH, WIRE_WATCHER, 0, 1, 1);
    CHECK(!wire_read(reader, &x));
    for (unsigned i = 2; i <= 300; i++)
        wire_put(ring, WIRE_EPOCH, WIRE_WATCHER, 0, i, i);
    for (unsigned i = 1; i <= 300; i++)
        CHECK(wire_read(reader, &x) && x.time == i);
    CHECK(wire_reader_lost(reader) == 1);
    wire_reader_free(reader);
    wire_close(ring);
}

TEST(wire__what_is_no_ring_is_refused)
{
    char path[128];
    struct wire_reader *reader = NULL;
    make_directory();
    snprintf(path, sizeof(path), "%s/1-1" WIRE_RING_SUFFIX, directory);
    FILE *f = fopen(path, "w");
    fputs("no ring", f);
    fclose(f);
    int fd = open(directory, O_RDONLY | O_DIRECTORY);
    CHECK(wire_reader_open(fd, "1-1" WIRE_RING_SUFFIX, &reader) == -EPROTO);
    CHECK(wire_reader_open(fd, "2-2" WIRE_RING_SUFFIX, &reader) == -ENOENT);
    CHECK(wire_reader_open(fd, ".", &reader) < 0);
    CHECK(!reader);
    close(fd);
    remove_directory();
    struct wire_ring *ring = NULL;
    CHECK(wire_open(directory, &ring) == -ENOENT);
    CHECK(!ring);
}

TEST(wire__the_child_of_a_fork_has_a_ring_of_its_own)
{
    struct wire_ring *ring;
    make_directory();
    CHECK(wire_open(directory, &ring) == 0);
    pid_t child = fork();
    if (child == 0) {
        ring = wire_close(ring);
        _exit(wire_open(directory, &ring) == 0 && wire_step(ring, WIRE_OPTIMIZER, 3) ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(wire_believed(ring) == WIRE_NOBODY);
    wire_close(ring);
    remove_directory();
}

static void *write_many(void *ring)
{
    for (unsigned i = 0; i < 200000; i++)
        wire_put(ring, WIRE_SAMPLE, WIRE_WATCHER, 1, i, (double) i);
    return NULL;
}

TEST(wire__threads_write_while_one_reads)
{
    struct wire_ring *ring;
    struct wire_reader *reader;
    struct wire_record x;
    pthread_t threads[3];
    CHECK(wire_open(NULL, &ring) == 0);
    CHECK(wire_reader_attach(ring, &reader) == 0);
    for (unsigned i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, write_many, ring) == 0);
    uint64_t read = 0;
    bool whole = true;
    while (read + wire_reader_lost(reader) < 600000)
        if (wire_read(reader, &x)) {
            whole = whole && (double) x.time == x.value;
            read++;
        }
    CHECK(whole && read > 0);
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    wire_reader_free(reader);
    wire_close(ring);
}

/* ---- phases ---- */

/* Reads all new records of phases. 0: there are none, or not each one comes with its memory. */
static unsigned read_phases(struct wire_reader *reader, struct wire_record *ret, unsigned most)
{
    unsigned count = 0, samples = 0;
    for (struct wire_record x; wire_read(reader, &x);) {
        samples += x.kind == WIRE_ASIDE && x.value > 0;
        if (x.kind == WIRE_PHASE && count < most)
            ret[count++] = x;
    }
    return samples == count ? count : 0;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

TEST(wire__a_phase_is_told_with_both_its_ends)
{
    struct wire_ring *ring;
    struct wire_reader *reader;
    struct wire_record x[8];
    struct wire_phase_count count;
    CHECK(wire_open(NULL, &ring) == 0);
    CHECK(wire_reader_attach(ring, &reader) == 0);
    CHECK(!wire_reader_phase(reader, 0, &count));
    unsigned evaluate = wire_phase(ring, "evaluate"), save = wire_phase(ring, "save");
    CHECK(evaluate != save && wire_phase(ring, "evaluate") == evaluate);
    uint64_t begun = wire_phase_begin(ring, evaluate);
    wire_phase_begin(ring, save);
    wire_phase_end(ring, save);
    sleep_ms(2);
    uint64_t ended = wire_phase_end(ring, evaluate);
    CHECK(read_phases(reader, x, 8) == 4);
    CHECK(x[0].name == evaluate && x[0].value == 1 && x[0].time == begun);
    CHECK(x[1].name == save && x[1].value == 1 && x[2].name == save && x[2].value == 0);
    CHECK(x[3].name == evaluate && x[3].value == 0 && x[3].time == ended);
    CHECK(wire_reader_phase(reader, evaluate, &count));
    CHECK_TEXT(count.name, "evaluate");
    CHECK(count.begun == 1 && count.ended == 1);
    CHECK_NEAR(count.seconds, 1e-9 * (double) (ended - begun), 1e-12);
    CHECK(!wire_reader_phase(reader, WIRE_PHASES, &count));
    wire_reader_free(reader);
    wire_close(ring);
}

TEST(wire__a_phase_in_itself_is_one_and_an_end_alone_is_none)
{
    struct wire_ring *ring;
    struct wire_reader *reader;
    struct wire_record x[8];
    struct wire_phase_count count;
    CHECK(wire_open(NULL, &ring) == 0);
    CHECK(wire_reader_attach(ring, &reader) == 0);
    unsigned phase = wire_phase(ring, "evaluate");
    CHECK(wire_phase_end(ring, phase) == 0);
    CHECK(wire_phase_begin(ring, phase) != 0);
    CHECK(wire_phase_begin(ring, phase) == 0);
    CHECK(wire_phase_end(ring, phase) == 0);
    CHECK(wire_phase_end(ring, phase) != 0);
    CHECK(wire_phase_end(ring, phase) == 0);
    CHECK(read_phases(reader, x, 8) == 2 && x[0].value == 1 && x[1].value == 0);
    CHECK(wire_reader_phase(reader, phase, &count) && count.begun == 1 && count.ended == 1);
    wire_reader_free(reader);
    wire_close(ring);
}

TEST(wire__open_phases_end_together)
{
    struct wire_ring *ring;
    struct wire_reader *reader;
    struct wire_record x[8];
    CHECK(wire_open(NULL, &ring) == 0);
    CHECK(wire_reader_attach(ring, &reader) == 0);
    wire_phase_begin(ring, wire_phase(ring, "epoch"));
    wire_phase_begin(ring, wire_phase(ring, "evaluate"));
    wire_phase_begin(ring, wire_phase(ring, "evaluate"));
    wire_phases_end(ring);
    wire_phases_end(ring);
    CHECK(read_phases(reader, x, 8) == 4 && x[2].value == 0 && x[3].value == 0);
    wire_reader_free(reader);
    wire_close(ring);
}

TEST(wire__many_names_of_phases_become_other)
{
    struct wire_ring *ring;
    struct wire_reader *reader;
    struct wire_phase_count count;
    char name[16];
    CHECK(wire_open(NULL, &ring) == 0);
    CHECK(wire_reader_attach(ring, &reader) == 0);
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "batch %u", i);
        unsigned phase = wire_phase(ring, name);
        CHECK(phase == (i < WIRE_PHASES - 1 ? i : WIRE_PHASES - 1));
        wire_phase_begin(ring, phase);
        wire_phase_end(ring, phase);
    }
    CHECK(wire_reader_phase(reader, WIRE_PHASES - 1, &count));
    CHECK_TEXT(count.name, "other");
    CHECK(count.begun == 1000 - (WIRE_PHASES - 1) && count.ended == count.begun);
    CHECK(wire_phase(ring, "other") == WIRE_PHASES - 1);
    wire_reader_free(reader);
    wire_close(ring);
}

/* Every phase is counted, every reported one has its end, and the ring keeps room for the rest. */
TEST(wire__a_flood_of_phases_does_not_fill_the_ring)
{
    struct wire_ring *ring;
    struct wire_reader *reader;
    static struct wire_record x[SLOTS];
    struct wire_phase_count count;
    CHECK(wire_open(NULL, &ring) == 0);
    CHECK(wire_reader_attach(ring, &reader) == 0);
    unsigned phase = wire_phase(ring, "batch");
    uint64_t begin = wire_now();
    unsigned made = 0;
    for (; wire_now() - begin < 200000000; made++) {
        wire_phase_begin(ring, phase);
        wire_phase_end(ring, phase);
    }
    uint64_t took = wire_now() - begin;
    unsigned told = read_phases(reader, x, SLOTS);
    CHECK(made > 1000 && told >= 2 && told <= 2 * (1 + took / 20000000));
    for (unsigned i = 0; i < told; i++)
        CHECK(x[i].value == (i % 2 == 0 ? 1 : 0));
    CHECK(wire_reader_lost(reader) == 0);
    CHECK(wire_reader_phase(reader, phase, &count) && count.begun == made && count.ended == made);
    wire_reader_free(reader);
    wire_close(ring);
}

/* Memory allocated and freed between two samples is known if it set a new high-water mark. */
TEST(wire__the_most_memory_of_a_phase_is_told)
{
    struct wire_ring *ring;
    struct wire_reader *reader;
    struct wire_record x;
    const size_t size = 512u << 20;
    double told[3];
    unsigned count = 0;
    CHECK(wire_open(NULL, &ring) == 0);
    CHECK(wire_reader_attach(ring, &reader) == 0);
    unsigned phase = wire_phase(ring, "evaluate");
    wire_phase_begin(ring, phase);
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    CHECK(memory != MAP_FAILED);
    munmap(memory, size);
    wire_phase_end(ring, phase);
    while (wire_read(reader, &x)) {
        CHECK(x.kind == WIRE_PHASE || (x.kind == WIRE_ASIDE && count < 3));
        if (x.kind == WIRE_ASIDE)
            told[count++] = x.value;
        else
            CHECK(count == (x.value > 0 ? 1 : 3)); /* before the end */
    }
    CHECK(count == 3);
    CHECK_NEAR(told[1] - told[0], (double) size, 32e6);
    CHECK_NEAR(told[2], told[0], 32e6);
    /* No mark was set: of the next phase only the two samples are known. */
    sleep_ms(110);
    wire_phase_begin(ring, phase);
    wire_phase_end(ring, phase);
    for (count = 0; wire_read(reader, &x); count++)
        CHECK(x.value < told[0] + 32e6);
    CHECK(count == 4);
    wire_reader_free(reader);
    wire_close(ring);
}

/* ---- a process that was attached to ---- */

TEST(wire__a_reader_is_known_by_the_fifo_and_gone_with_it)
{
    char path[128];
    make_directory();
    CHECK(!wire_has_reader(directory));
    snprintf(path, sizeof(path), "%s/" WIRE_WAKE_FILE, directory);
    CHECK(mkfifo(path, 0600) == 0);
    CHECK(!wire_has_reader(directory));
    int fifo = open(path, O_RDONLY | O_NONBLOCK);
    errno = 77;
    CHECK(wire_has_reader(directory) && errno == 77);
    close(fifo);
    CHECK(!wire_has_reader(directory) && errno == 77);
    remove_directory();
}

TEST(wire__who_leaves_says_so_and_leaves_no_file)
{
    struct wire_ring *ring;
    make_directory();
    CHECK(wire_open(directory, &ring) == 0);
    CHECK(wire_census_replace(ring, "text", 4) == 0);
    struct wire_reader *reader = open_own_ring();
    CHECK(reader != NULL && !wire_reader_has_left(reader));
    wire_say_left(ring);
    CHECK(wire_reader_has_left(reader));
    CHECK(access(directory, F_OK) < 0 && errno == ENOENT);
    wire_reader_free(reader);
    wire_close(ring);
}

/* ---- the census ---- */

TEST(wire__what_the_reader_wants_the_process_knows)
{
    struct wire_ring *ring;
    struct wire_reader *reader;
    CHECK(wire_open(NULL, &ring) == 0);
    CHECK(wire_reader_attach(ring, &reader) == 0);
    CHECK(wire_wanted(ring) == WIRE_CENSUS_NONE);
    wire_reader_want(reader, WIRE_CENSUS_HOLDERS);
    CHECK(wire_wanted(ring) == WIRE_CENSUS_HOLDERS);
    wire_reader_want(reader, WIRE_CENSUS_COUNT);
    CHECK(wire_wanted(ring) == WIRE_CENSUS_COUNT);
    ring->layout->wanted = 99;
    CHECK(wire_wanted(ring) == WIRE_CENSUS_NONE);
    CHECK(wire_census_replace(ring, "text", 4) == -ENOENT);
    wire_reader_free(reader);
    wire_close(ring);
}

TEST(wire__who_watches_from_outside_decides_what_is_wanted)
{
    struct wire_ring *ring;
    struct wire_reader *inside, *outside;
    make_directory();
    CHECK(wire_open(directory, &ring) == 0);
    CHECK(wire_reader_attach(ring, &inside) == 0);
    outside = open_own_ring();
    CHECK(outside != NULL);
    wire_reader_want(inside, WIRE_CENSUS_HOLDERS);
    CHECK(wire_wanted(ring) == WIRE_CENSUS_NONE);
    wire_reader_want(outside, WIRE_CENSUS_COUNT);
    wire_reader_want(inside, WIRE_CENSUS_HOLDERS);
    CHECK(wire_wanted(ring) == WIRE_CENSUS_COUNT);
    wire_reader_free(inside);
    wire_reader_free(outside);
    wire_close(ring);
    remove_directory();
}

/* Reads this process's census file, whose name follows from that of the ring's file. */
static int read_census(char *ret, size_t size)
{
    int length = -1;
    DIR *d = opendir(directory);
    if (!d)
        return -1;
    for (struct dirent *e; (e = readdir(d));) {
        int fd = strstr(e->d_name, WIRE_CENSUS_SUFFIX) ? openat(dirfd(d), e->d_name, O_RDONLY) : -1;
        if (fd < 0)
            continue;
        length = (int) read(fd, ret, size - 1);
        ret[length < 0 ? 0 : length] = '\0';
        close(fd);
    }
    closedir(d);
    return length;
}

/* A forked child writes it for the process, and the draft of a killed child is no obstacle. */
TEST(wire__a_census_takes_the_place_of_the_one_before)
{
    struct wire_ring *ring;
    char text[64];
    make_directory();
    CHECK(wire_open(directory, &ring) == 0);
    CHECK(read_census(text, sizeof(text)) == -1);
    CHECK(wire_census_replace(ring, "the first one", 13) == 0);
    CHECK(read_census(text, sizeof(text)) == 13);
    int folder = open(directory, O_RDONLY | O_DIRECTORY);
    int fd = openat(folder, ring->census_draft, O_WRONLY | O_CREAT, 0600);
    CHECK(write(fd, "half", 4) == 4);
    close(fd);
    pid_t child = fork();
    if (child == 0)
        _exit(wire_census_replace(ring, "second", 6) == 0 ? 0 : 1);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(read_census(text, sizeof(text)) == 6);
    CHECK_TEXT(text, "second");
    CHECK(faccessat(folder, ring->census_draft, F_OK, 0) < 0);
    close(folder);
    wire_close(ring);
    remove_directory();
}

TEST(wire__a_census_that_cannot_be_written_is_an_error)
{
    struct wire_ring *ring;
    make_directory();
    CHECK(wire_open(directory, &ring) == 0);
    remove_directory();
    errno = 77;
    CHECK(wire_census_replace(ring, "text", 4) == -ENOENT);
    CHECK(errno == 77);
    wire_close(ring);
}
