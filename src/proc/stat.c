/* proc/stat.c: /proc/PID/stat, the line that identifies a process. */
#include "proc/stat.h"
#include "proc/fields.h"
#include "proc/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool proc_id_equal(struct proc_id a, struct proc_id b)
{
    return a.pid == b.pid && a.start == b.start;
}

bool proc_stat_ended(const struct proc_stat *s)
{
    return s->state == 'Z' || s->state == 'X' || s->state == 'x';
}

void copy_clean(char *ret, size_t size, const char *text)
{
    struct buf clean = BUF_INIT;
    utf8_add_clean(&clean, text, false);
    size_t len = 0;
    for (const char *s = buf_text(&clean); s[len] && len + utf8_length(s + len) < size;)
        len += utf8_length(s + len);
    memcpy(ret, buf_text(&clean), len);
    ret[len] = '\0';
    buf_release(&clean);
}

/* The numbers after the state; fields are numbered as in proc(5), from 1. */
enum { FIELD_PARENT = 4, FIELD_GROUP, FIELD_SESSION, FIELD_MINOR_FAULTS = 10 };
enum { FIELD_MAJOR_FAULTS = 12, FIELD_USER = 14, FIELD_SYSTEM };
enum { FIELD_START = 22, FIELD_VSIZE, FIELD_RSS, FIELD_END };

/* The signal that its parent gets; 0 means none. It comes far after the other fields, and some
 * files of this kind lack it. */
#define FIELD_EXIT_SIGNAL 38

/* After the numbers that are always present come a limit and the addresses of the program's code
 * and stack. Some files of this kind lack them; without the rights the kernel shows 1 and 0. */
static void parse_image(const char *s, const char *end, struct proc_stat *ret)
{
    uint64_t limit, code, code_end, stack;
    uint64_t *const fields[] = {&limit, &code, &code_end, &stack};
    ret->image_code = ret->image_stack = 0;
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (s >= end || *s++ != ' ' || !scan_unsigned(&s, end, fields[i]))
            return;
    ret->image_code = stack > 0 ? code : 0;
    ret->image_stack = stack;
}

static bool notifies_nobody(const char *s, const char *end)
{
    for (int field = FIELD_END - 1; field < FIELD_EXIT_SIGNAL && s; field++) {
        s = memchr(s, ' ', (size_t) (end - s));
        s = s ? s + 1 : NULL;
    }
    return s && end - s >= 2 && s[0] == '0' && s[1] == ' ';
}

/* A negative number (a terminal, a nice value) counts as 0: no caller needs one. */
static int parse_numbers(const char *s, const char *end, uint64_t values[FIELD_END],
                         const char **ret_rest)
{
    for (int i = FIELD_PARENT; i < FIELD_END; i++) {
        if (s >= end || *s++ != ' ')
            return -EINVAL;
        bool negative = s < end && *s == '-';
        s += negative;
        if (!scan_unsigned(&s, end, &values[i]))
            return -EINVAL;
        if (negative)
            values[i] = 0;
    }
    *ret_rest = s;
    return 0;
}

static void set_comm(const char *name, size_t len, struct proc_stat *ret)
{
    char comm[128];
    if (len >= sizeof comm)
        len = sizeof comm - 1;
    memcpy(comm, name, len);
    comm[len] = '\0';
    copy_clean(ret->comm, sizeof ret->comm, comm);
}

int proc_stat_parse(const char *text, size_t len, struct proc_stat *ret)
{
    const char *s = text, *end = text + len;
    uint64_t pid, values[FIELD_END];
    const char *rest;
    if (!scan_unsigned(&s, end, &pid) || pid == 0 || pid > INT_MAX)
        return -EINVAL;
    /* The name may contain anything, even parentheses and newlines: the last one closes it. */
    const char *close = memrchr(s, ')', (size_t) (end - s));
    if (!close || end - s < 2 || memcmp(s, " (", 2) != 0 || close < s + 2)
        return -EINVAL;
    if (end - close < 3 || close[1] != ' ' || parse_numbers(close + 3, end, values, &rest) < 0)
        return -EINVAL;
    if (values[FIELD_PARENT] > INT_MAX || values[FIELD_GROUP] > INT_MAX ||
        values[FIELD_SESSION] > INT_MAX)
        return -EINVAL;
    ret->id = (struct proc_id){(pid_t) pid, values[FIELD_START]};
    ret->parent = (pid_t) values[FIELD_PARENT];
    ret->group = (pid_t) values[FIELD_GROUP];
    ret->session = (pid_t) values[FIELD_SESSION];
    ret->state = close[2];
    ret->cpu_ticks = values[FIELD_USER] + values[FIELD_SYSTEM];
    ret->faults = values[FIELD_MINOR_FAULTS] + values[FIELD_MAJOR_FAULTS];
    ret->rss = (double) values[FIELD_RSS] * (double) sysconf(_SC_PAGESIZE);
    parse_image(rest, end, ret);
    ret->is_silent = notifies_nobody(rest, end);
    set_comm(s + 2, (size_t) (close - s - 2), ret);
    return 0;
}

int proc_stat_read_file(int dir, const char *path, struct buf *scratch, struct proc_stat *ret)
{
    int r = file_read_at(dir, path, scratch);
    if (r == -ENOENT)
        r = -ESRCH;
    return r < 0 ? r : proc_stat_parse(buf_text(scratch), scratch->len, ret);
}

int proc_stat_read_at(int root, pid_t pid, struct buf *scratch, struct proc_stat *ret)
{
    char path[32];
    snprintf(path, sizeof path, "%d/stat", (int) pid);
    return proc_stat_read_file(root, path, scratch, ret);
}

int proc_stat_read(const char *root, pid_t pid, struct proc_stat *ret)
{
    int dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    struct buf text = BUF_INIT;
    int r = proc_stat_read_at(dir, pid, &text, ret);
    buf_release(&text);
    close(dir);
    return r;
}
