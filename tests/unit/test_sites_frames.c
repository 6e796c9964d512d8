/* tests/unit/test_sites_frames.c: the user's own frame, plumbing, and a stack in one line. */
#include "sites/sites.h"

#include "unit.h"

#define PYTHON(function, file, line)                                                               \
    {                                                                                              \
        function, file, line, "", 0, false                                                         \
    }
#define NATIVE(function, module)                                                                   \
    {                                                                                              \
        function, "", 0, module, 0x1234, false                                                     \
    }
#define TORCH "/usr/lib/python3/dist-packages/torch/nn/modules/"
#define ALL(frames) frames, sizeof(frames) / sizeof((frames)[0])

static struct site site_of(struct site_frame *frames, size_t count)
{
    return (struct site){.device = "", .frames = frames, .frame_count = (unsigned) count};
}

/* Valid until the next call. */
static const char *described(struct site_frame *frames, size_t count, size_t most)
{
    static char text[1000];
    struct buf b = BUF_INIT;
    struct site s = site_of(frames, count);
    site_describe(&s, most, &b);
    snprintf(text, sizeof(text), "%s", buf_text(&b));
    buf_release(&b);
    return text;
}

static struct site_frame training[] = {
    NATIVE("malloc", "/lib/x86_64-linux-gnu/libc.so.6"),
    NATIVE("c10::alloc_cpu", "/lib/libc10.so"),
    NATIVE("at::conv2d", "/lib/libtorch_cpu.so"),
    NATIVE("_PyEval_EvalFrameDefault", "/usr/bin/python3.11"),
    NATIVE("__libc_start_main", "/lib/x86_64-linux-gnu/libc.so.6"),
    PYTHON("Conv2d.forward", TORCH "conv.py", 456),
    PYTHON("Module._call_impl", TORCH "module.py", 1500),
    PYTHON("Sequential.forward", TORCH "container.py", 200),
    PYTHON("train", "/home/me/train.py", 41),
    PYTHON("<module>", "/home/me/train.py", 90),
};

TEST(frames__own_is_the_innermost_line_of_the_users)
{
    struct site s = site_of(ALL(training));
    CHECK(site_own_frame(&s) == 8);
}

TEST(frames__own_is_no_generated_code_where_there_is_a_file)
{
    struct site_frame frames[] = {
        PYTHON("__init__", "<string>", 3),
        PYTHON("import_it", "<frozen importlib._bootstrap>", 3),
        PYTHON("fill", "/home/me/data.py", 12),
        PYTHON("<module>", "<stdin>", 1),
    };
    struct site s = site_of(ALL(frames));
    CHECK(site_own_frame(&s) == 2);
}

TEST(frames__own_may_be_typed_in)
{
    struct site_frame frames[] = {
        PYTHON("load", "/home/me/.pyenv/versions/3.11.9/lib/python3.11/json/__init__.py", 3),
        PYTHON("run", "<frozen runpy>", 3),
        PYTHON("fill", "<ipython-input-3-abc>", 12),
    };
    struct site s = site_of(ALL(frames));
    CHECK(site_own_frame(&s) == 2);
    s.frame_count = 2;
    CHECK(site_own_frame(&s) == 0);
}

TEST(frames__without_python_own_is_the_innermost_outside_plumbing)
{
    struct site_frame frames[] = {
        NATIVE("operator new(unsigned long)", "/lib/libfoo.so"),
        NATIVE("std::vector<int>::push_back", "/lib/libfoo.so"),
        {"leak", "/src/leak.cc", 12, "/home/me/leak", 0x10, false},
        NATIVE("main", "/home/me/leak"),
        NATIVE("_start", "/home/me/leak"),
    };
    struct site s = site_of(ALL(frames));
    CHECK(site_own_frame(&s) == 2);
    CHECK_TEXT(described(ALL(frames), 80), "leak.cc:12 leak");
    s.frame_count = 2;
    CHECK(site_own_frame(&s) == 1);
    s.frame_count = 0;
    CHECK(site_own_frame(&s) == -1);
    CHECK_TEXT(described(frames, 0, 80), "unknown stack");
}

TEST(frames__tidemark_itself_never_appears)
{
    struct site_frame frames[] = {
        NATIVE("wrapped_malloc", "/opt/lib/tidemark/libtidemark_probe.so"),
        NATIVE("f", "/lib/a.so"),
        PYTHON("step", "/v/lib/python3.11/site-packages/tidemark/_hooks.py", 3),
        PYTHON("train", "/home/me/train.py", 41),
    };
    CHECK_TEXT(described(ALL(frames), 80), "train.py:41 train → f");
    CHECK(site_frame_is_plumbing(&frames[0]) && site_frame_is_plumbing(&frames[2]));
}

TEST(frames__know_plumbing)
{
    struct site_frame plumbing[] = {
        NATIVE("calloc", "/home/me/a.out"),          NATIVE("je_malloc", "/home/me/a.out"),
        NATIVE("mi_malloc_aligned", "/lib/mi.so"),   NATIVE("at::detail::empty_cpu", "/lib/t.so"),
        NATIVE("PyObject_Call", "/home/me/embeds"),  NATIVE("list_append", "/usr/bin/python3.12"),
        NATIVE("", "/usr/lib/libpython3.13.so.1.0"), NATIVE("clone3", "/lib64/libc.so.6"),
        NATIVE("getaddrinfo", "/lib64/libc.so.6"),
    };
    for (size_t i = 0; i < sizeof(plumbing) / sizeof(plumbing[0]); i++)
        CHECK(site_frame_is_plumbing(&plumbing[i]));
    struct site_frame telling[] = {
        NATIVE("at::conv2d", "/lib/libtorch_cpu.so"),
        NATIVE("Pyramid_build", "/home/me/p.so"),
        NATIVE("mallocate", "/home/me/p.so"),
        NATIVE("", "/home/me/p.so"),
        NATIVE("scan_once", "/usr/lib/python3.11/lib-dynload/_json.cpython-311.so"),
    };
    for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++)
        CHECK(!site_frame_is_plumbing(&telling[i]));
}

TEST(describe__goes_from_the_users_line_inwards)
{
    CHECK_TEXT(described(ALL(training), 200), "train.py:41 train → torch.nn.Sequential.forward → "
                                              "torch.nn.Conv2d.forward → at::conv2d");
}

TEST(describe__leaves_out_the_middle_and_counts_characters)
{
    CHECK_TEXT(described(ALL(training), 86), "train.py:41 train → torch.nn.Sequential.forward → "
                                             "torch.nn.Conv2d.forward → at::conv2d");
    for (size_t most = 35; most < 90; most++) {
        const char *text = described(ALL(training), most);
        size_t characters = 0;
        for (const char *c = text; *c; c++)
            characters += ((unsigned char) *c & 0xc0) != 0x80;
        CHECK(characters <= most);
        CHECK(strstr(text, "train.py:41 train → ") == text && strstr(text, "→ at::conv2d"));
        CHECK(!strstr(text, "…") == (most >= 86));
    }
    CHECK_TEXT(described(ALL(training), 34), "train.py:41 train → … → at::conv2d");
    CHECK_TEXT(described(ALL(training), 33), "train.py:41 train → …");
    CHECK_TEXT(described(ALL(training), 20), "train.py:41 train");
    CHECK_TEXT(described(ALL(training), 10), "train.py:…");
    CHECK_TEXT(described(ALL(training), 1), "…");
}

TEST(describe__says_a_recursion_once_and_leaves_out_what_has_no_name)
{
    struct site_frame frames[] = {
        {"", "", 0, "/lib/a.so", 0x1f, false},
        PYTHON("walk", "/usr/lib/python3.11/os.py", 41),
        PYTHON("walk", "/usr/lib/python3.11/os.py", 41),
        PYTHON("<module>", "/home/me/ü.py", 41),
    };
    CHECK_TEXT(described(ALL(frames), 80), "ü.py:41 → os.walk");
}

TEST(describe__says_an_address_where_nothing_has_a_name)
{
    struct site_frame frames[] = {
        {"", "", 0, "/lib/a.so", 0x1f, false},
        PYTHON("<module>", "/home/me/train.py", 41),
    };
    CHECK_TEXT(described(ALL(frames), 80), "train.py:41 → a.so+0x1f");
}
