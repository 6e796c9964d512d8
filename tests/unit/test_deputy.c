/* tests/unit/test_deputy.c: file work with another process's rights, here with our own. */
#include "deputy/deputy.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts a process to act for. */
static pid_t start(void)
{
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

TEST(deputy__a_child_of_ours_is_not_foreign)
{
    pid_t child = start();
    struct deputy *d = NULL;
    CHECK(deputy_new(child, &d, NULL) == 0);
    CHECK(d && !deputy_is_foreign(d) && deputy_uid(d) == geteuid());
    deputy_free(d);
    end(child);
}

TEST(deputy__who_has_ended_has_none)
{
    pid_t child = start();
    struct deputy *d = NULL;
    struct buf why = BUF_INIT;
    end(child);
    CHECK(deputy_new(child, &d, &why) == -ESRCH);
    CHECK(d == NULL && strstr(buf_text(&why), "has ended"));
    buf_release(&why);
}

TEST(deputy__makes_a_folder_with_a_fifo_and_removes_it_with_all_that_is_in_it)
{
    pid_t child = start();
    struct deputy *d = NULL;
    struct deputy_folder f = DEPUTY_FOLDER_NONE;
    struct stat st;
    CHECK(deputy_new(child, &d, NULL) == 0);
    CHECK(deputy_make_folder(d, "wake", &f) == 0);
    CHECK(stat(f.path, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0777) == 0700);
    CHECK(st.st_ino == f.st.st_ino && deputy_sees(d, f.path, &st) == 1);
    CHECK(deputy_has_reader(d, f.path, "wake"));
    CHECK(!deputy_has_reader(d, f.path, "other"));
    CHECK(!deputy_has_reader(d, "relative", "wake"));
    for (unsigned i = 0; i < 500; i++) {
        char name[32];
        snprintf(name, sizeof name, "file-%u", i);
        int fd = openat(f.directory, name, O_CREAT | O_WRONLY, 0600);
        CHECK(fd >= 0);
        close(fd);
    }
    char path[DEPUTY_PATH];
    snprintf(path, sizeof path, "%s", f.path);
    deputy_remove_folder(d, &f);
    CHECK(f.place == -1 && stat(path, &st) < 0 && errno == ENOENT);
    deputy_remove_folder(d, &f); /* a second call does nothing */
    deputy_free(d);
    end(child);
}

TEST(deputy__a_fifo_without_a_reader_has_none)
{
    pid_t child = start();
    struct deputy *d = NULL;
    struct deputy_folder f = DEPUTY_FOLDER_NONE;
    CHECK(deputy_new(child, &d, NULL) == 0 && deputy_make_folder(d, "wake", &f) == 0);
    close(f.fifo);
    close(f.fifo_held);
    f.fifo = f.fifo_held = -1;
    CHECK(!deputy_has_reader(d, f.path, "wake"));
    CHECK(unlinkat(f.directory, "wake", 0) == 0 &&
          symlinkat("/dev/zero", f.directory, "wake") == 0);
    CHECK(!deputy_has_reader(d, f.path, "wake"));
    deputy_remove_folder(d, &f);
    deputy_free(d);
    end(child);
}

TEST(deputy__copies_a_file_to_the_byte)
{
    pid_t child = start();
    struct deputy *d = NULL;
    struct deputy_copy c = DEPUTY_COPY_NONE;
    struct stat from, to;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK(deputy_new(child, &d, NULL) == 0 && deputy_copy(d, fd, "copy.so", &c) == 0);
    CHECK(fstat(fd, &from) == 0 && stat(c.path, &to) == 0 && from.st_size == to.st_size);
    CHECK((to.st_mode & 0777) == 0500);
    char path[sizeof c.path];
    memcpy(path, c.path, sizeof path);
    deputy_remove_copy(d, &c);
    CHECK(stat(path, &to) < 0);
    close(fd);
    deputy_free(d);
    end(child);
}

TEST(deputy__reads_regular_files_up_to_their_bound_and_nothing_else)
{
    pid_t child = start();
    struct deputy *d = NULL;
    char path[] = "/tmp/test_deputy-XXXXXX", *text = NULL;
    size_t len = 0;
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, "history.append(1)\n", 18) == 18);
    CHECK(deputy_new(child, &d, NULL) == 0);
    CHECK(deputy_read(d, path, 18, &text, &len) == 0 && len == 18 &&
          strcmp(text, "history.append(1)\n") == 0);
    free(text);
    text = NULL;
    CHECK(deputy_read(d, path, 17, &text, &len) == -EINVAL);
    CHECK(deputy_read(d, "/dev/zero", 100, &text, &len) == -EINVAL);
    CHECK(deputy_read(d, "/tmp", 100, &text, &len) == -EINVAL);
    CHECK(deputy_read(d, "/nonexistent", 100, &text, &len) == -ENOENT);
    CHECK(text == NULL);
    deputy_free(d);
    close(fd);
    unlink(path);
    end(child);
}

TEST(deputy__opens_regular_files_of_a_process_for_reading)
{
    char path[] = "/tmp/test_deputy-XXXXXX", byte = 0;
    int fd = mkstemp(path), null = open("/dev/null", O_PATH | O_CLOEXEC);
    CHECK(fd >= 0 && write(fd, "x", 1) == 1 && null >= 0);
    pid_t child = start(); /* the child inherits both */
    struct deputy *d = NULL;
    CHECK(deputy_new(child, &d, NULL) == 0);
    int got = deputy_open(d, fd);
    CHECK(got >= 0 && pread(got, &byte, 1, 0) == 1 && byte == 'x' && write(got, "y", 1) < 0);
    close(got);
    CHECK(deputy_open(d, null) == -EINVAL);
    CHECK(deputy_open(d, 1000) == -ENOENT);
    end(child);
    CHECK(deputy_open(d, fd) < 0);
    deputy_free(d);
    close(null);
    close(fd);
    unlink(path);
}

/* Starts a process that stops every child of its parent but itself and `spared`, as their own
 * user may. */
static pid_t start_stopper(pid_t spared)
{
    pid_t parent = getpid(), child = fork();
    if (child != 0)
        return child;
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int) parent, (int) parent);
    for (;;) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
        text[n > 0 ? n : 0] = '\0';
        close(fd);
        for (char *at = text, *next; *at; at = next) {
            pid_t pid = (pid_t) strtol(at, &next, 10);
            if (next == at)
                break;
            if (pid > 0 && pid != getpid() && pid != spared)
                kill(pid, SIGSTOP);
        }
    }
}

TEST(deputy__one_that_is_stopped_is_given_up)
{
    pid_t child = start();
    struct deputy *d = NULL;
    CHECK(deputy_new(child, &d, NULL) == 0);
    pid_t stopper = start_stopper(child);
    int r = 0;
    for (unsigned i = 0; i < 10000 && r != -ETIMEDOUT; i++) {
        struct deputy_folder f = DEPUTY_FOLDER_NONE;
        r = deputy_make_folder(d, "wake", &f);
        if (r == 0)
            deputy_remove_folder(d, &f);
    }
    CHECK(r == -ETIMEDOUT);
    end(stopper);
    deputy_free(d);
    end(child);
}
