/* cli/signals.c: signals that are read, not delivered. */
#include "cli/signals.h"

#include "launch/launch.h"

#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

/* Signals that were ignored at the start (nohup) stay ignored, unless the command decides. */
static void leave_ignored(sigset_t *set)
{
    for (int i = 1; i < NSIG; i++) {
        struct sigaction before;
        if (sigismember(set, i) == 1 && sigaction(i, NULL, &before) == 0 &&
            before.sa_handler == SIG_IGN)
            sigdelset(set, i);
    }
}

int signals_catch(bool has_command)
{
    sigset_t set;
    relay_signal_set(&set);
    if (!has_command)
        leave_ignored(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}
