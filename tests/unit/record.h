/* tests/unit/record.h: a sink that remembers what a reader delivered. */
#ifndef TIDEMARK_UNIT_RECORD_H
#define TIDEMARK_UNIT_RECORD_H

#include "input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORD_SERIES 16
#define RECORD_SAMPLES 64
#define MB 0x1p20

struct recorded {
    char name[160], kind[32], device[64];
    int64_t pid;
    enum series_unit unit;
    enum series_clock clock;
    double resolution;
    struct input_hints hints;
    size_t count, epochs, restarts;
    double step[RECORD_SAMPLES], seconds[RECORD_SAMPLES], value[RECORD_SAMPLES];
    double epoch_at[RECORD_SAMPLES];
    bool ended;
};

struct record {
    struct recorded series[RECORD_SERIES];
    int count;
    int fail_sample; /* what the sink answers to a sample */
    int result;      /* of input_read() or input_finish() */
    struct input_summary summary;
};

static int record_series(void *context, const struct series_info *info,
                         const struct input_hints *hints)
{
    struct record *record = context;
    if (record->count == RECORD_SERIES)
        return -ENOSPC;
    struct recorded *s = &record->series[record->count];
    snprintf(s->name, sizeof s->name, "%s", info->name);
    snprintf(s->kind, sizeof s->kind, "%s", info->kind);
    snprintf(s->device, sizeof s->device, "%s", info->device ? info->device : "");
    s->pid = info->pid;
    s->unit = info->unit;
    s->clock = info->clock;
    s->resolution = info->resolution;
    s->hints = *hints;
    return record->count++;
}

static int record_sample(void *context, int series, double step, double seconds, double value)
{
    struct record *record = context;
    struct recorded *s = &record->series[series];
    if (s->count < RECORD_SAMPLES) {
        s->step[s->count] = step;
        s->seconds[s->count] = seconds;
        s->value[s->count] = value;
    }
    s->count++;
    return record->fail_sample;
}

static int record_epoch(void *context, int series, double at)
{
    struct recorded *s = &((struct record *) context)->series[series];
    if (s->epochs < RECORD_SAMPLES)
        s->epoch_at[s->epochs] = at;
    s->epochs++;
    return 0;
}

static int record_restart(void *context, int series)
{
    ((struct record *) context)->series[series].restarts++;
    return 0;
}

static int record_end(void *context, int series)
{
    ((struct record *) context)->series[series].ended = true;
    return 0;
}

/* Reads a whole descriptor, and closes it. The answer is valid until the next call. */
static struct record *record_fd(int fd, const struct input_options *options, int fail_sample)
{
    static struct record record;
    static const struct input_options none;
    memset(&record, 0, sizeof record);
    record.fail_sample = fail_sample;
    struct input_sink sink = {&record,      record_series,  record_sample,
                              record_epoch, record_restart, record_end};
    struct input *in;
    record.result = input_new(fd, options ? options : &none, &sink, &in);
    if (record.result == 0)
        record.result = input_read(in);
    if (record.result == 0)
        record.result = input_finish(in);
    record.summary = *input_summary(in);
    input_free(in);
    close(fd);
    return &record;
}

static inline struct record *record_bytes(const char *text, size_t len,
                                          const struct input_options *options)
{
    int fd = memfd_create("record", MFD_CLOEXEC);
    if (fd < 0 || write(fd, text, len) != (ssize_t) len || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    return record_fd(fd, options, 0);
}

static inline struct record *record_text(const char *text)
{
    return record_bytes(text, strlen(text), NULL);
}

static inline struct record *record_with(const char *text, struct input_options options)
{
    return record_bytes(text, strlen(text), &options);
}

/* A file of tests/data, found beside this one. */
static inline struct record *record_data(const char *name)
{
    char path[4096];
    const char *slash = strrchr(__FILE__, '/');
    snprintf(path, sizeof path, "%.*s/../data/%s", slash ? (int) (slash - __FILE__) : 1,
             slash ? __FILE__ : ".", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        perror(path);
        abort();
    }
    return record_fd(fd, NULL, 0);
}

#endif
