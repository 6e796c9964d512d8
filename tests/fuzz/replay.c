/* tests/fuzz/replay.c: feeds files to a fuzz target, for builds without libFuzzer. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long inputs;

/* Copies the bytes to a buffer of their exact size, so that a sanitizer sees a read past the
 * end. */
static int replay_file(FILE *file)
{
    size_t len = 0, cap = 1 << 16;
    char *data = malloc(cap);
    while (data && !feof(file) && !ferror(file)) {
        len += fread(data + len, 1, cap - len, file);
        if (len < cap)
            continue;
        cap *= 2;
        char *more = realloc(data, cap);
        if (!more)
            free(data);
        data = more;
    }
    uint8_t *exact = data ? malloc(len ? len : 1) : NULL;
    int r = !exact ? -ENOMEM : ferror(file) ? -EIO : 0;
    if (r == 0) {
        memcpy(exact, data, len);
        LLVMFuzzerTestOneInput(exact, len);
        inputs++;
    }
    free(exact);
    free(data);
    return r;
}

static int replay(const char *path);

static int replay_directory(const char *path, DIR *directory)
{
    int r = 0;
    for (struct dirent *entry; r == 0 && (entry = readdir(directory));) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        int len = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        r = len < (int) sizeof name ? replay(name) : -ENAMETOOLONG;
    }
    return r;
}

static int replay(const char *path)
{
    DIR *directory = opendir(path);
    if (directory) {
        int r = replay_directory(path, directory);
        closedir(directory);
        return r;
    }
    /* Printed first, because a sanitizer ends the program. */
    fprintf(stderr, "%s\n", path);
    FILE *file = fopen(path, "rb");
    int r = file ? replay_file(file) : -errno;
    if (file)
        fclose(file);
    if (r < 0)
        fprintf(stderr, "cannot be read: %s\n", strerror(-r));
    return r;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (replay(argv[i]) < 0)
            return 1;
    }
    printf("%lu inputs replayed\n", inputs);
    return inputs == 0;
}
