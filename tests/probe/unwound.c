/* tests/probe/unwound.c: a library with functions that call back, of which each build has frames of
 * another size; for tests/unit/test_unwind.c. */
#define SHOWN __attribute__((visibility("default")))

typedef void callback(void);

SHOWN callback *unwound_callback;
SHOWN char unwound_more[FRAME_BYTES] = {1}; /* so that the files differ in more than their code */

/* Both builds have this at the same offset, and its call as well. */
SHOWN void unwound_call(callback *call);
SHOWN void unwound_call(callback *call)
{
    char frame[FRAME_BYTES];
    __asm__ volatile("" : : "r"(frame) : "memory");
    call();
    __asm__ volatile("" : : "r"(frame) : "memory");
}

/* ---- called for the first time, through the linkage table ---- */

static void chosen(void)
{
}

__attribute__((used)) static callback *choose(void)
{
    if (unwound_callback)
        unwound_callback();
    return chosen;
}

SHOWN void unwound_chosen(void) __attribute__((ifunc("choose")));

SHOWN void unwound_choose(void);
SHOWN void unwound_choose(void)
{
    unwound_chosen();
    __asm__ volatile("");
}
