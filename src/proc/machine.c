/* proc/machine.c: the memory and the processors of the whole machine. */
#include "proc/fields.h"
#include "proc/file.h"
#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <math.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

int proc_meminfo_parse(const char *text, size_t len, struct proc_meminfo *ret)
{
#define FIELD(name, member)                                                                        \
    {                                                                                              \
        name, offsetof(struct proc_meminfo, member)                                                \
    }
    static const struct field fields[] = {
        FIELD("MemTotal", total),       FIELD("MemAvailable", available), FIELD("MemFree", free),
        FIELD("SwapTotal", swap_total), FIELD("SwapFree", swap_free),     FIELD("Shmem", shmem),
        FIELD("Buffers", buffers),      FIELD("Cached", cached),
    };
#undef FIELD
    struct proc_meminfo m;
    fields_parse(text, len, fields, sizeof fields / sizeof *fields, &m);
    if (isnan(m.total))
        return -EINVAL;
    *ret = m;
    return 0;
}

static int read_file(const char *root, const char *name, struct buf *ret)
{
    int dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    int r = file_read_at(dir, name, ret);
    close(dir);
    return r;
}

int proc_meminfo_read(const char *root, struct proc_meminfo *ret)
{
    struct buf text = BUF_INIT;
    int r = read_file(root, "meminfo", &text);
    if (r == 0)
        r = proc_meminfo_parse(buf_text(&text), text.len, ret);
    buf_release(&text);
    return r;
}

/* "cpu  user nice system idle iowait irq softirq steal ...": the fields after these are already
 * part of user. */
int proc_cpu_parse(const char *text, size_t len, struct proc_cpu *ret)
{
    enum { IDLE = 3, IOWAIT = 4, FIELDS = 8 };
    const char *s = text + 4, *end = text + len;
    struct proc_cpu cpu = {0};
    if (len < 5 || memcmp(text, "cpu ", 4) != 0)
        return -EINVAL;
    unsigned found = 0;
    for (uint64_t ticks; found < FIELDS; found++) {
        while (s < end && *s == ' ')
            s++;
        if (!scan_unsigned(&s, end, &ticks))
            break;
        cpu.total += (double) ticks;
        cpu.busy += found == IDLE || found == IOWAIT ? 0 : (double) ticks;
    }
    if (found <= IDLE)
        return -EINVAL;
    *ret = cpu;
    return 0;
}

int proc_cpu_read(const char *root, struct proc_cpu *ret)
{
    struct buf text = BUF_INIT;
    int r = read_file(root, "stat", &text);
    if (r == 0)
        r = proc_cpu_parse(buf_text(&text), text.len, ret);
    buf_release(&text);
    return r;
}

int proc_tmpfs_read(const char *path, double *ret_used, double *ret_size)
{
    struct statfs s;
    if (statfs(path, &s) < 0)
        return -errno;
    if (s.f_type != TMPFS_MAGIC)
        return -ENOTSUP;
    /* Without a limit of its own (size=0) it reports neither. */
    double block = (double) s.f_bsize;
    *ret_used = s.f_blocks ? (double) (s.f_blocks - s.f_bfree) * block : NAN;
    *ret_size = s.f_blocks ? (double) s.f_blocks * block : NAN;
    return 0;
}
