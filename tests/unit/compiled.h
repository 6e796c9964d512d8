/* tests/unit/compiled.h: real ELF files, made by the compiler while the test runs. */
#ifndef TIDEMARK_TEST_COMPILED_H
#define TIDEMARK_TEST_COMPILED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder in /tmp. Every command runs in it. */
struct compiled {
    char folder[32];
    char path[96]; /* of the last compiled_path() */
};

static inline bool compiled_run(const struct compiled *c, const char *command)
{
    char line[1024];
    int length = snprintf(line, sizeof line, "cd %s && (%s) >log 2>&1", c->folder, command);
    return length > 0 && (size_t) length < sizeof line && system(line) == 0;
}

static inline bool compiled_write(const struct compiled *c, const char *name, const void *bytes,
                                  size_t size)
{
    char path[96];
    snprintf(path, sizeof path, "%s/%s", c->folder, name);
    FILE *file = fopen(path, "we");
    bool written = file && fwrite(bytes, 1, size, file) == size;
    return file && fclose(file) == 0 && written;
}

static inline bool compiled_begin(struct compiled *c)
{
    snprintf(c->folder, sizeof c->folder, "/tmp/tidemark-elf-XXXXXX");
    return mkdtemp(c->folder) && chmod(c->folder, 0755) == 0;
}

static inline void compiled_end(struct compiled *c)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", c->folder);
    if (system(command) != 0)
        printf("  %s is left behind\n", c->folder);
}

static inline const char *compiled_path(struct compiled *c, const char *name)
{
    snprintf(c->path, sizeof c->path, "%s/%s", c->folder, name);
    return c->path;
}

/* The whole file; the caller frees it. NULL: there is none. */
static inline uint8_t *compiled_bytes(struct compiled *c, const char *name, size_t *ret_size)
{
    FILE *file = fopen(compiled_path(c, name), "re");
    uint8_t *bytes = file ? malloc(8 << 20) : NULL;
    *ret_size = bytes ? fread(bytes, 1, 8 << 20, file) : 0;
    if (file)
        fclose(file);
    return bytes;
}

/* Where a symbol of an unstripped file begins, and its size. False: it is not there. */
static inline bool compiled_symbol(const struct compiled *c, const char *file, const char *name,
                                   uint64_t *ret_start, uint64_t *ret_size)
{
    char command[256], line[512], found[256];
    unsigned long start, size;
    bool is_found = false;
    *ret_start = *ret_size = 0;
    snprintf(command, sizeof command, "nm -S %s/%s 2>/dev/null", c->folder, file);
    FILE *symbols = popen(command, "re");
    while (symbols && fgets(line, sizeof line, symbols))
        if (!is_found && sscanf(line, "%lx %lx %*c %255s", &start, &size, found) == 3 &&
            strcmp(found, name) == 0) {
            *ret_start = start;
            *ret_size = size;
            is_found = true;
        }
    if (symbols)
        pclose(symbols);
    return is_found;
}

#endif
