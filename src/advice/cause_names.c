/* advice/cause_names.c: what each cause is called in JSON, and how to fix it. */
#include "advice/advice.h"

static const struct {
    const char *name, *advice;
} causes[CAUSES] = {
    [CAUSE_RETAINED_LOSS] = {"retained-loss",
                             "keep loss.item() instead: the tensor keeps the graph that made it"},
    [CAUSE_RETAINED_GRAPH] = {"retained-graph",
                              "keep x.detach() instead, or a number: a tensor with a grad_fn keeps "
                              "the graph that made it"},
    [CAUSE_LINGERING_GRADIENTS] = {"lingering-gradients",
                                   "call optimizer.zero_grad(set_to_none=True) every step, and "
                                   "keep no gradients"},
    [CAUSE_TENSOR_CLONES] = {"tensor-clones",
                             "keep fewer tensors, or let the older ones go: del, a bounded deque, "
                             "or only the numbers that are needed"},
    [CAUSE_SAMPLE_CACHE] = {"sample-cache",
                            "give the cache a bound (functools.lru_cache(maxsize=...), a bounded "
                            "dict), or do not keep what can be read again"},
    [CAUSE_GROWING_CONTAINER] = {"growing-container",
                                 "empty it when its items have been used, or bound it: "
                                 "collections.deque(maxlen=...)"},
    [CAUSE_GROWING_OBJECT] = {"growing-object",
                              "use up the pieces as they come, or write them to a file: every step "
                              "makes it longer, or a longer copy of it"},
    [CAUSE_LRU_CACHE] = {"lru-cache",
                         "give it a maxsize, or cache by a key that comes again: every other call "
                         "keeps its arguments and its result"},
    [CAUSE_HOOKS] = {"hooks-piling-up",
                     "register it once, or call handle.remove(): every step adds another one"},
    [CAUSE_CALLBACK_STATE] =
        {"callback-state", "let the callback keep numbers (.item()) and clear them at the end of "
                           "the epoch"},
    [CAUSE_CLOSURE] = {"closure",
                       "hand the function what it needs as an argument: what it closes over lives "
                       "as long as it does"},
    [CAUSE_TRACEBACKS] =
        {"exception-tracebacks",
         "keep str(error) instead of the exception: its traceback holds the locals "
         "of every function it passed through"},
    [CAUSE_CYCLE] = {"cycle-awaiting-collector",
                     "break the cycle (weakref, or set one side to None), or call gc.collect() now "
                     "and then; see whether gc.disable() or gc.freeze() is called"},
    [CAUSE_AUTOGRAD_CYCLE] = {"autograd-cycle",
                              "no Python object holds these tensors: look for backward("
                              "create_graph=True) (use torch.autograd.grad, or set .grad to None "
                              "afterwards) and for tensors saved by a custom autograd.Function"},
    [CAUSE_NATIVE_TENSORS] =
        {"tensors-held-natively",
         "code in C++ holds these tensors: keep x.clone() instead of a view, and see what a custom "
         "autograd.Function saves, what metrics and extensions keep, and whether an autocast block "
         "is ever left"},
    [CAUSE_REGISTERED] = {"registered-with-native-code",
                          "code that is not Python's holds these objects: see what is registered "
                          "with it at every step (atexit.register, callbacks of an extension)"},
    [CAUSE_COMPILE_CACHE] =
        {"compile-cache", "keep shapes and arguments the same (pad, bucket, mark_dynamic): every "
                          "new one is compiled and kept"},
    [CAUSE_STAGED_CHECKPOINTS] = {"staged-checkpoints",
                                  "let copies of the weights go when they are saved: keep at most "
                                  "one or two"},
    [CAUSE_PROFILER] =
        {"profiler-left-on",
         "stop the profiler, or give it a schedule: it keeps every event until then"},
    [CAUSE_LOG_QUEUE] = {"log-queue-backlog",
                         "bound it (maxsize, a deque's maxlen), or write less: what is put into it "
                         "is taken out more slowly, or never"},
    [CAUSE_FILES] = {"files-and-descriptors",
                     "close what is opened (with open(...) as f, image.close()): ls -l "
                     "/proc/PID/fd shows it"},
    [CAUSE_THREADS] = {"threads-piling-up",
                       "let threads end when their work is done (join(), shutdown() of a pool), or "
                       "use one pool: each has its stack, and what its function works with"},
    [CAUSE_PROCESSES] = {"processes-piling-up",
                         "start them once and use them again (one iterator of a DataLoader with "
                         "persistent_workers, one pool), or end them when their work is done: "
                         "shutdown(), terminate() and join()"},
    [CAUSE_SHARED_MEMORY] = {"shared-memory-segments",
                             "let go of tensors that came from workers, and unlink() shared memory "
                             "that is not needed: ls -lt /dev/shm shows it"},
    [CAUSE_PINNED] = {"pinned-memory",
                      "let pinned tensors go once they are copied to the device, or pin one buffer "
                      "and use it again"},
    [CAUSE_RETENTION] = {"allocator-retention",
                         "set MALLOC_ARENA_MAX=2, call malloc_trim(0) now and then, or use another "
                         "malloc (jemalloc)"},
    [CAUSE_FRAGMENTATION] = {"cuda-fragmentation",
                             "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or sizes that come "
                             "again: torch reserves more than its tensors take"},
    [CAUSE_OUTSIDE_TORCH] = {"memory-outside-torch",
                             "torch's own counters do not grow: look at other libraries on the "
                             "device (NCCL, cuDNN workspaces, CuPy, a second context)"},
    [CAUSE_NATIVE] = {"native",
                      "it is allocated in native code (an extension, a library): heaptrack or "
                      "valgrind show where"},
};

const char *cause_name(enum cause cause)
{
    return causes[cause].name;
}

const char *cause_advice(enum cause cause)
{
    return causes[cause].advice;
}
