/* sample/machine.c: the job's surroundings: system RAM, its cgroup, the GPUs. */
#include "sample/sampler.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Another process is named when the system grew by this much, and the job by less than this
 * share of it. */
#define ELSEWHERE_BYTES (200.0 * 1024 * 1024)
#define ELSEWHERE_SHARE 0.25

/* Seconds between two surveys of the machine, rarer as the run goes on. */
#define SURVEY_LEAST 5.0
#define SURVEY_MOST 30.0

/* ---- system and cgroup ---- */

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

/* The limit: the user's, else the smaller of cgroup and RAM. */
static void find_limit(struct sampler *sam)
{
    sam->job->limit = sam->machine.around.memory_now.total;
    sam->job->limit_source = "RAM";
    if (sam->machine.around.cgroup_now.limit < sam->job->limit) {
        sam->job->limit = sam->machine.around.cgroup_now.limit;
        sam->job->limit_source = "cgroup";
    }
    if (sam->options.limit_bytes > 0) {
        sam->job->limit = sam->options.limit_bytes;
        sam->job->limit_source = "--limit";
    }
}

double machine_used(const struct sampler *sam)
{
    if (sam->job->limit_source && strcmp(sam->job->limit_source, "cgroup") == 0)
        return sam->machine.around.cgroup_now.working_set;
    if (sam->job->limit_source && strcmp(sam->job->limit_source, "RAM") == 0)
        return sam->machine.around.memory_now.total - sam->machine.around.memory_now.available;
    return sam->job->sums[JOB_PSS].samples > 0 ? sam->job->sums[JOB_PSS].last
                                               : sam->job->sums[JOB_ANON].last;
}

static void no_cgroup(struct cgroup_memory *m)
{
    double *fields = (double *) m;
    for (size_t i = 0; i < sizeof(*m) / sizeof(double); i++)
        fields[i] = NAN;
}

static void read_memory(struct sampler *sam)
{
    struct proc_meminfo memory;
    if (proc_meminfo_read(sam->options.proc_root, &memory) == 0)
        sam->machine.around.memory_now = memory;
    struct cgroup_memory cgroup;
    if (sam->machine.cgroup && cgroup_read(sam->machine.cgroup, &cgroup) == 0)
        sam->machine.around.cgroup_now = cgroup;
    find_limit(sam);
}

void machine_open(struct sampler *sam)
{
    no_cgroup(&sam->machine.around.cgroup_now);
    sam->machine.around.memory_now = (struct proc_meminfo){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    shared_open(sam);
    sam->machine.around.oom_kills_first = machine_oom_kills(sam->options.proc_root);
    if (sam->options.no_gpu || gpu_open(&sam->machine.gpu, sam->machine.around.gpu_why) < 0)
        sam->machine.gpu = NULL;
    sam->machine.around.has_gpu = sam->machine.gpu != NULL;
    read_memory(sam);
    sam->machine.around.memory_first = sam->machine.around.memory_now;
    sam->machine.around.cgroup_first = sam->machine.around.cgroup_now;
}

void machine_release(struct sampler *sam)
{
    gpu_free(sam->machine.gpu);
    cgroup_free(sam->machine.cgroup);
    proc_survey_free(sam->machine.survey_first);
    shared_release(sam);
}

/* Opens the cgroup of the job's first process; ours, if that is not known. */
static void find_cgroup(struct sampler *sam)
{
    if (sam->machine.cgroup || sam->job->alive == 0)
        return;
    pid_t pid = sam->job->members[0]->id.pid;
    if (cgroup_open(sam->options.proc_root, "", pid, &sam->machine.cgroup) < 0)
        return;
    read_memory(sam);
    sam->machine.around.cgroup_first = sam->machine.around.cgroup_now;
}

void machine_tick(struct sampler *sam, double seconds, bool finally)
{
    find_cgroup(sam);
    read_memory(sam);
    const struct proc_meminfo *m = &sam->machine.around.memory_now;
    sampler_push(sam, &sam->job->sums[JOB_SYSTEM], seconds, m->total - m->available);
    sampler_push(sam, &sam->job->sums[JOB_CGROUP], seconds,
                 sam->machine.around.cgroup_now.working_set);
    shared_tick(sam, seconds, finally);
}

/* ---- GPUs as torch knows them ---- */

/* CUDA orders devices by speed, unless configured otherwise: the driver's order holds only among
 * equal devices. */
static bool are_alike(const struct gpu_device *devices, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (strcmp(devices[i].name, devices[0].name) != 0)
            return false;
    return true;
}

static void find_cuda(struct sampler *sam, struct member *m)
{
    size_t n = gpu_device_count(sam->machine.gpu);
    struct gpu_device *devices = calloc(n, sizeof(*devices));
    m->reading->cuda = calloc(n + 1, sizeof(*m->reading->cuda));
    if (!devices || !m->reading->cuda)
        base_out_of_memory();
    for (size_t i = 0; i < n; i++)
        devices[i] = *gpu_device(sam->machine.gpu, i);
    struct buf visible = BUF_INIT;
    bool said = m->reading->proc &&
                proc_read_variable(m->reading->proc, "CUDA_VISIBLE_DEVICES", &visible) == 0;
    int count = gpu_visible_parse(said ? buf_text(&visible) : NULL, devices, n, m->reading->cuda);
    m->reading->cuda_count = count > 0 && are_alike(devices, n) ? (size_t) count : 0;
    buf_release(&visible);
    free(devices);
}

/* Whether "cuda:1" is the driver's device `device` in that process. */
static bool is_cuda(const struct member *m, const char *name, size_t device)
{
    unsigned number;
    return name && m->reading->cuda && sscanf(name, "cuda:%u", &number) == 1 &&
           number < m->reading->cuda_count && m->reading->cuda[number] == device;
}

/* The limit of torch's counters: what torch has there plus what is free. */
static void limit_reported(struct sampler *sam, size_t device, double headroom)
{
    for (size_t i = 0; i < sam->job->member_count; i++) {
        struct member *m = sam->job->members[i];
        if (m->reported_count > 0 && !m->reading->cuda && member_is_alive(m))
            find_cuda(sam, m);
        for (size_t k = 0; k < m->reported_count; k++)
            if (is_cuda(m, m->reported[k].device, device) && isfinite(headroom))
                m->reported[k].limit = m->reported[k].last + headroom;
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

/* If the driver's number grows because torch reserves memory, torch's own counters decide
 * whether that is a leak. */
void machine_attribute_gpu(struct sampler *sam)
{
    for (size_t i = 0; i < sam->job->member_count; i++) {
        struct member *m = sam->job->members[i];
        if (m->gpu_count == 0 || !member_reported(m, "torch.reserved"))
            continue;
        double used = growth(m->gpu, m->gpu_count, "gpu.used");
        bool torch = growth(m->reported, m->reported_count, "torch.reserved") > used / 2;
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

static void push_process(struct sampler *sam, struct member *m, size_t device, double seconds,
                         double used, double headroom)
{
    if (!m->has_tracks || !isfinite(used))
        return;
    if (!m->gpu) {
        m->gpu = new_tracks(sam->machine.gpu);
        m->gpu_count = gpu_device_count(sam->machine.gpu);
    }
    m->gpu[device].limit = isfinite(headroom) ? used + headroom : 0;
    member_push(sam, m, &m->gpu[device], seconds, used);
}

/* Whether the driver's pids are those of this system; in a container it may report others, or
 * none. */
static bool read_processes(struct sampler *sam, size_t device, double seconds, double headroom)
{
    const struct gpu_process *list;
    size_t count;
    if (gpu_read_processes(sam->machine.gpu, device, &list, &count) < 0)
        return false;
    bool known = false;
    for (size_t i = 0; i < count; i++) {
        struct member *m = job_find_alive(sam->job, list[i].pid);
        if (m)
            push_process(sam, m, device, seconds, list[i].used_bytes, headroom);
        struct proc_stat stat;
        known = known || m || proc_stat_read(sam->options.proc_root, list[i].pid, &stat) == 0;
    }
    return known;
}

/* If the driver names no known process, whole devices are watched instead. */
void machine_read_gpu(struct sampler *sam, double seconds)
{
    for (size_t i = 0; sam->machine.gpu && i < gpu_device_count(sam->machine.gpu); i++) {
        struct gpu_load load;
        if (gpu_read_device(sam->machine.gpu, i, &load) < 0)
            continue;
        double headroom = load.total_bytes - load.used_bytes;
        limit_reported(sam, i, headroom);
        if (read_processes(sam, i, seconds, headroom))
            sam->job->gpu_has_pids = true;
        if (sam->job->gpu_has_pids)
            continue;
        if (!sam->job->devices) {
            sam->job->devices = new_tracks(sam->machine.gpu);
            sam->job->device_count = gpu_device_count(sam->machine.gpu);
        }
        recorder_open_device(sam, &sam->job->devices[i]);
        sam->job->devices[i].limit = load.total_bytes;
        sampler_push(sam, &sam->job->devices[i], seconds, load.used_bytes);
    }
}

/* Memory of a process on a device; NAN: none, or not reported. */
static double bytes_of(struct sampler *sam, size_t device, pid_t pid)
{
    const struct gpu_process *list;
    size_t count;
    if (gpu_read_processes(sam->machine.gpu, device, &list, &count) < 0)
        return NAN;
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == pid)
            return list[i].used_bytes;
    return NAN;
}

/* If the driver does not name the users of a device, each device may be the process's. The
 * memory of a MIG instance is part of its device's. */
void machine_sample_gpu(struct sampler *sam, pid_t pid, double *ret_bytes, double *ret_busy)
{
    *ret_bytes = *ret_busy = NAN;
    for (size_t i = 0; sam->machine.gpu && i < gpu_device_count(sam->machine.gpu); i++) {
        struct gpu_load load;
        if (strncmp(gpu_device(sam->machine.gpu, i)->uuid, "MIG-", 4) == 0)
            continue;
        double bytes = bytes_of(sam, i, pid);
        if (isfinite(bytes))
            *ret_bytes = isnan(*ret_bytes) ? bytes : *ret_bytes + bytes;
        if ((isfinite(bytes) || !sam->job->gpu_has_pids) &&
            gpu_read_device(sam->machine.gpu, i, &load) == 0)
            *ret_busy = fmax(*ret_busy, load.utilization / 100);
    }
}

/* ---- other processes ---- */

/* The job, its watcher, and processes that count the job's objects. */
static bool is_ours(void *context, struct proc_id id, const char *comm)
{
    struct sampler *sam = context;
    if (strcmp(comm, WIRE_CENSUS_PROCESS) == 0)
        return true;
    for (size_t i = 0; i < sam->job->member_count; i++)
        if (proc_id_equal(sam->job->members[i]->id, id))
            return true;
    return id.pid == getpid();
}

static void name_grower(struct sampler *sam, const struct proc_survey *now, double system,
                        double tree)
{
    struct proc_grower g;
    if (proc_survey_grower(sam->machine.survey_first, now, is_ours, sam, &g) < 0 ||
        g.now - g.before < (1 - ELSEWHERE_SHARE) / 2 * system ||
        proc_tree_claims(sam->tree, g.id.pid))
        return;
    struct elsewhere_facts *f = &sam->machine.around.elsewhere;
    *f = (struct elsewhere_facts){
        .pid = (int) g.id.pid, .grew = g.now - g.before, .system = system, .job = tree};
    snprintf(f->command, sizeof(f->command), "%s", g.comm);
}

static void look_elsewhere(struct sampler *sam)
{
    double system = sam->job->sums[JOB_SYSTEM].last;
    double tree = job_held(sam->job);
    if (!sam->machine.survey_first) {
        if (proc_survey_take(sam->options.proc_root, &sam->machine.survey_first) == 0) {
            sam->machine.system_at_survey = system;
            sam->machine.tree_at_survey = tree;
        }
        return;
    }
    double grown = system - sam->machine.system_at_survey, job = tree - sam->machine.tree_at_survey;
    if (!(grown > ELSEWHERE_BYTES) || job > ELSEWHERE_SHARE * grown)
        return;
    struct proc_survey *now;
    proc_tree_scan(sam->tree);
    if (proc_survey_take(sam->options.proc_root, &now) < 0)
        return;
    name_grower(sam, now, grown, job);
    proc_survey_free(now);
}

double machine_survey(struct sampler *sam, double seconds)
{
    look_elsewhere(sam);
    return seconds + fmin(fmax(seconds, SURVEY_LEAST), SURVEY_MOST);
}

const struct surroundings *sampler_surroundings(const struct sampler *sam)
{
    return &sam->machine.around;
}
