/* words/causes.c: each cause's name in JSON, its fix, and the reason for it. */
#include "words/causes.h"

static const struct cause_words causes[CAUSES] = {
    [CAUSE_RETAINED_LOSS] = {"retained-loss", "keep loss.item() instead",
                             "the tensor keeps the graph that made it"},
    [CAUSE_RETAINED_GRAPH] = {"retained-graph", "keep x.detach() instead, or a number",
                              "a tensor with a grad_fn keeps the graph that made it"},
    [CAUSE_LINGERING_GRADIENTS] =
        {"lingering-gradients",
         "call optimizer.zero_grad(set_to_none=True) every step, and keep no gradients",
         "they are as large as the parameters"},
    [CAUSE_TENSOR_CLONES] =
        {"tensor-clones",
         "keep fewer tensors: del the old ones, use a bounded deque, or keep numbers",
         "each keeps its whole storage alive"},
    [CAUSE_SAMPLE_CACHE] = {"sample-cache",
                            "bound the cache: functools.lru_cache(maxsize=...), or a bounded dict",
                            "it keeps every sample that it has seen"},
    [CAUSE_GROWING_CONTAINER] = {"growing-container",
                                 "empty it when its items have been used, or bound it: "
                                 "collections.deque(maxlen=...)",
                                 NULL},
    [CAUSE_GROWING_OBJECT] = {"growing-object",
                              "use up the pieces as they come, or write them to a file",
                              "every step makes it longer, or a longer copy of it"},
    [CAUSE_LRU_CACHE] = {"lru-cache", "give it a maxsize, or cache by a key that comes again",
                         "every other call keeps its arguments and its result"},
    [CAUSE_HOOKS] = {"hooks-piling-up", "register it once, or call handle.remove()",
                     "every step adds another one"},
    [CAUSE_CALLBACK_STATE] =
        {"callback-state",
         "keep numbers (.item()) in the callback, and clear them at the end of the "
         "epoch",
         NULL},
    [CAUSE_CLOSURE] = {"closure", "pass the function what it needs as an argument",
                       "what it closes over lives as long as it does"},
    [CAUSE_TRACEBACKS] = {"exception-tracebacks", "keep str(error) instead of the exception",
                          "its traceback holds the locals of every function it passed through"},
    [CAUSE_CYCLE] = {"cycle-awaiting-collector",
                     "break the cycle (weakref, or set one side to None), or call gc.collect()",
                     "check whether gc.disable() or gc.freeze() is called"},
    [CAUSE_AUTOGRAD_CYCLE] =
        {"autograd-cycle",
         "replace backward(create_graph=True) by torch.autograd.grad, or set .grad to "
         "None afterwards",
         "no Python object holds these tensors; tensors that a custom "
         "autograd.Function saves can do the same"},
    [CAUSE_NATIVE_TENSORS] =
        {"tensors-held-natively",
         "keep x.clone() instead of a view, and check custom autograd.Functions, "
         "metrics and autocast blocks",
         "code in C++ holds these tensors"},
    [CAUSE_REGISTERED] =
        {"registered-with-native-code",
         "check what every step registers (atexit.register, callbacks of an extension)",
         "code outside Python holds these objects"},
    [CAUSE_COMPILE_CACHE] = {"compile-cache",
                             "keep shapes and arguments the same (pad, bucket, mark_dynamic)",
                             "every new one is compiled and kept"},
    [CAUSE_STAGED_CHECKPOINTS] = {"staged-checkpoints",
                                  "let copies of the weights or gradients go once they are saved "
                                  "or used",
                                  "keep at most one or two"},
    [CAUSE_PROFILER] = {"profiler-left-on", "stop the profiler, or give it a schedule",
                        "it keeps every event until then"},
    [CAUSE_LOG_QUEUE] = {"log-queue-backlog", "bound it (maxsize, a deque's maxlen), or write less",
                         "items are added faster than they are consumed"},
    [CAUSE_FILES] = {"files-and-descriptors",
                     "close what is opened (with open(...) as f, image.close())",
                     "ls -l /proc/PID/fd shows it"},
    [CAUSE_THREADS] = {"threads-piling-up",
                       "end threads when their work is done (join(), shutdown() of a pool), or use "
                       "one pool",
                       "each has its stack, and what its function works with"},
    [CAUSE_PROCESSES] =
        {"processes-piling-up",
         "start them once and use them again (persistent_workers, one pool), or end "
         "them with shutdown() or terminate() and join()",
         NULL},
    [CAUSE_SHARED_MEMORY] =
        {"shared-memory-segments",
         "let go of tensors that came from workers, and unlink() shared memory that is"
         " not needed",
         "ls -lt /dev/shm shows it"},
    [CAUSE_PINNED] = {"pinned-memory",
                      "let pinned tensors go once they are copied to the device, or pin one buffer "
                      "and use it again",
                      NULL},
    [CAUSE_RETENTION] = {"allocator-retention",
                         "set MALLOC_ARENA_MAX=2, call malloc_trim(0) now and then, or use another "
                         "malloc (jemalloc)",
                         NULL},
    [CAUSE_FRAGMENTATION] =
        {"cuda-fragmentation",
         "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or use sizes that come"
         " again",
         "torch reserves more than its tensors take"},
    [CAUSE_OUTSIDE_TORCH] =
        {"memory-outside-torch",
         "check other libraries on the device (NCCL, cuDNN workspaces, CuPy, a second "
         "context)",
         "torch's own counters do not grow"},
    [CAUSE_NATIVE] = {"native", "find the line that allocates it: tidemark run --trace -- COMMAND",
                      "native code makes it: an extension or a library"},
    [CAUSE_ALLOCATION] = {"kept-allocations", "check where the objects made here are kept",
                          "what holds them was not found"},
};

static const struct cause_words native_at_line = {
    "native",
    "free what this allocates, or call it once and keep the result",
    "native code called there keeps the memory: an extension or a library",
};

static const struct cause_words device_line = {
    "kept-allocations",
    "check what keeps the tensors made here: code in C++ may, such as a TorchScript module",
    "no Python object is known to hold them",
};

const struct cause_words *cause_words(enum cause cause)
{
    return &causes[cause];
}

const struct cause_words *cause_words_at_line(enum cause cause, bool is_of_device)
{
    if (cause == CAUSE_ALLOCATION && is_of_device)
        return &device_line;
    return cause == CAUSE_NATIVE ? &native_at_line : cause_words(cause);
}
