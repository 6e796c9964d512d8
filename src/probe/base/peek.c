/* probe/base/peek.c: reads this process's memory through the kernel. */
#include "probe/base/peek.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096u

bool peek_init(struct peek *p)
{
    return pipe2(p->ends, O_CLOEXEC | O_NONBLOCK) == 0;
}

void peek_release(struct peek *p)
{
    close(p->ends[0]);
    close(p->ends[1]);
}

/* Raw system calls, because write() and read() may be interposed. */
static size_t copy(const struct peek *p, uint64_t address, void *ret, size_t size)
{
    long written = syscall(SYS_write, p->ends[1], address, size);
    if (written <= 0)
        return 0;
    long got = syscall(SYS_read, p->ends[0], ret, (size_t) written);
    return got > 0 ? (size_t) got : 0;
}

size_t peek_read(const struct peek *p, uint64_t address, void *ret, size_t most)
{
    size_t got = copy(p, address, ret, most), in_page = PAGE - address % PAGE;
    return got == 0 && in_page < most ? copy(p, address, ret, in_page) : got;
}
