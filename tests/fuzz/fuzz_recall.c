/* tests/fuzz/fuzz_recall.c: any bytes as a kept report: it is refused, or every report of it can
 * be written and keeping it again changes nothing. */
#include "report/report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_reports(const struct view *v)
{
    static const struct report_style styles[] = {{80, true, false, true}, {40, false, true, false}};
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        report_run_text(&out, v, NULL, &styles[i]);
        report_run_headline(&out, v, &styles[i]);
    }
    report_run_json(&out, v);
    buf_release(&out);
}

static void keep_again(const struct view *v)
{
    struct buf kept = BUF_INIT, again = BUF_INIT;
    struct view recalled;
    report_keep(&kept, v);
    if (report_recall(buf_text(&kept), kept.len, &recalled) < 0)
        abort();
    report_keep(&again, &recalled);
    if (again.len != kept.len || memcmp(buf_text(&again), buf_text(&kept), kept.len) != 0)
        abort();
    view_release(&recalled);
    buf_release(&kept);
    buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view v;
    if (report_recall((const char *) data, size, &v) < 0)
        return 0;
    write_reports(&v);
    keep_again(&v);
    view_release(&v);
    return 0;
}
