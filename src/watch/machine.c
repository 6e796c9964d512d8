/* watch/machine.c: what surrounds the job: system RAM, its cgroup, the GPUs. */
#include "watch/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Somebody else is named when the system grew that much, and the job by less than this share. */
#define ELSEWHERE_BYTES (200.0 * 1024 * 1024)
#define ELSEWHERE_SHARE 0.25

/* Seconds between two surveys of the machine, rarer as time goes on. */
#define SURVEY_LEAST 5.0
#define SURVEY_MOST 30.0

/* ---- system and cgroup ---- */

/* The counter of /proc/vmstat; NAN: an old kernel. */
double machine_oom_kills(const char *proc_root)
{
    char path[256], text[16384];
    snprintf(path, sizeof(path), "%s/vmstat", proc_root);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NAN;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *line = strstr(text, "\noom_kill ");
    return line ? strtod(line + strlen("\noom_kill "), NULL) : NAN;
}

/* The smallest of what the user said, the cgroup and the machine. */
static void find_limit(struct watch *w)
{
    w->limit = w->memory_now.total;
    w->limit_source = "RAM";
    if (w->cgroup_now.limit < w->limit) {
        w->limit = w->cgroup_now.limit;
        w->limit_source = "cgroup";
    }
    if (w->options.limit_bytes > 0) {
        w->limit = w->options.limit_bytes;
        w->limit_source = "--limit";
    }
}

double machine_used(const struct watch *w)
{
    if (w->limit_source && strcmp(w->limit_source, "cgroup") == 0)
        return w->cgroup_now.working_set;
    if (w->limit_source && strcmp(w->limit_source, "RAM") == 0)
        return w->memory_now.total - w->memory_now.available;
    return w->job[JOB_PSS].samples > 0 ? w->job[JOB_PSS].last : w->job[JOB_ANON].last;
}

static void no_cgroup(struct cgroup_memory *m)
{
    double *fields = (double *) m;
    for (size_t i = 0; i < sizeof(*m) / sizeof(double); i++)
        fields[i] = NAN;
}

static void read_memory(struct watch *w)
{
    struct proc_meminfo memory;
    if (proc_meminfo_read(w->options.proc_root, &memory) == 0)
        w->memory_now = memory;
    struct cgroup_memory cgroup;
    if (w->cgroup && cgroup_read(w->cgroup, &cgroup) == 0)
        w->cgroup_now = cgroup;
    find_limit(w);
}

void machine_open(struct watch *w)
{
    no_cgroup(&w->cgroup_now);
    w->memory_now = (struct proc_meminfo){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    shared_open(w);
    w->oom_kills_first = machine_oom_kills(w->options.proc_root);
    if (w->options.no_gpu || gpu_open(&w->gpu, w->gpu_why) < 0)
        w->gpu = NULL;
    read_memory(w);
    w->memory_first = w->memory_now;
    w->cgroup_first = w->cgroup_now;
}

void machine_release(struct watch *w)
{
    for (size_t i = 0; i < w->device_count; i++)
        track_release(&w->devices[i]);
    free(w->devices);
    gpu_free(w->gpu);
    cgroup_free(w->cgroup);
    proc_survey_free(w->survey_first);
    shared_release(w);
}

/* The cgroup of the job's first process; ours, where that cannot be told. */
static void find_cgroup(struct watch *w)
{
    if (w->cgroup || w->alive == 0)
        return;
    pid_t pid = w->members[0]->id.pid;
    if (cgroup_open(w->options.proc_root, "", pid, &w->cgroup) < 0)
        return;
    read_memory(w);
    w->cgroup_first = w->cgroup_now;
}

void machine_tick(struct watch *w, double seconds)
{
    find_cgroup(w);
    read_memory(w);
    const struct proc_meminfo *m = &w->memory_now;
    watch_push(w, &w->job[JOB_SYSTEM], seconds, m->total - m->available);
    watch_push(w, &w->job[JOB_CGROUP], seconds, w->cgroup_now.working_set);
    shared_tick(w, seconds, isfinite(w->ended));
}

/* ---- GPUs as torch knows them ---- */

/* CUDA numbers devices by speed, unless told otherwise: the driver's order holds among equals. */
static bool are_alike(const struct gpu_device *devices, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (strcmp(devices[i].name, devices[0].name) != 0)
            return false;
    return true;
}

static void find_cuda(struct watch *w, struct member *m)
{
    size_t n = gpu_device_count(w->gpu);
    struct gpu_device *devices = calloc(n, sizeof(*devices));
    m->cuda = calloc(n + 1, sizeof(*m->cuda));
    if (!devices || !m->cuda)
        base_out_of_memory();
    for (size_t i = 0; i < n; i++)
        devices[i] = *gpu_device(w->gpu, i);
    struct buf visible = BUF_INIT;
    bool said = m->proc && proc_read_variable(m->proc, "CUDA_VISIBLE_DEVICES", &visible) == 0;
    int count = gpu_visible_parse(said ? buf_text(&visible) : NULL, devices, n, m->cuda);
    m->cuda_count = count > 0 && are_alike(devices, n) ? (size_t) count : 0;
    buf_release(&visible);
    free(devices);
}

/* "cuda:1" is the driver's device `device` for that process. */
static bool is_cuda(const struct member *m, const char *name, size_t device)
{
    unsigned number;
    return name && m->cuda && sscanf(name, "cuda:%u", &number) == 1 && number < m->cuda_count &&
           m->cuda[number] == device;
}

/* What torch has there, and what nobody has. */
static void limit_told(struct watch *w, size_t device, double headroom)
{
    for (size_t i = 0; i < w->member_count; i++) {
        struct member *m = w->members[i];
        if (m->told_count > 0 && !m->cuda && member_is_alive(m))
            find_cuda(w, m);
        for (size_t k = 0; k < m->told_count; k++)
            if (is_cuda(m, m->told[k].device, device) && isfinite(headroom))
                m->told[k].limit = m->told[k].last + headroom;
    }
}

static double growth(const struct track *tracks, size_t count, const char *kind)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(tracks[i].kind, kind) == 0 && tracks[i].samples > 0)
            sum += tracks[i].last - tracks[i].first;
    return sum;
}

/* Where the driver's number grows because torch reserves, torch's own counters say whether that
 * is a leak. */
void machine_attribute_gpu(struct watch *w)
{
    for (size_t i = 0; i < w->member_count; i++) {
        struct member *m = w->members[i];
        if (m->gpu_count == 0 || !member_told(m, "torch.reserved"))
            continue;
        double used = growth(m->gpu, m->gpu_count, "gpu.used");
        bool torch = growth(m->told, m->told_count, "torch.reserved") > used / 2;
        const struct ledger_judgement reserved = ledger_excuse(LEDGER_RESERVED);
        for (size_t k = 0; k < m->gpu_count; k++)
            track_judge(&m->gpu[k], torch ? &reserved : NULL);
    }
}

/* ---- GPUs ---- */

static void device_name(const struct gpu_device *d, char *ret, size_t size)
{
    snprintf(ret, size, "gpu%u", d->index);
}

static struct track *new_tracks(struct gpu *g)
{
    size_t n = gpu_device_count(g);
    struct track *tracks = calloc(n, sizeof(*tracks));
    if (!tracks)
        base_out_of_memory();
    for (size_t i = 0; i < n; i++) {
        char name[32];
        track_init(&tracks[i], "gpu.used", SERIES_BYTES, TRACK_JUDGED);
        device_name(gpu_device(g, i), name, sizeof(name));
        tracks[i].device = strdup(name);
    }
    return tracks;
}

static void store_device(struct watch *w, struct track *t)
{
    if (t->stored > 0 || !w->options.store)
        return;
    struct store_series s = {.kind = t->kind, .device = t->device, .unit = t->unit};
    t->stored = store_add_series(w->options.store, &s);
}

static void push_process(struct watch *w, struct member *m, size_t device, double seconds,
                         double used, double headroom)
{
    if (!m->has_tracks || !isfinite(used))
        return;
    if (!m->gpu) {
        m->gpu = new_tracks(w->gpu);
        m->gpu_count = gpu_device_count(w->gpu);
    }
    m->gpu[device].limit = isfinite(headroom) ? used + headroom : 0;
    member_push(w, m, &m->gpu[device], seconds, used);
}

static struct member *alive_member(struct watch *w, pid_t pid)
{
    for (size_t i = 0; i < w->member_count; i++)
        if (w->members[i]->id.pid == pid && member_is_alive(w->members[i]))
            return w->members[i];
    return NULL;
}

/* Whether the driver's pids are those of this system; a container may see others, or none. */
static bool read_processes(struct watch *w, size_t device, double seconds, double headroom)
{
    const struct gpu_process *list;
    size_t count;
    if (gpu_read_processes(w->gpu, device, &list, &count) < 0)
        return false;
    bool known = false;
    for (size_t i = 0; i < count; i++) {
        struct member *m = alive_member(w, list[i].pid);
        if (m)
            push_process(w, m, device, seconds, list[i].used_bytes, headroom);
        struct proc_stat stat;
        known = known || m || proc_stat_read(w->options.proc_root, list[i].pid, &stat) == 0;
    }
    return known;
}

/* Where the driver names no process that we know, whole devices are watched instead. */
void machine_read_gpu(struct watch *w, double seconds)
{
    for (size_t i = 0; w->gpu && i < gpu_device_count(w->gpu); i++) {
        struct gpu_load load;
        if (gpu_read_device(w->gpu, i, &load) < 0)
            continue;
        double headroom = load.total_bytes - load.used_bytes;
        limit_told(w, i, headroom);
        if (read_processes(w, i, seconds, headroom))
            w->gpu_has_pids = true;
        if (w->gpu_has_pids)
            continue;
        if (!w->devices) {
            w->devices = new_tracks(w->gpu);
            w->device_count = gpu_device_count(w->gpu);
        }
        store_device(w, &w->devices[i]);
        w->devices[i].limit = load.total_bytes;
        watch_push(w, &w->devices[i], seconds, load.used_bytes);
    }
}

/* What a process has on a device; NAN: nothing, or not told. */
static double bytes_of(struct watch *w, size_t device, pid_t pid)
{
    const struct gpu_process *list;
    size_t count;
    if (gpu_read_processes(w->gpu, device, &list, &count) < 0)
        return NAN;
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == pid)
            return list[i].used_bytes;
    return NAN;
}

/* Where the driver does not say who uses a device, every one may be it. What an instance of a
 * device holds is part of what the device does. */
void watch_look_at_gpu(struct watch *w, pid_t pid, double *ret_bytes, double *ret_busy)
{
    *ret_bytes = *ret_busy = NAN;
    for (size_t i = 0; w->gpu && i < gpu_device_count(w->gpu); i++) {
        struct gpu_load load;
        if (strncmp(gpu_device(w->gpu, i)->uuid, "MIG-", 4) == 0)
            continue;
        double bytes = bytes_of(w, i, pid);
        if (isfinite(bytes))
            *ret_bytes = isnan(*ret_bytes) ? bytes : *ret_bytes + bytes;
        if ((isfinite(bytes) || !w->gpu_has_pids) && gpu_read_device(w->gpu, i, &load) == 0)
            *ret_busy = fmax(*ret_busy, load.utilization / 100);
    }
}

/* ---- somebody else ---- */

/* The job, its watcher, and what counts its objects. */
static bool is_ours(void *context, struct proc_id id, const char *comm)
{
    struct watch *w = context;
    if (strcmp(comm, WIRE_CENSUS_PROCESS) == 0)
        return true;
    for (size_t i = 0; i < w->member_count; i++)
        if (proc_id_equal(w->members[i]->id, id))
            return true;
    return id.pid == getpid();
}

static void name_grower(struct watch *w, const struct proc_survey *now, double system, double tree)
{
    struct proc_grower g;
    if (proc_survey_grower(w->survey_first, now, is_ours, w, &g) < 0 ||
        g.now - g.before < (1 - ELSEWHERE_SHARE) / 2 * system ||
        proc_tree_claims(w->tree, g.id.pid))
        return;
    struct buf text = BUF_INIT;
    buf_adds(&text, "the system uses ");
    units_add_bytes(&text, system);
    buf_adds(&text, " more than at the start, this job ");
    units_add_bytes(&text, fmax(tree, 0));
    buf_addf(&text, ": pid %d (%s) grew by ", (int) g.id.pid, g.comm);
    units_add_bytes(&text, g.now - g.before);
    buf_addf(&text, "; if that is the training, watch it: tidemark watch --pid %d", (int) g.id.pid);
    if (w->elsewhere.len == 0)
        watch_add_news(w, NEWS_ELSEWHERE, 0, "%s", buf_text(&text));
    buf_release(&w->elsewhere);
    w->elsewhere = text;
}

double machine_held_by_job(const struct watch *w)
{
    const struct track *shm = &w->job[JOB_SHM];
    double held = w->job[JOB_ANON].last;
    for (size_t i = 0; i < w->member_count; i++) {
        const struct member *m = w->members[i];
        if (!member_is_alive(m) || !m->has_tracks)
            continue;
        for (unsigned k = MEMBER_COPIED; k <= MEMBER_LEFT; k++)
            held += m->tracks[k].samples > 0 ? m->tracks[k].last : 0;
    }
    if (shm->samples > 0)
        held += shm->last;
    return held;
}

void machine_look_elsewhere(struct watch *w, double seconds)
{
    double system = w->job[JOB_SYSTEM].last;
    double tree = machine_held_by_job(w);
    w->next_survey = seconds + fmin(fmax(seconds, SURVEY_LEAST), SURVEY_MOST);
    if (!w->survey_first) {
        if (proc_survey_take(w->options.proc_root, &w->survey_first) == 0) {
            w->system_at_survey = system;
            w->tree_at_survey = tree;
        }
        return;
    }
    double grown = system - w->system_at_survey, job = tree - w->tree_at_survey;
    if (!(grown > ELSEWHERE_BYTES) || job > ELSEWHERE_SHARE * grown)
        return;
    struct proc_survey *now;
    proc_tree_scan(w->tree);
    if (proc_survey_take(w->options.proc_root, &now) < 0)
        return;
    name_grower(w, now, grown, job);
    proc_survey_free(now);
}
