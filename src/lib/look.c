/* lib/look.c: the values of a step line: memory, processor and GPU at this moment. */
#include "lib/watcher.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

/* What surrounds the process takes up to a millisecond to read (the driver, a machine of many
 * processors): it is read again after so many times what that took, but after MOST_REST at last. */
#define REST 5000u
#define MOST_REST UINT64_C(5000000000)

static double host_bytes(tidemark_watcher *w)
{
    struct proc_status s;
    if (!w->self || proc_read_status(w->self, &s) < 0)
        return NAN;
    return s.anon + (s.swap > 0 ? s.swap : 0);
}

static double system_used(void)
{
    struct proc_meminfo m;
    if (proc_meminfo_read("/proc", &m) < 0)
        return NAN;
    return (m.total - m.available) / m.total;
}

/* Since the call before; within one tick of the kernel nothing can be said. */
static double cpu_used(tidemark_watcher *w)
{
    struct proc_cpu now;
    if (proc_cpu_read("/proc", &now) < 0)
        return NAN;
    double busy = now.busy - w->cpu.busy, total = now.total - w->cpu.total;
    if (!(total > 0))
        return NAN;
    w->cpu = now;
    return fmin(fmax(busy / total, 0), 1);
}

static void look_around(tidemark_watcher *w)
{
    uint64_t begin = wire_now();
    if (begin < w->next_surroundings)
        return;
    struct surroundings *s = &w->surroundings;
    double cpu = cpu_used(w);
    s->cpu_used = isnan(cpu) ? s->cpu_used : cpu;
    s->system_used = system_used();
    watch_sample_gpu(w->watch, getpid(), &s->gpu_bytes, &s->gpu_used);
    uint64_t end = wire_now(), rest = REST * (end - begin);
    w->next_surroundings = end + (rest < MOST_REST ? rest : MOST_REST);
}

static int look(tidemark_watcher *w, struct visit *v, void *context)
{
    (void) v;
    look_around(w);
    const struct surroundings *s = &w->surroundings;
    struct tidemark_now now = {
        .size = sizeof(now),
        .step = w->step,
        .epochs = w->epochs,
        .host_bytes = host_bytes(w),
        .gpu_bytes = s->gpu_bytes,
        .system_used = s->system_used,
        .cpu_used = s->cpu_used,
        .gpu_used = s->gpu_used,
    };
    return answer_copy(context, &now);
}

int tidemark_look(tidemark_watcher *w, struct tidemark_now *ret)
{
    return ret ? watcher_visit(w, look, ret) : -EINVAL;
}
