/* tests/trace/sandboxed.c STEPS: gives up all system calls but those that malloc() and this program
 * need, on pain of death, and leaks 40 KB a step. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const int needed[] = {SYS_write,  SYS_exit_group, SYS_brk,     SYS_mmap,
                             SYS_munmap, SYS_mremap,     SYS_madvise, SYS_clock_nanosleep};
#define NEEDED (sizeof(needed) / sizeof(needed[0]))

static int give_up(void)
{
    struct sock_filter list[2 + 2 * NEEDED];
    unsigned n = 0;
    list[n++] =
        (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < NEEDED; i++) {
        list[n++] =
            (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned) needed[i], 0, 1);
        list[n++] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    list[n++] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {(unsigned short) n, list};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
               ? -1
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 400;
    setvbuf(stdout, malloc(4096), _IOLBF, 4096);
    printf("begins\n");
    if (give_up() < 0)
        return 77;
    for (int n = 1; n <= steps; n++) {
        for (int i = 0; i < 200; i++) {
            char *block = malloc(400);
            if (!block)
                abort();
            memset(block, n, 400);
            if (i % 2)
                free(block);
        }
        printf("step %d\n", n);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    syscall(SYS_exit_group, 0);
}
