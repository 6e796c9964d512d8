/* tests/trace/loaded.c: a library that is loaded and unloaded while others allocate. Built twice,
 * with frames of different sizes, so that one's rules are wrong for the other. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(void *bytes)
{
    void *volatile at = malloc((size_t) bytes);
    free(at);
    return NULL;
}

/* Threads of a constructor allocate while the loader has its lock. */
__attribute__((constructor)) static void on_load(void)
{
    pthread_t one;
    allocate((void *) (size_t) 30000);
    if (pthread_create(&one, NULL, allocate, (void *) (size_t) 50000) == 0)
        pthread_join(one, NULL);
}

__attribute__((destructor)) static void on_unload(void)
{
    allocate((void *) (size_t) 30000);
}

__attribute__((noinline, visibility("default"))) void *loaded_work(unsigned depth, size_t size)
{
    volatile char frame[FRAME_BYTES];
    frame[0] = (char) depth;
    void *at = depth > 0 ? loaded_work(depth - 1, size) : malloc(size);
    frame[FRAME_BYTES - 1] = frame[0];
    return at;
}
