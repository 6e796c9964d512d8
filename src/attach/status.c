/* attach/status.c: the fields of /proc/PID/status and /proc/PID/stat that decide whether to
 * attach. */
#include "attach/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BITS_BASE 16

static void parse_ids(const char *text, long ret[4])
{
    char *end = (char *) text;
    for (unsigned i = 0; i < 4; i++)
        ret[i] = strtol(end, &end, 10);
}

/* "NSpid: 4711 12 1": one pid per namespace, the innermost last. */
static void parse_own_pid(const char *text, struct status *s)
{
    char *end = (char *) text;
    while (*end == ' ' || *end == '\t' || (*end >= '0' && *end <= '9')) {
        char *before = end;
        long pid = strtol(before, &end, 10);
        if (end == before)
            break;
        s->own_pid = (pid_t) pid;
        s->depth++;
    }
}

static void parse_name(const char *text, char ret[32])
{
    while (*text == ' ' || *text == '\t')
        text++;
    snprintf(ret, 32, "%.*s", (int) strcspn(text, "\n"), text);
    for (char *c = ret; *c; c++) /* a process chooses its own name */
        if ((unsigned char) *c < ' ' || (unsigned char) *c >= 0x7f)
            *c = '?';
}

static void parse_field(const char *key, size_t len, const char *value, struct status *s)
{
#define IS(word) (len == sizeof(word) - 1 && memcmp(key, word, len) == 0)
    if (IS("Name"))
        parse_name(value, s->name);
    else if (IS("State"))
        s->state = value[strspn(value, " \t")];
    else if (IS("PPid"))
        s->parent = atoi(value);
    else if (IS("TracerPid"))
        s->tracer = atoi(value);
    else if (IS("NSpid"))
        parse_own_pid(value, s);
    else if (IS("Seccomp"))
        s->seccomp = atoi(value);
    else if (IS("Seccomp_filters"))
        s->filters = atoi(value);
    else if (IS("Uid"))
        parse_ids(value, s->uid);
    else if (IS("Gid"))
        parse_ids(value, s->gid);
    else if (IS("CapEff"))
        s->capabilities = strtoull(value, NULL, BITS_BASE);
    else if (IS("SigCgt"))
        s->caught = strtoull(value, NULL, BITS_BASE);
    else if (IS("Kthread"))
        s->is_kernel_thread = atoi(value) == 1;
#undef IS
}

void status_parse(const char *text, struct status *ret)
{
    *ret = (struct status){.filters = -1, .uid = {-1, -1, -1, -1}, .gid = {-1, -1, -1, -1}};
    while (*text) {
        const char *newline = strchrnul(text, '\n');
        const char *colon = memchr(text, ':', (size_t) (newline - text));
        if (colon)
            parse_field(text, (size_t) (colon - text), colon + 1, ret);
        text = *newline ? newline + 1 : newline;
    }
}

/* Skips the name, which may contain anything, even spaces. */
static const char *field_of(const char *stat, unsigned wanted)
{
    const char *at = strrchr(stat, ')');
    for (unsigned field = 2; at && field < wanted; field++)
        at = strchr(at + 1, ' ');
    return at;
}

static unsigned long long number_of(const char *stat, unsigned wanted)
{
    const char *at = field_of(stat, wanted);
    return at ? strtoull(at, NULL, 10) : 0;
}

unsigned long long status_start_time(const char *stat)
{
    return number_of(stat, 22);
}

unsigned long long status_program(const char *stat)
{
    static const unsigned fields[] = {26, 27, 28, 45, 46};
    unsigned long long sum = 0;
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++)
        sum = (sum ^ number_of(stat, fields[i])) * 0x9e3779b97f4a7c15u;
    return sum;
}
