/* tests/unit/test_proc_held.c: which processes map or have open the files in /dev/shm. */
#include "proc_children.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#define BLOCK ((size_t) 1 << 20)

static char opened[] = "/dev/shm/tidemark-test-XXXXXX", mapped[] = "/dev/shm/tidemark-test-XXXXXX";
static int ready[2];

/* Maps one file without a descriptor and has the other open; neither has a name. */
static void hold(void)
{
    int fd = open(mapped, O_RDWR);
    char *map = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED || open(opened, O_RDWR) < 0)
        _exit(1);
    memset(map, 1, BLOCK);
    unlink(mapped);
    unlink(opened);
    if (write(ready[1], "", 1) != 1)
        _exit(1);
}

static void make(char *name, off_t size, ino_t *ret)
{
    struct stat st;
    int fd = mkstemp(name);
    CHECK(fd >= 0 && ftruncate(fd, size) == 0 && fstat(fd, &st) == 0);
    close(fd);
    *ret = st.st_ino;
}

struct seen {
    ino_t opened, mapped;
    struct proc_held as_opened, as_mapped;
    unsigned others;
    pid_t pid; /* the only process to survey */
    double written;
};

static void note(void *context, const struct proc_held *h)
{
    struct seen *s = context;
    if (h->inode == s->opened)
        s->as_opened = *h;
    else if (h->inode == s->mapped)
        s->as_mapped = *h;
    else
        s->others++;
}

static bool pass(void *context, pid_t pid)
{
    return pid != ((struct seen *) context)->pid;
}

static void note_written(void *context, struct proc_id id, double bytes)
{
    struct seen *s = context;
    s->written = id.pid == s->pid ? bytes : -1;
}

TEST(held__are_what_is_open_and_what_is_mapped_without_a_name)
{
    struct stat st;
    char byte;
    double used, size;
    if (stat("/dev/shm", &st) < 0 || proc_tmpfs_read("/dev/shm", &used, &size) < 0)
        return;
    struct seen s = {0};
    make(opened, 1 << 16, &s.opened);
    make(mapped, BLOCK, &s.mapped);
    CHECK(pipe(ready) == 0);
    s.pid = child_start(hold);
    CHECK(read(ready[0], &byte, 1) == 1);
    struct proc *p;
    CHECK(proc_open("/proc", child_id(s.pid), &p) == 0);
    CHECK(proc_read_held(p, st.st_dev, "/dev/shm", true, note, &s) == 0);
    CHECK(s.as_opened.inode == s.opened && s.as_opened.size == 1 << 16 && s.as_opened.bytes == 0);
    CHECK(s.as_mapped.inode == s.mapped && s.as_mapped.extent == BLOCK && isnan(s.as_mapped.bytes));
    s.as_mapped.inode = s.as_opened.inode = 0;
    CHECK(proc_read_held(p, st.st_dev, "/dev/shm", false, note, &s) == 0);
    CHECK(s.as_mapped.inode == 0 && s.as_opened.inode == s.opened);
    double written;
    CHECK(proc_read_written(p, &written) == 0 && written >= BLOCK);
    const struct proc_held_hooks hooks = {&s, pass, note, note_written};
    CHECK(proc_survey_held("/proc", st.st_dev, "/dev/shm", &hooks) == 0);
    CHECK(s.as_mapped.inode == s.mapped && s.written >= written && s.others == 0);
    CHECK(proc_survey_held("/nonexistent", st.st_dev, "/dev/shm", &hooks) == -ENOENT);
    child_end(s.pid);
    CHECK(proc_read_held(p, st.st_dev, "/dev/shm", true, note, &s) == -ESRCH);
    proc_free(p);
}

TEST(io__tells_what_was_written)
{
    static const char text[] = "rchar: 5\nwchar: 1234567\nsyscr: 7\nwrite_bytes: 9\n";
    double written = -1;
    CHECK(proc_io_parse("rchar: 5\n", 9, &written) == -EINVAL && written == -1);
    CHECK(proc_io_parse(text, strlen(text), &written) == 0 && written == 1234567);
}
