/* proc/cgroup_files.c: the texts of cgroup files. Pure. */
#include "proc/cgroup_files.h"
#include "proc/fields.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A piece of a line. */
struct part {
    const char *text;
    size_t len;
};

/* Cuts off the part before the next `separator`, and the separator with it. */
static struct part cut(struct part *rest, char separator)
{
    const char *end = memchr(rest->text, separator, rest->len);
    struct part first = {rest->text, end ? (size_t) (end - rest->text) : rest->len};
    size_t gone = first.len + (end ? 1 : 0);
    *rest = (struct part){rest->text + gone, rest->len - gone};
    return first;
}

static bool part_is(struct part p, const char *word)
{
    return strlen(word) == p.len && memcmp(p.text, word, p.len) == 0;
}

/* True if `word` is one of the comma-separated words. */
static bool lists(struct part list, const char *word)
{
    while (list.len > 0) {
        if (part_is(cut(&list, ','), word))
            return true;
    }
    return false;
}

int cgroup_number_parse(const char *text, size_t len, double *ret)
{
    const char *s = text;
    uint64_t value;
    if (len >= 3 && memcmp(text, "max", 3) == 0) {
        *ret = NAN;
        return 0;
    }
    if (!scan_unsigned(&s, text + len, &value))
        return -EINVAL;
    *ret = value >= (uint64_t) 1 << 62 ? NAN : (double) value;
    return 0;
}

int cgroup_stat_parse(const char *text, size_t len, struct cgroup_memory *ret)
{
    /* v1 has plain names for the cgroup alone, and total_ names that include those below it. */
    struct {
        double anon, file, shmem, kernel, inactive_file;
        double rss, cache, total_rss, total_cache, total_shmem, total_inactive_file;
    } r;
#define FIELD(name)                                                                                \
    {                                                                                              \
#name, offsetof(__typeof__(r), name)                                                       \
    }
    static const struct field fields[] = {
        FIELD(anon),
        FIELD(file),
        FIELD(shmem),
        FIELD(kernel),
        FIELD(inactive_file),
        FIELD(rss),
        FIELD(cache),
        FIELD(total_rss),
        FIELD(total_cache),
        FIELD(total_shmem),
        FIELD(total_inactive_file),
    };
#undef FIELD
    if (fields_parse(text, len, fields, sizeof fields / sizeof *fields, &r) == 0)
        return -EINVAL;
    ret->anon = !isnan(r.anon) ? r.anon : !isnan(r.total_rss) ? r.total_rss : r.rss;
    ret->file = !isnan(r.file) ? r.file : !isnan(r.total_cache) ? r.total_cache : r.cache;
    ret->shmem = !isnan(r.total_shmem) ? r.total_shmem : r.shmem;
    ret->inactive_file = !isnan(r.total_inactive_file) ? r.total_inactive_file : r.inactive_file;
    ret->kernel = r.kernel;
    return 0;
}

int cgroup_v1_limits_parse(const char *text, size_t len, struct cgroup_v1_limits *ret)
{
#define FIELD(name, member)                                                                        \
    {                                                                                              \
        name, offsetof(struct cgroup_v1_limits, member)                                            \
    }
    static const struct field fields[] = {FIELD("hierarchical_memory_limit", memory),
                                          FIELD("hierarchical_memsw_limit", with_swap)};
#undef FIELD
    struct cgroup_v1_limits r;
    if (fields_parse(text, len, fields, sizeof fields / sizeof *fields, &r) == 0)
        return -EINVAL;
    ret->memory = r.memory >= 0x1p62 ? NAN : r.memory;
    ret->with_swap = r.with_swap >= 0x1p62 ? NAN : r.with_swap;
    return 0;
}

int cgroup_events_parse(const char *text, size_t len, struct cgroup_memory *ret)
{
#define FIELD(name, member)                                                                        \
    {                                                                                              \
        name, offsetof(struct cgroup_memory, member)                                               \
    }
    static const struct field fields[] = {FIELD("oom", oom_events), FIELD("oom_kill", oom_kills)};
#undef FIELD
    struct cgroup_memory r;
    if (fields_parse(text, len, fields, sizeof fields / sizeof *fields, &r) == 0)
        return -EINVAL;
    ret->oom_events = r.oom_events;
    ret->oom_kills = r.oom_kills;
    return 0;
}

/* The number after "name=" in a line of memory.pressure; absent if there is none. */
static double pressure_value(struct part line, const char *name)
{
    while (line.len > 0) {
        struct part word = cut(&line, ' ');
        struct part key = cut(&word, '=');
        struct quantity q;
        if (part_is(key, name) && quantity_parse(word.text, word.len, &q) == 0)
            return q.value;
    }
    return NAN;
}

int cgroup_pressure_parse(const char *text, size_t len, struct cgroup_memory *ret)
{
    double some = NAN, full = NAN, stall = NAN;
    struct part rest = {text, len};
    while (rest.len > 0) {
        struct part line = cut(&rest, '\n'), head = cut(&line, ' ');
        if (part_is(head, "some")) {
            some = pressure_value(line, "avg10");
            stall = pressure_value(line, "total") / 1e6; /* microseconds */
        } else if (part_is(head, "full")) {
            full = pressure_value(line, "avg10");
        }
    }
    if (isnan(some) && isnan(full))
        return -EINVAL;
    ret->pressure_some = some;
    ret->pressure_full = full;
    ret->stall_seconds = stall;
    return 0;
}

/* "4:memory:/a", "0::/a": v1 wins over v2, which then has no memory controller. */
int cgroup_of_process_parse(const char *text, size_t len, enum cgroup_version *ret_version,
                            struct buf *ret_path)
{
    enum cgroup_version version = CGROUP_NONE;
    struct part path = {NULL, 0}, rest = {text, len};
    while (rest.len > 0 && version != CGROUP_V1) {
        struct part line = cut(&rest, '\n');
        struct part id = cut(&line, ':'), controllers = cut(&line, ':');
        if (line.len == 0 || line.text[0] != '/' || memchr(line.text, '\0', line.len))
            continue;
        if (lists(controllers, "memory"))
            version = CGROUP_V1;
        else if (part_is(id, "0") && controllers.len == 0)
            version = CGROUP_V2;
        else
            continue;
        path = line;
    }
    if (version == CGROUP_NONE)
        return -EINVAL;
    buf_clear(ret_path);
    buf_add(ret_path, path.text, path.len);
    *ret_version = version;
    return 0;
}

static bool is_octal(const char *s)
{
    return s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' && s[2] <= '7';
}

/* mountinfo writes blanks as \040. */
static void set_unescaped(struct buf *b, struct part p)
{
    buf_clear(b);
    for (size_t i = 0; i < p.len; i++) {
        const char *s = p.text + i;
        if (*s != '\\' || p.len - i < 4 || !is_octal(s + 1)) {
            buf_addc(b, *s);
            continue;
        }
        buf_addc(b, (char) ((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0')));
        i += 3;
    }
}

/* Splits a line of mountinfo: "31 23 0:28 ROOT POINT options [tags] - TYPE source OPTIONS". */
static bool is_memory_mount(struct part line, enum cgroup_version version, struct part *ret_root,
                            struct part *ret_point)
{
    for (int i = 0; i < 3; i++)
        cut(&line, ' ');
    *ret_root = cut(&line, ' ');
    *ret_point = cut(&line, ' ');
    while (line.len > 0 && !part_is(cut(&line, ' '), "-"))
        continue;
    struct part type = cut(&line, ' ');
    cut(&line, ' ');
    if (version == CGROUP_V2)
        return part_is(type, "cgroup2");
    return part_is(type, "cgroup") && lists(line, "memory");
}

int cgroup_mount_parse(const char *text, size_t len, enum cgroup_version version,
                       struct buf *ret_point, struct buf *ret_root)
{
    int r = -ENOENT;
    struct part rest = {text, len};
    while (rest.len > 0) {
        struct part root, point;
        if (!is_memory_mount(cut(&rest, '\n'), version, &root, &point) || root.len == 0 ||
            point.len == 0)
            continue;
        set_unescaped(ret_root, root);
        set_unescaped(ret_point, point);
        r = 0;
    }
    return r;
}
