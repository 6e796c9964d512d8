/* tests/fuzz/fuzz_progress.c: any bytes as a program's output; the first byte chooses the size
 * of the pieces and whether a pattern is given. */
#include "input/input.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_mark(const struct progress_mark *mark, const struct progress_mark *before)
{
    if (isnan(mark->step) && isnan(mark->epoch))
        abort();
    if ((mark->step < before->step || mark->epoch < before->epoch) && !mark->restarted)
        abort();
    if (isnan(mark->step) && isfinite(before->step))
        abort();
    if (isinf(mark->step) || isinf(mark->epoch) || isinf(mark->epoch_length) || isinf(mark->total))
        abort();
    if (mark->step < 0 || mark->epoch_length < 0 || mark->epoch < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t choice = size > 0 ? data[0] : 0;
    size_t piece = choice & 127 ? choice & 127 : size;
    char error[160];
    struct progress *p;
    if (progress_new(choice & 128 ? "s([0-9.]+) ?([0-9.]*)" : NULL, error, &p) < 0)
        abort();
    struct progress_mark last = {.step = NAN, .epoch = NAN};
    for (size_t at = 1; at < size; at += piece) {
        struct progress_mark mark;
        size_t len = size - at < piece ? size - at : piece;
        if (!progress_feed(p, (const char *) data + at, len, &mark))
            continue;
        check_mark(&mark, &last);
        last = mark;
    }
    progress_free(p);
    return 0;
}
