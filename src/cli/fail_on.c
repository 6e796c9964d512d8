/* cli/fail_on.c: --fail-on: which verdicts change the exit status. */
#include "cli/fail_on.h"

#include "cli/cli.h"

#include <errno.h>
#include <string.h>

static int parse_severity(const char *text, size_t len, enum severity *ret)
{
    for (int i = SEVERITY_NEGLIGIBLE; i <= SEVERITY_HIGH; i++) {
        const char *name = severity_name((enum severity) i);
        if (strlen(name) == len && memcmp(name, text, len) == 0) {
            *ret = (enum severity) i;
            return 0;
        }
    }
    return -EINVAL;
}

int fail_on_parse(const char *text, void *target)
{
    struct fail_on *f = target;
    for (const char *s = text;; s++) {
        size_t len = strcspn(s, ",");
        if (len == strlen("inconclusive") && memcmp(s, "inconclusive", len) == 0) {
            f->inconclusive = true;
        } else if (len >= 4 && memcmp(s, "leak", 4) == 0 && (len == 4 || s[4] == ':')) {
            f->leak = true;
            f->least = SEVERITY_LOW;
            if (len > 4 && parse_severity(s + 5, len - 5, &f->least) < 0)
                return -EINVAL;
        } else {
            return -EINVAL;
        }
        s += len;
        if (!*s)
            return 0;
    }
}

int fail_on_status(const struct fail_on *f, enum verdict verdict, enum severity severity)
{
    if (f->leak && verdict == VERDICT_LEAK && severity >= f->least)
        return STATUS_BROKEN;
    if (f->inconclusive && verdict == VERDICT_INCONCLUSIVE)
        return STATUS_OPEN;
    return STATUS_FINE;
}
