/* tests/unit/test_wire_hostile.c: the other side of a ring may do anything to it. */
#include "unit.h"
#include "wire/ring.h"
#include "wire_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a ring that its process turns into something else ---- */

/* Leaves a ring of this process with one step in it. Returns the ring's file, open for writing;
 * negative, without a reader, if that failed. */
static int leave_a_ring(struct wire_reader **ret)
{
    struct wire_ring *ring;
    char path[160];
    make_directory();
    *ret = NULL;
    if (wire_open(directory, &ring) < 0)
        return -1;
    wire_step(ring, WIRE_OPTIMIZER, 1);
    snprintf(path, sizeof(path), "%s/%s", directory, ring->file);
    wire_close(ring);
    *ret = open_own_ring();
    return *ret ? open(path, O_RDWR) : -1;
}

static off_t size_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? st.st_size : -1;
}

/* Reads and writes everything. True: the ring reports nothing any more. */
static bool tells_nothing(struct wire_reader *r)
{
    struct wire_record x;
    struct wire_name name;
    struct wire_phase_count phase;
    bool told = wire_read(r, &x);
    for (unsigned i = 0; i < WIRE_NAMES; i++)
        told = wire_reader_name(r, i, &name) || told;
    for (unsigned i = 0; i < WIRE_PHASES; i++)
        told = wire_reader_phase(r, i, &phase) || told;
    told = wire_reader_step(r) > 0 || wire_reader_own_shared(r) > 0 || told;
    told = wire_reader_census_is_under_way(r) || wire_reader_has_left(r) || told;
    wire_reader_want(r, WIRE_CENSUS_COUNT);
    wire_reader_act(r, WIRE_ACT_GC);
    wire_reader_wake_at(r, 3);
    return !told;
}

/* The watcher must survive a file that the job truncates, and must not extend it again. */
TEST(wire__a_ring_that_is_cut_off_says_nothing_more)
{
    static const off_t sizes[] = {sizeof(struct wire_layout) - 1, 4096, 100, 8, 0};
    struct wire_reader *reader;
    struct wire_record x;
    int fd = leave_a_ring(&reader);
    CHECK(fd >= 0);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        CHECK(ftruncate(fd, sizes[i]) == 0);
        while (wire_read(reader, &x))
            continue;
        wire_reader_want(reader, WIRE_CENSUS_COUNT);
        wire_reader_act(reader, WIRE_ACT_TRIM);
        wire_reader_wake_at(reader, 3);
        CHECK(size_of(fd) == sizes[i]);
    }
    CHECK(tells_nothing(reader) && size_of(fd) == 0);
    CHECK(wire_reader_pid(reader) == getpid());
    close(fd);
    wire_reader_free(reader);
    remove_directory();
}

TEST(wire__a_ring_with_a_hole_in_it_says_nothing_more)
{
    struct wire_reader *reader;
    int fd = leave_a_ring(&reader);
    CHECK(fd >= 0);
    off_t size = size_of(fd);
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, size) == 0) {
        CHECK(tells_nothing(reader));
        CHECK(size_of(fd) == size);
    }
    close(fd);
    wire_reader_free(reader);
    remove_directory();
}

/* Until it is killed: writes any bytes anywhere, and sometimes changes the size. */
static pid_t start_scribbling(int fd)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    uint64_t state = 88172645463325252u;
    for (unsigned i = 0;; i++) {
        uint64_t bytes[8];
        for (unsigned k = 0; k < 8; k++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            bytes[k] = i % 3 == 0 ? state % 20000 : state;
        }
        off_t where = i % 2 == 0 ? offsetof(struct wire_layout, head) : 0;
        if (where == 0)
            where = (off_t) (state % sizeof(struct wire_layout)) & ~7;
        if (pwrite(fd, bytes, sizeof(bytes), where) < 0 ||
            (i % 64 == 0 && ftruncate(fd, sizeof(struct wire_layout) - 8 * (i % 3)) < 0))
            _exit(1);
    }
}

TEST(wire__a_ring_that_is_scribbled_on_ends_every_read)
{
    struct wire_reader *reader;
    struct wire_record x;
    int fd = leave_a_ring(&reader);
    CHECK(fd >= 0);
    pid_t scribbler = start_scribbling(fd);
    for (unsigned i = 0; i < 300; i++) {
        unsigned read = 0;
        while (wire_read(reader, &x) && read < 100000) {
            CHECK(x.name < WIRE_NAMES && isfinite(x.value));
            read++;
        }
        CHECK(read < 100000);
        (void) tells_nothing(reader);
    }
    CHECK(waitpid(scribbler, NULL, WNOHANG) == 0);
    kill(scribbler, SIGKILL);
    waitpid(scribbler, NULL, 0);
    close(fd);
    wire_reader_free(reader);
    remove_directory();
}

/* Something else has the ring's name; the reader neither follows it nor waits. */
TEST(wire__what_is_no_file_of_the_directorys_owner_is_refused)
{
    struct wire_reader *reader, *other = NULL;
    char path[128], away[128];
    int fd = leave_a_ring(&reader), folder = open(directory, O_RDONLY | O_DIRECTORY);
    CHECK(fd >= 0);
    snprintf(away, sizeof(away), "/proc/self/fd/%d", fd);
    snprintf(path, sizeof(path), "%s/2-2" WIRE_RING_SUFFIX, directory);
    CHECK(symlink(away, path) == 0);
    CHECK(wire_reader_open(folder, "2-2" WIRE_RING_SUFFIX, &other) < 0);
    CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
    CHECK(wire_reader_open(folder, "2-2" WIRE_RING_SUFFIX, &other) < 0);
    CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
    CHECK(wire_reader_open(folder, "2-2" WIRE_RING_SUFFIX, &other) < 0);
    CHECK(wire_reader_open(folder, "../passwd", &other) == -EINVAL);
    wire_reader_free(reader);
    if (geteuid() == 0 && fchown(fd, 40001, 40001) == 0)
        CHECK(open_own_ring() == NULL);
    close(folder);
    close(fd);
    remove_directory();
}

TEST(wire__a_ring_of_another_version_is_told_apart)
{
    struct wire_reader *reader;
    struct wire_ring *ring;
    int fd = leave_a_ring(&reader), folder = open(directory, O_RDONLY | O_DIRECTORY);
    CHECK(fd >= 0);
    char file[WIRE_FILE_LENGTH];
    snprintf(file, sizeof(file), "%d-%llu" WIRE_RING_SUFFIX, (int) getpid(),
             (unsigned long long) wire_reader_start(reader));
    const uint32_t version = WIRE_VERSION - 1;
    CHECK(pwrite(fd, &version, 4, offsetof(struct wire_layout, version)) == 4);
    wire_reader_free(reader);
    CHECK(wire_reader_open(folder, file, &reader) == -EPROTONOSUPPORT);
    CHECK(wire_open(directory, &ring) == -EPROTO);
    CHECK(ftruncate(fd, 9000) == 0); /* it may also have another size */
    CHECK(wire_reader_open(folder, file, &reader) == -EPROTONOSUPPORT);
    CHECK(pwrite(fd, "", 1, 0) == 1);
    CHECK(wire_reader_open(folder, file, &reader) == -EPROTO);
    close(folder);
    close(fd);
    remove_directory();
}

/* Writes as fast as possible from another process: nothing is torn, and losses are counted. */
TEST(wire__a_process_writes_while_another_reads_its_file)
{
    struct wire_ring *ring;
    struct wire_record x;
    make_directory();
    CHECK(wire_open(directory, &ring) == 0);
    struct wire_reader *reader = open_own_ring();
    CHECK(reader != NULL);
    pid_t child = fork();
    if (child == 0) {
        for (unsigned i = 0; i < 300000; i++) {
            wire_put(ring, WIRE_SAMPLE, WIRE_WATCHER, 1, i, (double) i);
            if (i % 1000 == 0)
                usleep(100);
        }
        _exit(0);
    }
    uint64_t read = 0;
    double last = -1;
    bool whole = true;
    while (read + wire_reader_lost(reader) < 300000)
        if (wire_read(reader, &x)) {
            whole = whole && (double) x.time == x.value && x.value > last;
            last = x.value;
            read++;
        }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(whole && read > WIRE_SLOTS && wire_records(ring) == 300000);
    CHECK(!wire_read(reader, &x));
    wire_reader_free(reader);
    wire_close(ring);
    remove_directory();
}

/* ---- a directory that no longer belongs to the process ---- */

static bool is_refused(void)
{
    struct wire_ring *ring = NULL;
    errno = 77;
    int e = wire_open(directory, &ring);
    bool kept = errno == 77;
    wire_close(ring);
    return e == -EPERM && kept;
}

TEST(wire__only_a_directory_of_ones_own_is_used)
{
    struct wire_ring *ring;
    char path[128], link[160];
    make_directory();
    CHECK(wire_open(directory, &ring) == 0);
    snprintf(path, sizeof(path), "%s/" WIRE_WAKE_FILE, directory);
    CHECK(mkfifo(path, 0600) == 0);
    int fifo = open(path, O_RDONLY | O_NONBLOCK);
    CHECK(wire_has_reader(directory));
    CHECK(chmod(directory, 0755) == 0);
    CHECK(is_refused() && !wire_has_reader(directory));
    CHECK(wire_census_replace(ring, "text", 4) == -EPERM);
    wire_say_left(ring);
    CHECK(access(directory, F_OK) == 0 && access(path, F_OK) == 0);
    CHECK(chmod(directory, 0700) == 0);
    if (geteuid() == 0) {
        CHECK(chown(directory, 40001, 40001) == 0);
        CHECK(is_refused() && !wire_has_reader(directory));
        CHECK(chown(directory, 0, 0) == 0);
    }
    snprintf(link, sizeof(link), "%s.link", directory);
    CHECK(symlink(directory, link) == 0);
    CHECK(!wire_has_reader(link) && wire_has_reader(directory));
    CHECK(unlink(link) == 0);
    close(fifo);
    wire_close(ring);
    remove_directory();
}

TEST(wire__only_a_ring_of_ones_own_is_mapped)
{
    struct wire_reader *reader;
    struct wire_ring *ring = NULL;
    int fd = leave_a_ring(&reader);
    CHECK(fd >= 0);
    CHECK(fchmod(fd, 0666) == 0 && is_refused());
    CHECK(fchmod(fd, 0600) == 0);
    if (geteuid() == 0) {
        CHECK(fchown(fd, 40001, 40001) == 0 && is_refused());
        CHECK(fchown(fd, 0, 0) == 0);
    }
    CHECK(ftruncate(fd, 0) == 0);
    CHECK(wire_open(directory, &ring) == -EPROTO);
    close(fd);
    wire_reader_free(reader);
    remove_directory();
}

TEST(wire__a_reader_that_is_no_fifo_is_none)
{
    char path[128];
    make_directory();
    snprintf(path, sizeof(path), "%s/" WIRE_WAKE_FILE, directory);
    CHECK(symlink("/dev/zero", path) == 0);
    CHECK(!wire_has_reader(directory));
    CHECK(unlink(path) == 0);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && !wire_has_reader(directory));
    close(fd);
    remove_directory();
}
