/* tests/unit/trace_file.h: a trace file in memory, made sample by sample. */
#ifndef TIDEMARK_TEST_TRACE_FILE_H
#define TIDEMARK_TEST_TRACE_FILE_H

#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)
#define TRACE_ORIGIN (100 * SECOND)

static inline uint64_t trace_time(double second)
{
    return TRACE_ORIGIN + (uint64_t) (second * 1e9);
}

/* Began and armed at second 1. */
static inline struct wire_trace_layout *trace_file_new(uint64_t interval)
{
    struct wire_trace_layout *t = NULL;
    if (posix_memalign((void **) &t, 4096, sizeof(*t)) != 0)
        abort();
    memset(t, 0, sizeof(*t));
    t->version = WIRE_TRACE_VERSION;
    t->start = 77;
    t->began = trace_time(1);
    t->armed_at = trace_time(1);
    t->interval = interval;
    t->text_used = 1;
    t->frames_used = 1;
    t->magic = WIRE_TRACE_MAGIC;
    return t;
}

static inline uint32_t trace_text(struct wire_trace_layout *t, const char *text)
{
    uint32_t at = t->text_used;
    strcpy(t->text + at, text);
    t->text_used += (uint32_t) strlen(text) + 1;
    return at;
}

/* The word of a Python frame. */
static inline uint64_t trace_python(struct wire_trace_layout *t, const char *name, const char *file,
                                    uint32_t line)
{
    uint64_t i = 0;
    while (t->functions[i].ready && strcmp(t->text + t->functions[i].name, name) != 0)
        i++;
    struct wire_trace_function *f = &t->functions[i];
    if (!f->ready)
        *f = (struct wire_trace_function){
            .key = i + 1, .name = trace_text(t, name), .file = trace_text(t, file), .ready = 1};
    return WIRE_TRACE_PYTHON_FRAME | i << WIRE_TRACE_FUNCTION_SHIFT | line;
}

/* The word of a native frame. */
static inline uint64_t trace_native(struct wire_trace_layout *t, const char *path, uint64_t offset)
{
    uint64_t i = 0;
    while (t->modules[i].ready && strcmp(t->modules[i].path, path) != 0)
        i++;
    struct wire_trace_module *m = &t->modules[i];
    m->start = 4096 * (i + 1);
    snprintf(m->path, sizeof(m->path), "%s", path);
    m->ready = 1;
    return i << WIRE_TRACE_MODULE_SHIFT | offset;
}

static inline uint32_t trace_stack(struct wire_trace_layout *t, enum wire_trace_kind kind,
                                   const uint64_t *words, uint16_t depth)
{
    uint32_t i = 0;
    while (t->stacks[i].ready)
        i++;
    t->stacks[i] = (struct wire_trace_stack){.hash = i + 1,
                                             .frames = t->frames_used,
                                             .depth = depth,
                                             .kind = (uint8_t) kind,
                                             .ready = 1};
    memcpy(t->frames + t->frames_used, words, depth * sizeof(*words));
    t->frames_used += depth;
    return i;
}

static inline void trace_seal(struct wire_trace_layout *t, size_t slot)
{
    struct wire_trace_sample *s = &t->live_samples[slot];
    s->check = wire_trace_check(t->addresses[slot], s);
}

/* Returns the slot. */
static inline size_t trace_sample(struct wire_trace_layout *t, uint32_t stack, uint64_t size,
                                  double weight, double second)
{
    size_t i = 0;
    while (t->addresses[i])
        i++;
    t->live_samples[i] = (struct wire_trace_sample){
        .size = size,
        .weight = (float) weight,
        .stack = stack,
        .birth = (uint32_t) ((second - 1) / 0.01 + 0.5),
    };
    t->addresses[i] = 4096 + 16 * i;
    trace_seal(t, i);
    if (stack < WIRE_TRACE_STACKS) {
        t->stacks[stack].samples++;
        t->stacks[stack].bytes += (uint64_t) weight;
    }
    t->samples++;
    return i;
}

/* Adds a block to the list; its recording began at second 2. */
static inline void trace_block(struct wire_trace_layout *t, uint32_t stack, uint64_t size,
                               double second)
{
    struct wire_trace_blocks *b = &t->blocks;
    b->list[b->count++] =
        (struct wire_trace_block){.size = size,
                                  .weight = (float) size,
                                  .stack = stack,
                                  .birth = (uint32_t) ((second - 1) / 0.01 + 0.5)};
    b->armed_at = trace_time(2);
    b->moment = trace_time(second);
    b->lists++;
}

static inline void trace_free(struct wire_trace_layout *t, size_t slot)
{
    t->addresses[slot] = 0;
}

#endif
