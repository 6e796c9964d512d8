/* cli/output.c: where a command writes what was asked for: a file, or standard output. */
#include "cli/output.h"

#include "cli/cli.h"
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool output_is_same(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

int output_open(struct output *o, const char *name, const char *source)
{
    *o = (struct output){NULL, STDOUT_FILENO};
    if (!name || strcmp(name, "-") == 0)
        return 0;
    if (output_is_same(name, source)) {
        cli_say("%s: is the run file itself: choose another name", name);
        return -EEXIST;
    }
    *o = (struct output){name, open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    if (o->fd >= 0)
        return 0;
    int error = errno;
    cli_say("%s: cannot be written: %s", name, error_words(error));
    return -error;
}

int output_write(struct output *o, struct buf *text)
{
    if (!o->name)
        return terminal_write(text);
    for (size_t done = 0; done < text->len;) {
        ssize_t n = write(o->fd, text->text + done, text->len - done);
        if (n < 0 && errno != EINTR) {
            int error = errno;
            cli_say("%s: %s", o->name, error_words(error));
            return -error;
        }
        done += n > 0 ? (size_t) n : 0;
    }
    buf_clear(text);
    return 0;
}

int output_close(struct output *o)
{
    if (!o->name || close(o->fd) == 0)
        return 0;
    int error = errno;
    cli_say("%s: %s", o->name, error_words(error));
    return -error;
}

int output_put(const char *name, const char *source, struct buf *text)
{
    struct output o;
    int r = output_open(&o, name, source);
    if (r < 0)
        return r;
    r = output_write(&o, text);
    int closed = output_close(&o);
    return r < 0 ? r : closed;
}

void output_add_name(struct buf *out, const char *source, const char *ending)
{
    size_t len = strlen(source);
    bool has_ending = len > 5 && strcmp(source + len - 5, ".tide") == 0;
    buf_add(out, source, has_ending ? len - 5 : len);
    buf_adds(out, ending);
}
