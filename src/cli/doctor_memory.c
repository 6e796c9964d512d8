/* cli/doctor_memory.c: how much memory is there, and does the system report OOM kills? */
#include "cli/doctor.h"
#include "proc/proc.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MB (1024.0 * 1024)

/* Containers get 64 MB by default; one batch each from a few data workers fills that. */
#define SHM_LEAST (1024 * MB)
#define SHM_FULL 0.9

static void check_ram(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "ram", "RAM");
    struct proc_meminfo m;
    int r = proc_meminfo_read("/proc", &m);
    if (r < 0) {
        doctor_set(c, DOCTOR_LIMITED, "not told (/proc/meminfo: %s)", error_words(-r));
        buf_adds(&c->advice, "say how much there is, for forecasts: --limit 32GB");
        return;
    }
    units_add_bytes(&c->detail, m.total);
    if (isfinite(m.available)) {
        buf_adds(&c->detail, ", ");
        units_add_bytes(&c->detail, m.available);
        buf_adds(&c->detail, " available");
    }
    if (!(m.swap_total > 0)) {
        buf_adds(&c->detail, "; no swap");
        return;
    }
    buf_adds(&c->detail, "; swap ");
    units_add_bytes(&c->detail, m.swap_total);
    buf_adds(&c->detail, ", ");
    units_add_bytes(&c->detail, m.swap_free);
    buf_adds(&c->detail, " free");
}

static void check_kills(struct doctor *d)
{
    static const char counter[] = "\noom_kill ";
    struct doctor_check *c = doctor_add(d, "oom_kills", "OOM kills");
    struct buf text = BUF_INIT;
    int r = doctor_read_file("/proc/vmstat", &text);
    const char *line = r == 0 ? strstr(buf_text(&text), counter) : NULL;
    if (line) {
        doctor_set(c, DOCTOR_OK, "counted: %ld killed for want of memory since boot",
                   strtol(line + sizeof(counter) - 1, NULL, 10));
    } else {
        doctor_set(c, DOCTOR_LIMITED, "not counted for the whole machine");
        buf_adds(&c->advice, "where a job died for want of memory look into the kernel's log: "
                             "dmesg | grep -i oom");
    }
    buf_release(&text);
}

/* ---- the cgroup: the job's limit in a container or a batch system ---- */

static void set_no_cgroup(struct doctor_check *c, int error)
{
    doctor_set(c, DOCTOR_LIMITED, "none that counts memory here%s%s%s",
               error == -ENOENT ? "" : " (", error == -ENOENT ? "" : error_words(-error),
               error == -ENOENT ? "" : ")");
    buf_adds(&c->advice, "RAM is taken as the limit; if the container or batch system sets a lower "
                         "one, say it: --limit 32GB");
}

static void check_limit(struct doctor *d, const struct cgroup_memory *m)
{
    struct doctor_check *c = doctor_add(d, "cgroup_limit", "memory limit");
    if (isfinite(m->limit))
        units_add_bytes(&c->detail, m->limit);
    else
        buf_adds(&c->detail, "none but RAM");
    if (isfinite(m->current)) {
        buf_adds(&c->detail, "; this cgroup holds ");
        units_add_bytes(&c->detail, m->current);
        buf_adds(&c->detail, " now");
    }
}

static void check_events(struct doctor *d, const struct cgroup_memory *m)
{
    struct doctor_check *c = doctor_add(d, "cgroup_kills", "limit kills");
    if (isfinite(m->oom_kills)) {
        doctor_set(c, DOCTOR_OK, "counted: %.0f killed at that limit so far", m->oom_kills);
        return;
    }
    doctor_set(c, DOCTOR_LIMITED, "not counted for this cgroup");
    buf_adds(&c->advice, "whether a job was killed at its limit is told by the machine's counter "
                         "only; the root cgroup and old kernels have no other");
}

static void check_pressure(struct doctor *d, const struct cgroup_memory *m,
                           enum cgroup_version version)
{
    struct doctor_check *c = doctor_add(d, "pressure", "pressure");
    struct buf text = BUF_INIT;
    struct cgroup_memory machine;
    bool known = doctor_read_file("/proc/pressure/memory", &text) == 0 &&
                 cgroup_pressure_parse(buf_text(&text), text.len, &machine) == 0 &&
                 isfinite(machine.pressure_some);
    buf_release(&text);
    if (m && isfinite(m->pressure_some)) {
        doctor_set(c, DOCTOR_OK, "told: %.1f %% of the time waiting for memory", m->pressure_some);
        return;
    }
    doctor_set(c, DOCTOR_LIMITED, "time spent waiting for memory (PSI): %s",
               known ? "machine only" : "not told");
    buf_adds(&c->advice, "not needed by run and watch");
    if (known && version == CGROUP_V1)
        buf_adds(&c->advice, "; cgroups of version 2 tell it");
    else if (!known)
        buf_adds(&c->advice, "; kernels started with psi=1 tell it");
}

static void check_cgroup(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "cgroup", "cgroup");
    struct cgroup *cgroup;
    struct cgroup_memory m;
    int r = cgroup_open("/proc", "", d->pid > 0 ? d->pid : getpid(), &cgroup);
    if (r < 0) {
        set_no_cgroup(c, r);
        check_pressure(d, NULL, CGROUP_NONE);
        return;
    }
    enum cgroup_version version = cgroup_version(cgroup);
    doctor_set(c, DOCTOR_OK, "version %d: %s", version == CGROUP_V1 ? 1 : 2, cgroup_path(cgroup));
    r = cgroup_read(cgroup, &m);
    cgroup_free(cgroup);
    if (r < 0) {
        set_no_cgroup(c, r);
        check_pressure(d, NULL, version);
        return;
    }
    check_limit(d, &m);
    check_events(d, &m);
    check_pressure(d, &m, version);
}

/* ---- /dev/shm ---- */

static void check_shm(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "shm", "/dev/shm");
    double used, size;
    int r = proc_tmpfs_read("/dev/shm", &used, &size);
    if (r < 0) {
        doctor_set(c, DOCTOR_LIMITED, "not there or not in memory (%s)", error_words(-r));
        buf_adds(&c->advice, "torch's data workers pass batches through it: mount a tmpfs there");
        return;
    }
    if (isnan(size)) {
        doctor_set(c, DOCTOR_OK, "without a limit of its own");
        return;
    }
    units_add_bytes(&c->detail, size);
    buf_adds(&c->detail, ", ");
    units_add_bytes(&c->detail, used);
    buf_adds(&c->detail, " used");
    if (size < SHM_LEAST) {
        c->state = DOCTOR_LIMITED;
        buf_adds(&c->detail, ": little for data workers");
        buf_adds(&c->advice, "torch passes batches through it, a full one ends in 'Bus error': "
                             "docker run --shm-size=8g, or as root mount -o remount,size=8g "
                             "/dev/shm");
    } else if (used > SHM_FULL * size) {
        c->state = DOCTOR_LIMITED;
        buf_adds(&c->detail, ": nearly full");
        buf_adds(&c->advice, "killed jobs leave files behind: ls -l /dev/shm, and remove what "
                             "belongs to none that runs");
    }
}

void doctor_check_memory(struct doctor *d)
{
    check_ram(d);
    check_kills(d);
    check_cgroup(d);
    check_shm(d);
}
