/* sample/rings.c: reads what processes of the job report from inside, by their rings. */
#include "sample/sampler.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Rings are read at least this often, and this often if one fills fast. */
#define READ_SECONDS 1.0
#define READ_SECONDS_FAST 0.1
#define FILLS_FAST 1024u /* records since the last read, of 4096 */

/* New censuses are checked for this often, stretching with the run. */
#define OBJECTS_LEAST 0.05
#define OBJECTS_MOST 1.0

/* Rings of ended processes are dropped; this many of living ones are read. */
#define RINGS_MOST 4096u
#define RECORDS_MOST 4096u /* read from one ring at a time */

/*
 * Limits on what a process of the job can cost us through the directory and the fifo. One listing
 * covers this many files (a ring, a census and its next draft per process). Listings that take
 * longer than a moment get this fraction of the time. This many reads empty the fifo at once, and
 * this many wake-ups count in a second.
 */
#define LISTED_MOST (3 * RINGS_MOST)
#define LISTING_REST 50
#define LISTING_MOMENT 0.002
#define WAKE_READS 16u
#define WAKINGS_MOST 250u

/* ---- beginning and end ---- */

/* The file of that name may be something else by now. */
static int open_fifo(const struct rings *s, const char *name, int flags)
{
    struct stat st;
    int fd = wire_open_beneath(s->directory, name, S_IFIFO, flags, &st);
    return fd < 0 ? -1 : fd;
}

static void open_fifos(struct sampler *sam)
{
    struct rings *s = &sam->rings;
    if (mkfifoat(s->directory, WIRE_WAKE_FILE, 0600) < 0)
        return;
    s->wake = open_fifo(s, WIRE_WAKE_FILE, O_RDONLY);
    s->wake_held = open_fifo(s, WIRE_WAKE_FILE, O_WRONLY);
    if (sam->options.speaks && mkfifoat(s->directory, WIRE_VOICE_FILE, 0600) == 0)
        s->voice = open_fifo(s, WIRE_VOICE_FILE, O_RDONLY);
}

void rings_open(struct sampler *sam)
{
    struct rings *s = &sam->rings;
    s->directory = s->wake = s->wake_held = s->voice = -1;
    s->next = INFINITY;
    if (sam->options.rings)
        s->directory = open(sam->options.rings, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->directory >= 0)
        open_fifos(sam);
}

int sampler_use_rings(struct sampler *sam, struct deputy_folder *folder)
{
    struct rings *s = &sam->rings;
    if (s->directory >= 0)
        return 0;
    s->directory = fcntl(folder->directory, F_DUPFD_CLOEXEC, 3);
    if (s->directory < 0)
        return -errno;
    s->wake = folder->fifo;
    s->wake_held = folder->fifo_held;
    folder->fifo = folder->fifo_held = -1;
    return 0;
}

void sampler_hang_up(struct sampler *sam)
{
    int *ends[] = {&sam->rings.wake, &sam->rings.wake_held};
    for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (*ends[i] >= 0)
            close(*ends[i]);
        *ends[i] = -1;
    }
}

static struct ring *ring_free(struct ring *r)
{
    wire_reader_free(r->reader);
    free(r->file);
    free(r);
    return NULL;
}

void rings_release(struct sampler *sam)
{
    struct rings *s = &sam->rings;
    for (size_t i = 0; i < s->count; i++)
        ring_free(s->list[i]);
    free(s->list);
    free(s->foreign);
    int files[] = {s->directory, s->wake, s->wake_held, s->voice};
    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (files[i] >= 0)
            close(files[i]);
}

int sampler_wake_fd(const struct sampler *sam)
{
    return sam->rings.woken < WAKINGS_MOST ? sam->rings.wake : -1;
}

/* ---- coming and going ---- */

static struct ring *add(struct sampler *sam, struct wire_reader *reader, const char *file)
{
    struct rings *s = &sam->rings;
    struct ring *r = calloc(1, sizeof(*r));
    s->list = reallocarray(s->list, s->count + 1, sizeof(struct ring *));
    if (!r || !s->list)
        base_out_of_memory();
    r->reader = reader;
    r->id = (struct proc_id){.pid = wire_reader_pid(reader), .start = wire_reader_start(reader)};
    r->file = file ? strdup(file) : NULL;
    r->step = r->first_seconds = r->epoch_length = r->plan = NAN;
    s->list[s->count++] = r;
    s->next = s->next_objects = 0;
    return r;
}

int sampler_add_ring(struct sampler *sam, struct wire_ring *ring)
{
    struct wire_reader *reader;
    struct wire_record before;
    int r = wire_reader_attach(ring, &reader);
    if (r < 0)
        return r;
    /* What the process reported before this watch began is not counted. */
    while (wire_read(reader, &before))
        continue;
    struct ring *own = add(sam, reader, NULL);
    own->own = ring;
    activities_attach(own);
    return 0;
}

static bool is_known(const struct rings *s, const char *file)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i]->file && strcmp(s->list[i]->file, file) == 0)
            return true;
    return false;
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t len = strlen(name), end = strlen(suffix);
    return len > end && strcmp(name + len - end, suffix) == 0;
}

/* The pid that a process in a container has inside it; 0: not known. */
static pid_t inner_pid(const struct sampler *sam, pid_t pid)
{
    char path[PATH_MAX], line[256];
    int inner = 0;
    snprintf(path, sizeof(path), "%s/%d/status", sam->options.proc_root, (int) pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file)) {
        const char *last = strncmp(line, "NSpid:", 6) == 0 ? strrchr(line, '\t') : NULL;
        if (last)
            inner = atoi(last);
    }
    if (file)
        fclose(file);
    return inner;
}

static struct member *find_by_inner_pid(struct sampler *sam, struct proc_id id)
{
    for (size_t i = 0; i < sam->job->member_count; i++) {
        struct member *m = sam->job->members[i];
        if (m->id.start == id.start && member_is_alive(m) && inner_pid(sam, m->id.pid) == id.pid)
            return m;
    }
    return NULL;
}

/* From here on its records use its pid as we know it. */
static bool is_met(struct sampler *sam, struct ring *r)
{
    if (r->member)
        return true;
    r->member = job_find(sam->job, r->id);
    if (!r->member && !sam->options.rings && (r->member = find_by_inner_pid(sam, r->id)))
        r->id = r->member->id;
    if (r->member)
        lines_note_owner(sam, r->member);
    return r->member != NULL;
}

/* Whether the process has ended and all was read; its file could not be removed. */
static bool is_over(struct sampler *sam, const struct wire_reader *reader)
{
    const struct member *m =
        job_find(sam->job, (struct proc_id){.pid = wire_reader_pid(reader),
                                            .start = wire_reader_start(reader)});
    return m && !member_is_alive(m);
}

/* The caller closes it; NULL: it cannot be listed. */
static DIR *open_folder(const struct rings *s)
{
    int fd = openat(s->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder && fd >= 0)
        close(fd);
    return folder;
}

bool sampler_is_foreign(const struct sampler *sam, struct proc_id id)
{
    for (size_t i = 0; i < sam->rings.foreign_count; i++)
        if (proc_id_equal(sam->rings.foreign[i], id))
            return true;
    return false;
}

void rings_note_foreign(struct sampler *sam, struct proc_id id)
{
    struct rings *s = &sam->rings;
    if (s->foreign_count == RINGS_MOST || sampler_is_foreign(sam, id))
        return;
    s->foreign = reallocarray(s->foreign, s->foreign_count + 1, sizeof(*s->foreign));
    if (!s->foreign)
        base_out_of_memory();
    s->foreign[s->foreign_count++] = id;
}

/* The name of the file says whose ring it is. */
static void note_foreign_ring(struct sampler *sam, const char *file)
{
    int pid;
    unsigned long long start;
    if (sscanf(file, "%d-%llu", &pid, &start) != 2)
        return;
    struct proc_id id = {.pid = pid, .start = start};
    const struct member *m = job_find(sam->job, id);
    if (!m && !sam->options.rings)
        m = find_by_inner_pid(sam, id);
    sam->wants_scan = sam->wants_scan || !m;
    if (m)
        rings_note_foreign(sam, m->id);
}

static void look_at_file(struct sampler *sam, const char *file)
{
    struct rings *s = &sam->rings;
    struct wire_reader *reader;
    if (!has_suffix(file, WIRE_RING_SUFFIX) || is_known(s, file))
        return;
    int e = wire_reader_open(s->directory, file, &reader);
    if (e == -EPROTONOSUPPORT)
        note_foreign_ring(sam, file);
    if (e < 0)
        return;
    if (is_over(sam, reader)) {
        wire_reader_free(reader);
        return;
    }
    add(sam, reader, file);
    if (!is_met(sam, s->list[s->count - 1]))
        sam->wants_scan = true;
}

static void look_for_new(struct sampler *sam)
{
    struct rings *s = &sam->rings;
    DIR *folder = open_folder(s);
    if (!folder)
        return;
    struct dirent *entry;
    for (size_t i = 0; i < LISTED_MOST && s->count < RINGS_MOST && (entry = readdir(folder)); i++)
        look_at_file(sam, entry->d_name);
    closedir(folder);
}

static bool was_woken(struct rings *s, double seconds)
{
    char bytes[4096];
    bool woken = false;
    if (!(seconds - s->woken_since < 1)) {
        s->woken_since = seconds;
        s->woken = 0;
    }
    for (unsigned i = 0; i < WAKE_READS && s->wake >= 0 && read(s->wake, bytes, sizeof(bytes)) > 0;
         i++)
        woken = true;
    s->woken += woken;
    return woken;
}

void rings_find(struct sampler *sam, double seconds, bool scan_is_due)
{
    struct rings *s = &sam->rings;
    bool woken = was_woken(s, seconds);
    s->wants_listing = s->wants_listing || woken || scan_is_due;
    if (s->directory < 0 || !s->wants_listing || seconds < s->next_listing)
        return;
    double before = sampler_cpu_seconds();
    look_for_new(sam);
    double took = sampler_cpu_seconds() - before;
    s->wants_listing = false;
    s->next_listing = took > LISTING_MOMENT ? seconds + LISTING_REST * took : 0;
}

/* Drops a ring and removes the files that the process left. */
static void let_go(struct sampler *sam, size_t index)
{
    struct rings *s = &sam->rings;
    struct ring *r = s->list[index];
    steps_lose(sam, r);
    activities_lose(sam, r, sam->job->now);
    censuses_remove(sam, r);
    if (r->file)
        unlinkat(s->directory, r->file, 0);
    ring_free(r);
    s->count--;
    memmove(&s->list[index], &s->list[index + 1], (s->count - index) * sizeof(struct ring *));
}

static size_t index_of(const struct sampler *sam, struct proc_id id)
{
    size_t i = 0;
    while (i < sam->rings.count && !proc_id_equal(sam->rings.list[i]->id, id))
        i++;
    return i;
}

/* The process may have come and gone since the last listing. */
static void look_for_one(struct sampler *sam, struct proc_id id)
{
    char file[64];
    struct wire_reader *reader;
    snprintf(file, sizeof(file), "%d-%llu" WIRE_RING_SUFFIX, (int) id.pid,
             (unsigned long long) id.start);
    if (sam->rings.directory >= 0 && wire_reader_open(sam->rings.directory, file, &reader) == 0)
        add(sam, reader, file);
}

void rings_end(struct sampler *sam, struct member *m, double seconds)
{
    if (index_of(sam, m->id) == sam->rings.count)
        look_for_one(sam, m->id);
    if (index_of(sam, m->id) == sam->rings.count)
        return;
    rings_read(sam, seconds);
    censuses_await(sam->rings.list[index_of(sam, m->id)]);
    censuses_read(sam, sam->rings.list[index_of(sam, m->id)]);
    evidence_end(sam->job, m);
    let_go(sam, index_of(sam, m->id));
}

bool rings_have_copy(const struct sampler *sam, const struct member *m)
{
    size_t i = index_of(sam, m->id);
    return i < sam->rings.count && wire_reader_census_is_under_way(sam->rings.list[i]->reader);
}

double rings_bytes(const struct sampler *sam, dev_t device)
{
    struct stat st;
    if (sam->rings.directory < 0 || fstat(sam->rings.directory, &st) < 0 || st.st_dev != device)
        return 0;
    DIR *folder = open_folder(&sam->rings);
    struct dirent *entry;
    double bytes = 0;
    for (size_t i = 0; folder && i < LISTED_MOST && (entry = readdir(folder)) != NULL; i++)
        if (fstatat(sam->rings.directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            bytes += 512.0 * (double) st.st_blocks;
    if (folder)
        closedir(folder);
    return bytes;
}

bool rings_have_file(const struct sampler *sam, uint64_t inode)
{
    DIR *folder = sam->rings.directory < 0 ? NULL : open_folder(&sam->rings);
    struct dirent *entry;
    bool is_there = false;
    for (size_t i = 0; folder && !is_there && i < LISTED_MOST && (entry = readdir(folder)); i++)
        is_there = entry->d_ino == inode;
    if (folder)
        closedir(folder);
    return is_there;
}

struct proc_id rings_own_id(const struct sampler *sam, const struct member *m)
{
    size_t i = index_of(sam, m->id);
    unsigned long long start;
    int pid;
    if (i < sam->rings.count && sam->rings.list[i]->file &&
        sscanf(sam->rings.list[i]->file, "%d-%llu", &pid, &start) == 2)
        return (struct proc_id){.pid = pid, .start = start};
    return m->id;
}

/* ---- counters ---- */

static char *clean(const char *text)
{
    struct buf out = BUF_INIT;
    utf8_add_clean(&out, text, false);
    char *copy = strdup(buf_text(&out));
    buf_release(&out);
    if (!copy)
        base_out_of_memory();
    return copy;
}

static bool is_track_of(const struct track *t, const char *kind, const char *device)
{
    return strcmp(t->kind, kind) == 0 && strcmp(t->device ? t->device : "", device) == 0;
}

/* malloc's in-use bytes also grow with much that is no leak. */
static enum track_use use_of(const struct wire_name *name)
{
    if (strcmp(name->kind, HEAP_USED) == 0)
        return TRACK_WITNESS;
    return name->judged ? TRACK_JUDGED : TRACK_SHOWN;
}

/* Index of its track among the member's reported ones, from 1. */
static size_t place(struct member *m, const struct wire_name *name)
{
    char *kind = clean(name->kind), *device = clean(name->device);
    size_t i = 0;
    while (i < m->reported_count && !is_track_of(&m->reported[i], kind, device))
        i++;
    if (i < m->reported_count) {
        free(kind);
        free(device);
        return i + 1;
    }
    m->reported = reallocarray(m->reported, m->reported_count + 1, sizeof(*m->reported));
    if (!m->reported)
        base_out_of_memory();
    struct track *t = &m->reported[m->reported_count++];
    track_init(t, kind, name->unit == WIRE_BYTES ? SERIES_BYTES : SERIES_COUNT, use_of(name));
    if (strcmp(kind, "torch.reserved") == 0)
        track_excuse(t, LEDGER_RESERVED);
    t->own_kind = kind;
    if (device[0])
        t->device = device;
    else
        free(device);
    return m->reported_count;
}

/* The series of a counter; NULL: there is none. */
static struct track *track_of(struct sampler *sam, struct ring *r, unsigned number)
{
    struct wire_name name;
    struct member *m = r->member;
    if (!m || !wire_reader_name(r->reader, number, &name))
        return NULL;
    if (!m->has_tracks && m->role.role == ROLE_DATA_WORKER)
        return NULL; /* data workers may come and go with every epoch */
    if (!m->has_tracks)
        member_start_tracks(sam, m);
    if (strcmp(name.kind, "host.anon") == 0 && !name.device[0])
        return &m->tracks[MEMBER_ANON];
    if (r->reported[number] == 0)
        r->reported[number] = place(m, &name);
    return &m->reported[r->reported[number] - 1];
}

/* Adds what is swapped out to the process's own memory: it cannot be measured from inside. */
static double whole(const struct member *m, const struct track *t, double value)
{
    bool is_anon = t == &m->tracks[MEMBER_ANON];
    return value + (is_anon && m->now.swap > 0 ? m->now.swap : 0);
}

/* The mapped bytes of that same moment; NAN: none. */
static double asked_at(const struct member *m, double seconds)
{
    const struct track *t = member_reported(m, HEAP_ASKED);
    bool is_of_then = t && fabs(t->last_seconds - seconds) <= HEAP_SAME_SECONDS;
    return is_of_then ? t->last : (double) NAN;
}

static void take_sample(struct sampler *sam, struct ring *r, double seconds,
                        const struct wire_record *x)
{
    struct track *t = track_of(sam, r, x->name);
    if (!t)
        return;
    double at = fmax(seconds, t->last_seconds);
    if (t == &r->member->tracks[MEMBER_ANON])
        r->member->reading->anon_reported = at;
    member_push(sam, r->member, t, at, whole(r->member, t, x->value));
    const struct track *used = member_reported(r->member, HEAP_USED);
    if (used && strcmp(t->kind, "heap.free") == 0) /* it is reported last, at the same time */
        evidence_add_heap_point(r->member, at, used->last, x->value, asked_at(r->member, at));
}

static void take_aside(struct sampler *sam, struct ring *r, const struct wire_record *x)
{
    struct track *t = track_of(sam, r, x->name);
    if (!t)
        return;
    job_see_aside(sam->job, t, whole(r->member, t, x->value));
    r->member->moves |= t->moves;
}

/* ---- reading ---- */

/* Records of all rings, to be processed in order of time. */
struct told {
    struct ring *ring;
    struct wire_record record;
    size_t order;
};

struct batch {
    struct told *list;
    size_t count, capacity;
};

static void batch_add(struct batch *b, struct ring *ring, const struct wire_record *x)
{
    if (b->count == b->capacity) {
        b->capacity = b->capacity ? 2 * b->capacity : 64;
        b->list = reallocarray(b->list, b->capacity, sizeof(*b->list));
        if (!b->list)
            base_out_of_memory();
    }
    b->list[b->count] = (struct told){ring, *x, b->count};
    b->count++;
}

/* A sample taken with a step comes first, so that it is there when the step gives it its place
 * on the clock. */
static int by_time(const void *a, const void *b)
{
    const struct told *x = a, *y = b;
    if (x->record.time != y->record.time)
        return x->record.time < y->record.time ? -1 : 1;
    bool sample = x->record.kind == WIRE_SAMPLE, other = y->record.kind == WIRE_SAMPLE;
    if (sample != other)
        return sample ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* Seconds of the watch: neither before it began nor in the future. */
static double seconds_of(const struct sampler *sam, uint64_t time, double now)
{
    double since = time > sam->job->began ? 1e-9 * (double) (time - sam->job->began) : 0;
    return fmin(since, now);
}

/* Nothing that a process writes is trusted: a number that no engine accepts is ignored. */
static void take(struct sampler *sam, const struct told *x, double now)
{
    if (!(fabs(x->record.value) <= ENGINE_MAX_NUMBER))
        return;
    double seconds = seconds_of(sam, x->record.time, now);
    if (x->record.kind == WIRE_SAMPLE)
        take_sample(sam, x->ring, seconds, &x->record);
    else if (x->record.kind == WIRE_ASIDE)
        take_aside(sam, x->ring, &x->record);
    else if (x->record.kind == WIRE_PHASE)
        activities_take(sam, x->ring, seconds, &x->record);
    else
        steps_take(sam, x->ring, seconds, &x->record);
}

static bool is_gone(const struct sampler *sam, const struct ring *r)
{
    struct proc_stat stat;
    return proc_stat_read(sam->options.proc_root, r->id.pid, &stat) < 0 ||
           !proc_id_equal(stat.id, r->id) || proc_stat_ended(&stat);
}

/* Reads at most one ring's worth: a ring that fills faster than it is read would never end. */
static size_t read_ring(struct batch *b, struct ring *r)
{
    struct wire_record x;
    size_t count = 0;
    for (; count < RECORDS_MOST && wire_read(r->reader, &x); count++)
        batch_add(b, r, &x);
    if (r->member)
        r->member->reading->own_shared = (double) wire_reader_own_shared(r->reader);
    return count;
}

/* Requests censuses and reads new ones: once a second, at first more often. */
static bool look_at_objects(struct sampler *sam, double seconds)
{
    struct rings *s = &sam->rings;
    if (seconds < s->next_objects)
        return false;
    s->next_objects = seconds + fmin(fmax(OBJECTS_LEAST, seconds / 20), OBJECTS_MOST);
    censuses_want(sam);
    for (size_t i = 0; i < s->count; i++)
        censuses_read(sam, s->list[i]);
    return true;
}

bool rings_read(struct sampler *sam, double seconds)
{
    struct rings *s = &sam->rings;
    struct batch batch = {0};
    size_t most = 0;
    for (size_t i = 0; i < s->count; i++) {
        /* Until its process is found, nobody knows whose samples these are: they wait. */
        bool readable = is_met(sam, s->list[i]) || is_gone(sam, s->list[i]);
        size_t count = readable ? read_ring(&batch, s->list[i]) : 0;
        most = count > most ? count : most;
    }
    if (batch.count > 0)
        qsort(batch.list, batch.count, sizeof(*batch.list), by_time);
    for (size_t i = 0; i < batch.count; i++)
        take(sam, &batch.list[i], seconds);
    free(batch.list);
    for (size_t i = s->count; i-- > 0;)
        if (!s->list[i]->member && s->list[i]->file && is_gone(sam, s->list[i]))
            let_go(sam, i);
    if (s->count > 0)
        s->next = seconds + (most > FILLS_FAST ? READ_SECONDS_FAST : READ_SECONDS);
    else
        s->next = INFINITY;
    steps_ask(sam);
    return look_at_objects(sam, seconds);
}

bool sampler_has_detached(const struct sampler *sam, struct proc_id id)
{
    size_t i = index_of(sam, id);
    return i < sam->rings.count && wire_reader_has_left(sam->rings.list[i]->reader);
}

const struct proc_id *sampler_foreign(const struct sampler *sam, size_t *ret_count)
{
    *ret_count = sam->rings.foreign_count;
    return sam->rings.foreign;
}
