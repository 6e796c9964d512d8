/*
 * workloads/leak_threads.c: starts a thread every --every steps (3) that waits for ever.
 *
 * grows:   the number of threads of the only process, a staircase; and, by about 8 KB of touched
 *          stack a thread (of 64 KB), RssAnon and more of the address space
 * verdict: leak, threads, role trainer (host.anon may leak too); --fix joins each: no leak
 */
#include "load.h"

#include <errno.h>
#include <pthread.h>

enum { STACK_BYTES = 64 << 10 };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

/* Waits until the gate is opened, which main() does only with --fix. */
static void *wait_at_gate(void *unused)
{
    (void) unused;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return NULL;
}

static pthread_t start_thread(const pthread_attr_t *attributes)
{
    pthread_t thread;
    errno = pthread_create(&thread, attributes, wait_at_gate, NULL);
    if (errno)
        load_fail("pthread_create");
    return thread;
}

int main(int argc, char **argv)
{
    long every = 3;
    load_init(argc, argv, (struct load_option[]){{"every", &every, NULL}, {0}});
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_mutex_lock(&gate);
    for (long n = 1; load_running(n); n++) {
        if (every > 0 && n % every == 0) {
            pthread_t thread = start_thread(&attributes);
            if (load.fix) {
                pthread_mutex_unlock(&gate);
                pthread_join(thread, NULL);
                pthread_mutex_lock(&gate);
            }
        }
        load_step(n);
    }
    return load_end();
}
