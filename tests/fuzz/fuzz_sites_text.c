/* tests/fuzz/fuzz_sites_text.c: any bytes as the sites of a process in a run file: they are
 * refused, or every report of them can be written, and keeping them again changes nothing. */
#include "sites_checks.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sites *s;
    if (sites_parse((const char *) data, size, &s) < 0)
        return 0;
    check_sites(s);
    check_text(s);
    export_sites(s);
    sites_free(s);
    return 0;
}
