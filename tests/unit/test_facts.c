/* tests/unit/test_facts.c: the facts that advice rests on, from run files with known truth. */
#include "replay/facts.h"

#include "store_files.h"
#include "unit.h"

#define MB 1048576.0
#define GB (1024 * MB)

/* A process with memory on one device, as counted by the driver and torch. */
struct made_process {
    int pid, rank;
    double from, to;            /* seconds */
    const char *driver, *torch; /* NULL: not reported */
    double used, reserved, peak;
    double limit; /* what the driver leaves it in the end: own and free memory; 0: not reported */
    double files; /* mapped; 0: not reported */
    double rss, hwm; /* the highest sample, and the kernel's mark; 0: not reported */
};

struct made_run {
    struct folder folder;
    struct store *store;
    struct recording *recording;
    struct view view;
    struct advice_facts evidence;
};

static int64_t add_level(struct store *s, int64_t process, const char *kind, const char *device,
                         const struct made_process *p, double bytes, double limit)
{
    int64_t series = store_add_series(
        s,
        &(struct store_series){.process = process, .kind = kind, .device = device, .limit = limit});
    for (double t = p->from; t < p->to; t++)
        store_add_sample(s, series, t, bytes);
    return series;
}

static void add_process(struct store *s, const struct made_process *p)
{
    int64_t id = store_add_process(s, &(struct store_process){.pid = p->pid,
                                                              .start = (uint64_t) p->pid,
                                                              .role = "trainer",
                                                              .rank = p->rank,
                                                              .first_seconds = p->from,
                                                              .last_seconds = p->to,
                                                              .exit_status = NAN});
    add_level(s, id, "host.anon", NULL, p, 100 * MB, 0);
    if (p->files > 0)
        add_level(s, id, "host.file", NULL, p, p->files, 0);
    if (p->rss > 0) {
        add_level(s, id, "host.rss", NULL, p, p->rss, 0);
        add_level(s, id, "host.peak", NULL, p, p->hwm, 0);
    }
    if (p->driver)
        add_level(s, id, "gpu.used", p->driver, p, p->used, p->limit);
    if (!p->torch)
        return;
    add_level(s, id, "torch.allocated", p->torch, p, p->reserved / 2, 0);
    add_level(s, id, "torch.reserved", p->torch, p, p->reserved, 0);
    add_level(s, id, "torch.peak", p->torch, p, p->peak, 0);
}

/* A device that is sampled as a whole, for the first seconds or forever. */
struct made_device {
    const char *name;
    double bytes, limit, to;
};

static const struct made_device no_device = {0};

static void read_run_on(struct made_run *r, const struct made_device *device,
                        const struct made_process *list, size_t count)
{
    const struct recording_options none = {0};
    double end = 0;
    r->folder = folder_begin();
    r->store = create_plain(&r->folder);
    r->view = (struct view){0};
    if (device->name)
        add_level(r->store, 0, "gpu.used", device->name, &(struct made_process){.to = device->to},
                  device->bytes, device->limit);
    for (size_t i = 0; i < count; i++) {
        add_process(r->store, &list[i]);
        end = fmax(end, list[i].to);
    }
    if (store_close(r->store, end) < 0)
        abort();
    r->store = open_plain(&r->folder);
    if (!r->store || recording_new(r->store, &r->recording) < 0 ||
        recording_judge(r->recording, &none, &r->view) < 0 ||
        advice_facts_init(&r->evidence, r->recording, &r->view, 0, false) < 0)
        abort();
}

static void read_run(struct made_run *r, const struct made_process *list, size_t count)
{
    read_run_on(r, &no_device, list, count);
}

static void end_run(struct made_run *r)
{
    advice_facts_release(&r->evidence);
    view_release(&r->view);
    recording_free(r->recording);
    store_free(r->store);
    folder_end(&r->folder);
}

static const struct size_facts *size_named(const struct made_run *r, const char *name)
{
    for (size_t i = 0; i < r->evidence.size_count; i++)
        if (strcmp(r->evidence.sizes[i].name, name) == 0)
            return &r->evidence.sizes[i];
    return NULL;
}

/* One trainer after another: the device never needs memory for both at once. */
TEST(facts__trainers_that_follow_each_other_are_not_added_up)
{
    static const struct made_process list[] = {
        {.pid = 10,
         .rank = -1,
         .from = 0,
         .to = 50,
         .driver = "gpu0",
         .torch = "cuda:0",
         .used = 6 * GB,
         .reserved = 5 * GB,
         .peak = 4 * GB,
         .limit = 80 * GB},
        {.pid = 20,
         .rank = -1,
         .from = 50,
         .to = 100,
         .driver = "gpu0",
         .torch = "cuda:0",
         .used = 3 * GB,
         .reserved = 2 * GB,
         .peak = 2 * GB,
         .limit = 80 * GB},
    };
    struct made_run r;
    read_run(&r, list, 2);
    const struct size_facts *f = size_named(&r, "gpu0");
    CHECK(f && r.evidence.size_count == 2);
    CHECK_NEAR(f->peak, 6 * GB, 1);
    CHECK_NEAR(f->settled, 3 * GB, 1);
    CHECK_NEAR(f->needed, 5 * GB, 1);
    CHECK_NEAR(f->capacity, 80 * GB, 1);
    end_run(&r);
}

/* Two at a time on one device: the job needs both, and the free memory is beside them. */
TEST(facts__processes_on_one_device_are_added_up)
{
    static const struct made_process list[] = {
        {.pid = 10,
         .rank = -1,
         .from = 0,
         .to = 100,
         .driver = "gpu0",
         .torch = "cuda:0",
         .used = 6 * GB,
         .reserved = 5 * GB,
         .peak = 4 * GB,
         .limit = 77 * GB},
        {.pid = 20,
         .rank = -1,
         .from = 1,
         .to = 101,
         .driver = "gpu0",
         .torch = "cuda:0",
         .used = 3 * GB,
         .reserved = 2 * GB,
         .peak = 2 * GB,
         .limit = 80 * GB},
    };
    struct made_run r;
    read_run(&r, list, 2);
    const struct size_facts *f = size_named(&r, "gpu0");
    CHECK(f && r.evidence.size_count == 2);
    CHECK_NEAR(f->peak, 9 * GB, 1);
    CHECK_NEAR(f->capacity, 80 * GB, 1);
    end_run(&r);
}

/* Each rank has its own CUDA_VISIBLE_DEVICES and calls its device cuda:0. */
TEST(facts__the_driver_tells_devices_of_one_name_apart)
{
    static const struct made_process list[] = {
        {.pid = 10,
         .rank = 0,
         .from = 0,
         .to = 100,
         .driver = "gpu0",
         .torch = "cuda:0",
         .used = 6 * GB,
         .reserved = 5 * GB,
         .peak = 4 * GB,
         .limit = 80 * GB},
        {.pid = 20,
         .rank = 1,
         .from = 1,
         .to = 101,
         .driver = "gpu1",
         .torch = "cuda:0",
         .used = 3 * GB,
         .reserved = 2 * GB,
         .peak = 1 * GB,
         .limit = 40 * GB},
    };
    struct made_run r;
    read_run(&r, list, 2);
    const struct size_facts *first = size_named(&r, "gpu0"), *second = size_named(&r, "gpu1");
    CHECK(first && second && r.evidence.size_count == 3);
    CHECK_NEAR(first->peak, 6 * GB, 1);
    CHECK_NEAR(first->needed, 5 * GB, 1);
    CHECK_NEAR(first->capacity, 80 * GB, 1);
    CHECK_NEAR(second->peak, 3 * GB, 1);
    CHECK_NEAR(second->needed, 2 * GB, 1);
    CHECK_NEAR(second->capacity, 40 * GB, 1);
    CHECK(r.evidence.settings.device_count == 2);
    end_run(&r);
}

/* Without a driver nobody knows whether it is the same device, so nothing is added up. */
TEST(facts__without_a_driver_each_process_has_its_own)
{
    static const struct made_process list[] = {
        {.pid = 10,
         .rank = 0,
         .from = 0,
         .to = 100,
         .torch = "cuda:0",
         .reserved = 5 * GB,
         .peak = 4 * GB},
        {.pid = 20,
         .rank = 1,
         .from = 1,
         .to = 101,
         .torch = "cuda:0",
         .reserved = 2 * GB,
         .peak = 1 * GB},
    };
    struct made_run r;
    read_run(&r, list, 2);
    const struct size_facts *first = size_named(&r, "cuda:0 of rank 0");
    const struct size_facts *second = size_named(&r, "cuda:0 of rank 1");
    CHECK(first && second && r.evidence.size_count == 3);
    CHECK_NEAR(first->peak, 5 * GB, 1);
    CHECK_NEAR(second->peak, 2 * GB, 1);
    CHECK(isnan(first->capacity));
    end_run(&r);
}

/* The device is sampled as a whole until the driver names the first process on it. */
TEST(facts__what_a_device_had_before_the_job_is_not_the_jobs)
{
    static const struct made_device idle = {.name = "gpu0", .limit = 80 * GB, .to = 5};
    static const struct made_process list[] = {
        {.pid = 10,
         .rank = -1,
         .from = 0,
         .to = 100,
         .driver = "gpu0",
         .used = 6 * GB,
         .limit = 70 * GB},
    };
    struct made_run r;
    read_run_on(&r, &idle, list, 1);
    const struct size_facts *f = size_named(&r, "gpu0");
    CHECK(f && r.evidence.size_count == 2);
    CHECK_NEAR(f->peak, 6 * GB, 1);
    CHECK_NEAR(f->capacity, 70 * GB, 1);
    end_run(&r);
}

/* In a container the driver names no process, and torch reports its own memory. */
TEST(facts__a_whole_device_is_the_one_that_torch_names)
{
    static const struct made_device whole = {
        .name = "gpu0", .bytes = 9 * GB, .limit = 80 * GB, .to = 100};
    static const struct made_process list[] = {
        {.pid = 10,
         .rank = -1,
         .from = 0,
         .to = 100,
         .torch = "cuda:0",
         .reserved = 5 * GB,
         .peak = 4 * GB},
    };
    struct made_run r;
    read_run_on(&r, &whole, list, 1);
    const struct size_facts *f = size_named(&r, "gpu0");
    CHECK(f && r.evidence.size_count == 2);
    CHECK_NEAR(f->peak, 9 * GB, 1);
    CHECK_NEAR(f->needed, 8 * GB, 1);
    CHECK_NEAR(f->capacity, 80 * GB, 1);
    end_run(&r);
}

/* All processes map the same libraries, which are in memory once; other users of them do not
 * matter. */
TEST(facts__mapped_files_are_those_of_one_process)
{
    static const struct made_process list[] = {
        {.pid = 10, .rank = -1, .from = 0, .to = 100, .files = 150 * MB},
        {.pid = 20, .rank = -1, .from = 1, .to = 101, .files = 160 * MB},
    };
    struct made_run r;
    read_run(&r, list, 2);
    CHECK_NEAR(size_named(&r, "host")->files, 160 * MB, 1);
    end_run(&r);
}

/* The peak missed in one trainer is gone when the next one starts. */
TEST(facts__what_was_missed_is_added_up_only_at_a_time)
{
    struct made_process list[] = {
        {.pid = 10, .rank = -1, .from = 0, .to = 50, .rss = 100 * MB, .hwm = 140 * MB},
        {.pid = 20, .rank = -1, .from = 50, .to = 100, .rss = 100 * MB, .hwm = 130 * MB},
    };
    struct made_run r;
    read_run(&r, list, 2);
    CHECK_NEAR(size_named(&r, "host")->unseen, 40 * MB, 1);
    end_run(&r);
    list[1].from = 40;
    read_run(&r, list, 2);
    CHECK_NEAR(size_named(&r, "host")->unseen, 70 * MB, 1);
    end_run(&r);
}

/* ---- what the job holds, in the search for other processes ---- */

static double held_with(bool alive)
{
    static const struct made_process list[] = {
        {.pid = 10, .rank = -1, .from = 0, .to = 100},
        {.pid = 20, .rank = -1, .from = 1, .to = 100},
    };
    struct made_run r;
    read_run(&r, list, 2);
    struct job *j = recording_job(r.recording);
    struct track *copied = &j->members[1]->tracks[MEMBER_COPIED], *shm = &j->sums[JOB_SHM];
    struct track *left = &j->members[1]->tracks[MEMBER_LEFT];
    j->members[1]->ended = alive ? (double) NAN : 100;
    copied->samples = left->samples = shm->samples = 1;
    copied->last = 40 * MB;
    left->last = 10 * MB;
    shm->last = 30 * MB;
    j->sums[JOB_ANON].last = 200 * MB;
    double held = job_held(j);
    copied->samples = left->samples = shm->samples = 0;
    end_run(&r);
    return held;
}

TEST(held_by_job__counts_what_its_forks_have_of_what_they_shared)
{
    CHECK_NEAR(held_with(true), 280 * MB, 0);
    CHECK_NEAR(held_with(false), 230 * MB, 0);
}

/* ---- shares that wait for their turn ---- */

/* The sheet of a job with too many processes at 100 s; the shares were to be read again at
 * `due`. */
static struct sheet sheet_with(double read, double due)
{
    struct job j;
    struct member *m = member_new((struct proc_id){.pid = 10});
    struct sheet s = {0};
    job_init(&j);
    job_add_member(&j, m);
    member_init_tracks(m);
    j.alive = 1;
    j.now = 100;
    m->role.role = ROLE_TRAINER;
    m->shares.seconds = read;
    m->shares.next = due;
    sheet_take(&s, &j, 100, 0, 30);
    job_release(&j);
    return s;
}

static double age_of_shares(double read, double due)
{
    struct sheet s = sheet_with(read, due);
    double age = s.late > 0 ? s.late_most : (double) NAN;
    sheet_release(&s);
    return age;
}

static unsigned unread_with(double read, double due)
{
    struct sheet s = sheet_with(read, due);
    unsigned unread = s.unread;
    sheet_release(&s);
    return unread;
}

TEST(sheet__shares_that_are_read_too_rarely_have_an_age)
{
    CHECK_NEAR(age_of_shares(40, 60), 60, 0);
    CHECK(isnan(age_of_shares(40, 99.5)));         /* its turn is next */
    CHECK(isnan(age_of_shares(40, 120)));          /* nothing changed in it */
    CHECK(isnan(age_of_shares(80, 85)));           /* a flat process is read this rarely too */
    CHECK(isnan(age_of_shares((double) NAN, 10))); /* never read: reported separately */
    CHECK(unread_with((double) NAN, 10) == 1 && unread_with(40, 60) == 0);
}
