/* lib/look.c: what a line about this moment is made of. */
#include "lib/watcher.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

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

int tidemark_look(tidemark_watcher *w, struct tidemark_now *ret)
{
    struct visit v;
    int r = ret ? visit_begin(w, &v) : -EINVAL;
    if (r < 0)
        return r;
    struct tidemark_now now = {
        .size = sizeof(now),
        .step = w->step,
        .epochs = w->epochs,
        .host_bytes = host_bytes(w),
        .system_used = system_used(),
        .cpu_used = cpu_used(w),
    };
    watch_look_at_gpu(w->watch, getpid(), &now.gpu_bytes, &now.gpu_used);
    return visit_end(w, &v, answer_copy(ret, &now));
}
