/* cli/doctor_gpu.c: does the GPU's driver answer, and does it report memory by process? */
#include "cli/doctor.h"
#include "gpu/gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A driver that has to wake its GPUs takes seconds; one that hangs never answers. */
#define PATIENCE_SECONDS 30.0

/* With more than this in use and no process named, the processes are hidden. */
#define IDLE_BYTES (1024.0 * 1024 * 1024)

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* ---- asking the driver ---- */

static void advise_no_driver(struct doctor_check *c)
{
    buf_adds(&c->advice, "host memory is watched all the same. ");
    if (exists("/dev/nvidiactl") || exists("/proc/driver/nvidia/version"))
        buf_adds(&c->advice, "The machine has an NVIDIA GPU, but its library is not to be had "
                             "here: docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES="
                             "compute,utility, or install the driver's libnvidia-ml.so.1");
    else if (doctor_in_container())
        buf_adds(&c->advice, "If the machine has a GPU, start the container with it: docker run "
                             "--gpus all");
    else
        buf_adds(&c->advice, "If there is an NVIDIA GPU, make nvidia-smi work first");
}

/* `instance` counts the device's MIG instances from 1; 0: the device itself. */
static void check_device(struct doctor *d, struct gpu *g, size_t i, unsigned instance)
{
    const struct gpu_device *device = gpu_device(g, i);
    char name[32], title[24];
    snprintf(name, sizeof(name), instance ? "gpu%u.%u" : "gpu%u", device->index, instance);
    snprintf(title, sizeof(title), instance ? "gpu%u MIG %u" : "gpu%u", device->index, instance);
    struct doctor_check *c = doctor_add(d, name, title);
    struct gpu_load load;
    int r = gpu_read_device(g, i, &load);
    buf_addf(&c->detail, "%s", device->name[0] ? device->name : "without a name");
    if (r < 0) {
        c->state = DOCTOR_NO;
        buf_addf(&c->detail, ": %s",
                 r == -ENODEV ? "lost, it does not answer any more" : "its memory cannot be read");
        buf_adds(&c->advice, "nvidia-smi may say more; as root: nvidia-smi --gpu-reset, or "
                             "restart the machine");
    } else if (isfinite(load.total_bytes)) {
        buf_adds(&c->detail, ", ");
        units_add_bytes(&c->detail, load.total_bytes);
        buf_adds(&c->detail, ", ");
        units_add_bytes(&c->detail, load.used_bytes);
        buf_adds(&c->detail, " used");
    } else {
        buf_adds(&c->detail, ", memory shared with the host or not told");
    }
    if (device->uuid[0])
        buf_addf(&c->detail, ", %s", device->uuid);
}

static bool is_instance(const struct gpu_device *device)
{
    return strncmp(device->uuid, "MIG-", 4) == 0;
}

static void check_devices(struct doctor *d, struct gpu *g)
{
    unsigned instance = 0;
    for (size_t i = 0; i < gpu_device_count(g); i++) {
        instance = is_instance(gpu_device(g, i)) ? instance + 1 : 0;
        check_device(d, g, i, instance);
    }
}

/* Who uses the devices, as far as the driver reports it. */
struct users {
    unsigned refused;        /* devices that do not report processes */
    unsigned known, unknown; /* processes visible in /proc, or not */
    unsigned silent;         /* processes whose memory is not reported */
    double used;             /* memory in use on devices that name no process */
};

static void count_users(struct gpu *g, size_t i, struct users *u)
{
    const struct gpu_process *list;
    size_t count;
    struct gpu_load load;
    if (gpu_read_processes(g, i, &list, &count) < 0) {
        u->refused++;
        return;
    }
    if (count == 0 && gpu_read_device(g, i, &load) == 0 && isfinite(load.used_bytes))
        u->used += load.used_bytes;
    for (size_t k = 0; k < count; k++) {
        char path[32];
        snprintf(path, sizeof(path), "/proc/%d", (int) list[k].pid);
        if (exists(path))
            u->known++;
        else
            u->unknown++;
        u->silent += isnan(list[k].used_bytes) ? 1 : 0;
    }
}

static void advise_no_pids(struct doctor_check *c)
{
    buf_adds(&c->advice, "GPU memory is watched for whole devices instead. In a container share "
                         "the machine's process numbers: docker run --pid=host (hostPID in "
                         "Kubernetes)");
}

static void check_users(struct doctor *d, struct gpu *g)
{
    struct doctor_check *c = doctor_add(d, "gpu_processes", "by process");
    struct users u = {0};
    for (size_t i = 0; i < gpu_device_count(g); i++)
        if (!is_instance(gpu_device(g, i)))
            count_users(g, i, &u);
    if (u.known > 0) {
        doctor_set(c, DOCTOR_OK, "the driver names who uses a GPU: %u now", u.known + u.unknown);
        if (u.silent > 0) {
            c->state = DOCTOR_LIMITED;
            buf_adds(&c->detail, ", but not with how much memory");
            buf_adds(&c->advice, "GPU memory is watched for whole devices instead");
        }
    } else if (u.unknown > 0) {
        doctor_set(c, DOCTOR_LIMITED, "the driver names processes that are not visible here");
        advise_no_pids(c);
    } else if (u.refused > 0 || u.used > IDLE_BYTES) {
        doctor_set(c, DOCTOR_LIMITED, "the driver does not name the processes here");
        advise_no_pids(c);
    } else {
        doctor_set(c, DOCTOR_OK, "nobody uses a GPU now; %s",
                   doctor_in_container() ? "containers often hide it: ask again while the job runs"
                                         : "the driver would name them");
    }
}

static void examine(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "nvml", "NVIDIA driver");
    struct gpu *g;
    char why[GPU_WHY_LENGTH];
    int r = gpu_open(&g, why);
    if (r < 0) {
        doctor_set(c, DOCTOR_NO, "%s", why);
        advise_no_driver(c);
        return;
    }
    size_t devices = 0;
    for (size_t i = 0; i < gpu_device_count(g); i++)
        devices += !is_instance(gpu_device(g, i));
    doctor_set(c, DOCTOR_OK, "answers: %zu GPU%s", devices, devices == 1 ? "" : "s");
    check_devices(d, g);
    check_users(d, g);
    gpu_free(g);
}

/* ---- in a process of its own: a driver may hang or crash, the doctor may not ---- */

/* Packs name, title, state, detail and advice of each check, every text with a NUL. */
static void pack(const struct doctor *d, struct buf *out)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct doctor_check *c = &d->checks[i];
        buf_add(out, c->name, strlen(c->name) + 1);
        buf_add(out, c->title, strlen(c->title) + 1);
        buf_addf(out, "%d", (int) c->state);
        buf_addc(out, '\0');
        buf_add(out, buf_text(&c->detail), c->detail.len + 1);
        buf_add(out, buf_text(&c->advice), c->advice.len + 1);
    }
}

static const char *next_text(const char **place, const char *end)
{
    const char *text = *place;
    if (text >= end || !memchr(text, '\0', (size_t) (end - text)))
        return NULL;
    *place = text + strlen(text) + 1;
    return text;
}

static void unpack(struct doctor *d, const struct buf *packed)
{
    const char *place = buf_text(packed), *end = place + packed->len;
    for (;;) {
        const char *texts[5];
        for (unsigned i = 0; i < 5; i++)
            texts[i] = next_text(&place, end);
        if (!texts[4])
            return;
        struct doctor_check *c = doctor_add(d, texts[0], texts[1]);
        doctor_set(c, (enum doctor_state)(texts[2][0] - '0'), "%s", texts[3]);
        buf_adds(&c->advice, texts[4]);
    }
}

static _Noreturn void examine_and_send(int fd)
{
    struct doctor own;
    struct buf packed = BUF_INIT;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The user must not see what a driver prints. */
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
    doctor_init(&own, 0);
    examine(&own);
    pack(&own, &packed);
    for (size_t sent = 0; sent < packed.len;) {
        ssize_t n = write(fd, packed.text + sent, packed.len - sent);
        if (n < 0)
            break;
        sent += (size_t) n;
    }
    _exit(0);
}

/* Reads everything until the end. -errno, -ETIMEDOUT after PATIENCE_SECONDS. */
static int receive(int fd, struct buf *ret)
{
    double deadline = doctor_seconds() + PATIENCE_SECONDS;
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        double left = deadline - doctor_seconds();
        int r = left > 0 ? poll(&wait, 1, (int) (1000 * left) + 1) : 0;
        if (r == 0)
            return -ETIMEDOUT;
        char part[4096];
        ssize_t n = r > 0 ? read(fd, part, sizeof(part)) : -1;
        if (n == 0)
            return 0;
        if (n > 0)
            buf_add(ret, part, (size_t) n);
        else if (errno != EINTR)
            return -errno;
    }
}

static void add_failed(struct doctor *d, int error, int status)
{
    struct doctor_check *c = doctor_add(d, "nvml", "NVIDIA driver");
    if (error == -ETIMEDOUT)
        doctor_set(c, DOCTOR_NO, "no answer within %.0f s: the driver hangs", PATIENCE_SECONDS);
    else if (error < 0)
        doctor_set(c, DOCTOR_NO, "could not be asked (%s)", error_words(-error));
    else
        doctor_set(c, DOCTOR_NO, "its library crashed (%s)",
                   WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "without a word");
    buf_adds(&c->advice, "see whether nvidia-smi works; if it does not, restart the machine");
}

void doctor_check_gpu(struct doctor *d)
{
    int ends[2], status = 0;
    struct buf packed = BUF_INIT;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        add_failed(d, -errno, 0);
        return;
    }
    pid_t child = fork();
    int r = child < 0 ? -errno : 0;
    if (child == 0)
        examine_and_send(ends[1]);
    close(ends[1]);
    if (r == 0)
        r = receive(ends[0], &packed);
    close(ends[0]);
    if (child > 0 && r < 0)
        kill(child, SIGKILL);
    /* A child stuck in the driver cannot be killed, so do not wait for it. */
    if (child > 0)
        waitpid(child, &status, r < 0 ? WNOHANG : 0);
    if (r < 0 || packed.len == 0)
        add_failed(d, r, status);
    else
        unpack(d, &packed);
    buf_release(&packed);
}
