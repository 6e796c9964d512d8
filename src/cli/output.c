/* cli/output.c: where a command writes what was asked for: a file, or standard output. */
#include "cli/output.h"

#include "cli/cli.h"
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool output_is_same(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

static int say_unwritable(const char *name, int error)
{
    cli_say("%s: cannot be written: %s", name, error_words(error));
    return -error;
}

/* Opens a file beside the wanted one, to take its place later. False: the folder does not allow
 * that. */
static bool open_draft(struct output *o, const struct stat *former)
{
    struct buf draft = BUF_INIT;
    buf_addf(&draft, "%s.XXXXXX", o->name);
    o->draft = strdup(buf_text(&draft));
    buf_release(&draft);
    if (!o->draft)
        base_out_of_memory();
    o->fd = mkostemp(o->draft, O_CLOEXEC);
    if (o->fd >= 0 && (!former || (fchown(o->fd, former->st_uid, former->st_gid) == 0 &&
                                   fchmod(o->fd, former->st_mode & 07777) == 0)))
        return true;
    if (o->fd >= 0) {
        unlink(o->draft);
        close(o->fd);
    }
    free(o->draft);
    o->draft = NULL;
    return false;
}

/* Links (/dev/stdout is one), pipes and devices are written in place. */
static int open_file(struct output *o)
{
    struct stat st;
    bool exists = lstat(o->name, &st) == 0;
    if (exists && S_ISREG(st.st_mode) && access(o->name, W_OK) < 0)
        return -errno;
    bool may_draft = !exists || S_ISREG(st.st_mode);
    if (!may_draft || !open_draft(o, exists ? &st : NULL))
        o->fd = open(o->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return o->fd < 0 ? -errno : 0;
}

int output_open(struct output *o, const char *name, const char *source)
{
    *o = (struct output){.fd = STDOUT_FILENO};
    if (!name || strcmp(name, "-") == 0)
        return 0;
    if (output_is_same(name, source)) {
        cli_say("%s: is the run file itself: choose another name", name);
        return -EEXIST;
    }
    o->name = name;
    int r = open_file(o);
    return r < 0 ? say_unwritable(name, -r) : 0;
}

int output_write(struct output *o, struct buf *text)
{
    if (!o->name)
        return terminal_write(text);
    for (size_t done = 0; done < text->len;) {
        ssize_t n = write(o->fd, text->text + done, text->len - done);
        if (n < 0 && errno != EINTR) {
            int error = errno;
            o->failed = true;
            cli_say("%s: %s", o->name, error_words(error));
            return -error;
        }
        done += n > 0 ? (size_t) n : 0;
    }
    buf_clear(text);
    return 0;
}

/* The draft becomes the file, or goes. */
static int settle(struct output *o)
{
    int r = 0;
    if (o->draft && (o->failed || rename(o->draft, o->name) < 0)) {
        r = o->failed ? 0 : -errno;
        unlink(o->draft);
    }
    free(o->draft);
    return r;
}

int output_close(struct output *o)
{
    if (!o->name)
        return 0;
    int r = close(o->fd) < 0 ? -errno : 0;
    o->failed = o->failed || r < 0;
    int settled = settle(o);
    r = r < 0 ? r : settled;
    if (r < 0)
        cli_say("%s: %s", o->name, error_words(-r));
    return r;
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
