/* tests/fuzz/fuzz_quantity.c: any bytes as a number with a unit. */
#include "base/base.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct quantity q;
    if (quantity_parse((const char *) data, size, &q) < 0)
        return 0;
    if (!isfinite(q.value) || q.length == 0 || q.length > size || !(q.resolution >= 0))
        abort();
    /* The consumed part alone must parse to the same value. */
    struct quantity again;
    if (quantity_parse((const char *) data, q.length, &again) < 0 || again.value != q.value ||
        again.length != q.length)
        abort();
    return 0;
}
