/* tests/fuzz/fuzz_proc.c: any bytes as a file of the kernel; the first byte chooses which. */
#include "proc/proc.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Absent, or finite and not negative. */
static void require_number(double value)
{
    require(isnan(value) || (value >= 0 && isfinite(value)));
}

/* Printable UTF-8 that ends within `most` bytes. */
static void require_clean(const char *text, size_t most)
{
    size_t len = strnlen(text, most);
    require(len < most);
    struct buf clean = BUF_INIT;
    utf8_add_clean(&clean, text, false);
    require(strcmp(buf_text(&clean), text) == 0);
    buf_release(&clean);
}

static void try_stat(const char *text, size_t len)
{
    struct proc_stat s;
    if (proc_stat_parse(text, len, &s) < 0)
        return;
    require(s.id.pid > 0 && s.parent >= 0);
    require_number(s.rss);
    require_clean(s.comm, sizeof s.comm);
}

static void try_status(const char *text, size_t len)
{
    struct proc_status s;
    double written;
    if (proc_io_parse(text, len, &written) == 0)
        require_number(written);
    if (proc_status_parse(text, len, &s) < 0)
        return;
    require(s.uid >= -1);
    require_number(s.rss);
    require_number(s.threads);
}

static void try_rollup(const char *text, size_t len)
{
    struct proc_rollup s;
    if (proc_rollup_parse(text, len, &s) < 0)
        return;
    require(!isnan(s.pss));
    require_number(s.private_bytes);
}

static void try_machine(const char *text, size_t len)
{
    struct proc_meminfo m;
    if (proc_meminfo_parse(text, len, &m) == 0)
        require(m.total >= 0);
    struct proc_cpu c;
    if (proc_cpu_parse(text, len, &c) == 0)
        require(c.busy >= 0 && c.busy <= c.total && isfinite(c.total));
}

static void try_cgroup_tables(const char *text, size_t len)
{
    struct cgroup_memory m;
    if (cgroup_stat_parse(text, len, &m) == 0)
        require_number(m.anon);
    if (cgroup_events_parse(text, len, &m) == 0)
        require_number(m.oom_kills);
    if (cgroup_pressure_parse(text, len, &m) == 0)
        require(!isnan(m.pressure_some) || !isnan(m.pressure_full));
}

static void try_cgroup_of_process(const char *text, size_t len)
{
    struct buf path = BUF_INIT;
    enum cgroup_version version;
    if (cgroup_of_process_parse(text, len, &version, &path) == 0)
        require(version != CGROUP_NONE && buf_text(&path)[0] == '/');
    buf_release(&path);
}

static void try_command(const char *text, size_t len)
{
    struct buf line = BUF_INIT;
    proc_add_command(&line, text, len);
    require_clean(buf_text(&line), line.len + 1);
    buf_release(&line);
}

/* Processes whose arguments, parents and numbers come from the bytes. */
static void try_roles(const char *text, size_t len)
{
    enum { COUNT = 6 };
    struct role_evidence evidence[COUNT];
    struct role_finding findings[COUNT];
    size_t part = len / COUNT;
    char rank[COUNT][3];
    for (size_t i = 0; i < COUNT; i++) {
        const char *own = text + i * part;
        unsigned char seed = part > 0 ? (unsigned char) own[0] : 0;
        memcpy(rank[i], part > 2 ? own + 1 : "00", 2);
        rank[i][2] = '\0';
        evidence[i] = (struct role_evidence){.arguments = part > 1 ? own + 1 : NULL,
                                             .arguments_len = part > 1 ? part - 1 : 0,
                                             .rank = seed & 1 ? rank[i] : NULL,
                                             .local_rank = seed & 2 ? rank[i] : NULL,
                                             .parent = (int) (seed >> 5) % (COUNT + 1) - 1,
                                             .anon = seed & 4 ? NAN : seed * 1e6,
                                             .peak_anon = NAN,
                                             .cpu_seconds = seed,
                                             .forked = seed & 8};
    }
    roles_judge(evidence, COUNT, findings);
    for (size_t i = 0; i < COUNT; i++) {
        require(*proc_role_name(findings[i].role) != '\0' && findings[i].rank >= -1);
        require_clean(findings[i].why, sizeof findings[i].why);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const tries[])(const char *text, size_t len) = {
        try_stat,    try_status, try_rollup, try_machine, try_cgroup_tables, try_cgroup_of_process,
        try_command, try_roles,
    };
    if (size > 0)
        tries[data[0] % (sizeof tries / sizeof *tries)]((const char *) data + 1, size - 1);
    return 0;
}
