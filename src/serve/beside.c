/* serve/beside.c: a server beside a watcher, in a process of its own. */
#include "serve/process.h"
#include "serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NICER 10

/* Reads the run file's path, which ends with a NUL: other processes may have the pipe open too. */
static bool read_path(int fd, char path[PATH_MAX])
{
    size_t len = 0;
    while (len < PATH_MAX) {
        ssize_t n = read(fd, path + len, PATH_MAX - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        len += (size_t) n;
        if (path[len - 1] == '\0')
            return path[0] != '\0';
    }
    return false;
}

/* Keys and hang-ups of the terminal are for the watcher and its command: the server has a session
 * of its own and goes by the watcher's end alone. */
static _Noreturn void be_server(struct serve_listener listener, int paths, pid_t watcher)
{
    const int fds[] = {listener.fd, paths};
    char path[PATH_MAX];
    sigset_t none;
    sigemptyset(&none);
    signal(SIGHUP, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    prctl(PR_SET_NAME, "tidemark-serve");
    process_keep_only(fds, 2);
    process_stand_back(NICER);
    process_follow(watcher, SIGHUP);
    listener.fd = PROCESS_FIRST_FD;
    if (!read_path(PROCESS_FIRST_FD + 1, path))
        _exit(0);
    const char *file = path, *wrong;
    const struct serve_options options = {
        .listener = listener, .files = &file, .file_count = 1, .ends_with_parent = true};
    _exit(serve(&options, &wrong) == 0 ? 0 : 1);
}

int serve_beside_start(const struct serve_listener *listener, int *ret)
{
    int ends[2];
    pid_t watcher = getpid();
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0)
        be_server(*listener, ends[0], watcher);
    int error = errno;
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        return -error;
    }
    *ret = ends[1];
    return 0;
}

void serve_beside_show(int beside, const char *path)
{
    ssize_t n = write(beside, path ? path : "", path ? strlen(path) + 1 : 1);
    (void) n;
    close(beside);
}
