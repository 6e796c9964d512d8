/* tests/fuzz/fuzz_input.c: any bytes as a file to analyse; the first byte chooses the options. */
#include "input/input.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether each series is open. */
struct checker {
    int count;
    unsigned char open[1 << 16];
};

static void check_open(const struct checker *c, int series)
{
    if (series < 0 || series >= c->count || !c->open[series])
        abort();
}

static int on_series(void *context, const struct series_info *info, const struct input_hints *hints)
{
    struct checker *c = context;
    if (!info->name || !info->kind || !info->name[0] || !(info->resolution >= 0))
        abort();
    if (!(hints->epoch_length >= 0) || !(hints->horizon >= 0) || !(hints->limit >= 0))
        abort();
    if (c->count == (int) sizeof c->open)
        return -1;
    c->open[c->count] = 1;
    return c->count++;
}

static int on_sample(void *context, int series, double step, double seconds, double value)
{
    check_open(context, series);
    if (!isfinite(value) || (!isfinite(step) && !isfinite(seconds)) || isinf(step) ||
        isinf(seconds))
        abort();
    return 0;
}

static int on_epoch(void *context, int series, double at)
{
    check_open(context, series);
    if (!isfinite(at))
        abort();
    return 0;
}

static int on_restart(void *context, int series)
{
    check_open(context, series);
    return 0;
}

static int on_end(void *context, int series)
{
    struct checker *c = context;
    check_open(c, series);
    c->open[series] = 0;
    return 0;
}

static void check_summary(const struct input *in, int result)
{
    const struct input_summary *s = input_summary(in);
    if (result == -22 && !s->error[0])
        abort();
    if (s->skipped > 0 && !s->skip_reason[0])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct checker checker;
    memset(&checker, 0, sizeof checker);
    uint8_t choice = size > 0 ? data[0] : 0;
    struct input_options options = {
        .batch = choice & 1,
        .clock = (choice & 6) == 6 ? 2 : 0,
        .value_columns = choice & 8 ? "2,mem" : NULL,
        .unit = choice & 16 ? "GB" : NULL,
        .follow = choice & 32,
    };
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || (size > 1 && write(fd, data + 1, size - 1) != (ssize_t) (size - 1)))
        abort();
    if (lseek(fd, 0, SEEK_SET) != 0)
        abort();
    struct input_sink sink = {&checker, on_series, on_sample, on_epoch, on_restart, on_end};
    struct input *in;
    if (input_new(fd, &options, &sink, &in) < 0)
        abort();
    int r = input_read(in);
    if (r == 0)
        r = input_finish(in);
    for (int i = 0; r == 0 && i < checker.count; i++) {
        if (checker.open[i])
            abort();
    }
    check_summary(in, r);
    input_free(in);
    close(fd);
    return 0;
}
