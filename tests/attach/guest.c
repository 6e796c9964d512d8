/* tests/attach/guest.c: a library that counts how often it was entered, in the file it is told. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int guest_enter(const char *argument);
int guest_enter(const char *argument)
{
    static int entered;
    char line[64];
    entered++;
    int fd = open(argument, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    int len = snprintf(line, sizeof line, "%d %d %d\n", (int) getpid(), (int) gettid(), entered);
    int r = write(fd, line, (size_t) len) == len ? 0 : -EIO;
    close(fd);
    errno = EXDEV; /* the program's errno is to survive this */
    return r;
}
