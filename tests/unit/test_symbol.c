/* tests/unit/test_symbol.c: functions, inlined functions and lines of a process's files, also where
 * these are damaged or changed under the reader. */
#include "symbol/symbol.h"

#include "compiled.h"
#include "random.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

/* Who allocates in line 3, for its caller in line 5, which is called in line 7. */
static const char source[] = "#include <stdlib.h>\n"
                             "static inline __attribute__((always_inline)) void *inner(size_t n)\n"
                             "{ return malloc(n); }\n"
                             "static inline __attribute__((always_inline)) void *middle(size_t n)\n"
                             "{ return inner(n * 2); }\n"
                             "__attribute__((noinline)) void *outer(size_t n)\n"
                             "{ char *p = middle(n); if (p) *p = 1; return p; }\n"
                             "__attribute__((noinline)) static int hidden(int n)\n"
                             "{ __asm__ volatile(\"\"); return n + 1; }\n"
                             "int main(int n, char **v)\n"
                             "{ return outer(n) && v && hidden(n); }\n";

/* ---- processes ---- */

static _Noreturn void wait_for_end(void)
{
    for (;;)
        pause();
}

/* Starts a process to act for. */
static pid_t start(void)
{
    pid_t child = fork();
    if (child == 0)
        wait_for_end();
    return child;
}

/* One that sees other files or has other rights than we do. 0: that is not possible here. */
static pid_t start_other(const char *root, uid_t uid)
{
    int ends[2];
    char ready = 0;
    if (pipe(ends) < 0)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        if ((!root || chroot(root) == 0) &&
            (uid == 0 || (setgroups(0, NULL) == 0 && setgid(uid) == 0 && setuid(uid) == 0)) &&
            write(ends[1], "x", 1) == 1)
            wait_for_end();
        _exit(1);
    }
    close(ends[1]);
    bool is_ready = read(ends[0], &ready, 1) == 1;
    close(ends[0]);
    if (!is_ready)
        waitpid(child, NULL, 0);
    return is_ready ? child : 0;
}

static void end(pid_t child)
{
    if (child <= 0)
        return;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* ---- files ---- */

struct scene {
    struct compiled c;
    pid_t pid;
    struct symbols *symbols;
    uint64_t outer, outer_size, hidden, hidden_size;
};

/* Compiles the source into "file", unstripped, and notes where its functions are. */
static bool begin(struct scene *s, const char *compile)
{
    *s = (struct scene){.pid = start()};
    return compiled_begin(&s->c) && compiled_write(&s->c, "a.c", source, sizeof source - 1) &&
           compiled_run(&s->c, compile) &&
           compiled_symbol(&s->c, "file", "outer", &s->outer, &s->outer_size) &&
           compiled_symbol(&s->c, "file", "hidden", &s->hidden, &s->hidden_size) &&
           symbols_new(s->pid, &s->symbols) == 0;
}

static void finish(struct scene *s)
{
    s->symbols = symbols_free(s->symbols);
    end(s->pid);
    compiled_end(&s->c);
}

#define MOST_OFFSETS 256u

static int resolve_all(struct scene *s, const char *path, const uint8_t *id, size_t id_length)
{
    uint64_t offsets[MOST_OFFSETS];
    size_t count = 0;
    const struct symbol_module m = {path, id, id_length};
    for (uint64_t i = 0; i < s->outer_size && count < MOST_OFFSETS - 1; i++)
        offsets[count++] = s->outer + i;
    offsets[count++] = s->hidden;
    return symbols_resolve(s->symbols, &m, offsets, count);
}

static int resolve(struct scene *s)
{
    return resolve_all(s, compiled_path(&s->c, "file"), NULL, 0);
}

static const char *name_at(const struct scene *s, uint64_t offset)
{
    const struct symbol_frame *f;
    size_t count = symbols_find(s->symbols, s->c.path, offset, &f);
    return count > 0 ? f[count - 1].function : "";
}

/* Whether somewhere in outer() are the two that are inlined, with their lines. */
static bool has_inlined(const struct scene *s)
{
    const struct symbol_frame *f;
    for (uint64_t i = 0; i < s->outer_size; i++)
        if (symbols_find(s->symbols, s->c.path, s->outer + i, &f) == 3 && f[0].line == 3 &&
            f[1].line == 5 && f[2].line == 7 && strcmp(f[0].function, "inner") == 0 &&
            strcmp(f[1].function, "middle") == 0 && strcmp(f[2].function, "outer") == 0 &&
            f[0].is_inlined && f[1].is_inlined && !f[2].is_inlined && strstr(f[0].file, "/a.c") &&
            strstr(f[1].file, "a.c") && strstr(f[2].file, "a.c"))
            return true;
    return false;
}

/* ---- names and lines ---- */

static void check_inlined(const char *compile)
{
    struct scene s;
    CHECK(begin(&s, compile));
    CHECK(resolve(&s) == 0);
    CHECK(has_inlined(&s));
    CHECK_TEXT(name_at(&s, s.hidden), "hidden");
    finish(&s);
}

TEST(symbols__have_lines_and_inlined_functions)
{
    CHECK(symbols_check_lines() == 0);
    check_inlined("cc -g -O2 -fPIE -pie -o file a.c");
    check_inlined("cc -g -O2 -no-pie -o file a.c");
    check_inlined("cc -g -O2 -shared -fPIC -o file a.c");
}

TEST(symbols__read_every_kind_of_debug_information)
{
    check_inlined("cc -g -O2 -gz -o file a.c");
    check_inlined("cc -gdwarf-4 -O2 -o file a.c");
    check_inlined("cc -gdwarf-5 -O2 -o file a.c");
    check_inlined("cc -g -O2 -o file a.c && objcopy --remove-section .debug_aranges file");
}

static const char shapes[] =
    "#include <vector>\n"
    "#include <stdlib.h>\n"
    "namespace shop { namespace {\n"
    "static inline __attribute__((always_inline)) void *take(size_t n)\n"
    "{ return malloc(n); }\n"
    "template <class T> struct Box { __attribute__((noipa)) void *fill(T n) {\n"
    "  void *p = take(n); __asm__ volatile(\"\" :: \"r\"(p) : \"memory\"); return p; } };\n"
    "} }\n"
    "extern \"C\" __attribute__((noinline)) void *outer(size_t n)\n"
    "{ shop::Box<std::vector<int>::size_type> b; return (char *) b.fill(n) + 1; }\n"
    "extern \"C\" __attribute__((noinline)) int hidden(int n) { return n + 1; }\n"
    "int main(int n, char **) { return outer(n) != 0 && hidden(n); }\n";

TEST(symbols__of_cxx_read_as_in_its_source)
{
    struct scene s = {.pid = start()};
    const struct symbol_frame *f = NULL;
    size_t count = 0;
    CHECK(compiled_begin(&s.c) && compiled_write(&s.c, "a.cc", shapes, sizeof shapes - 1));
    CHECK(compiled_run(&s.c, "c++ -g -O2 -o file a.cc"));
    CHECK(compiled_symbol(&s.c, "file", "_ZN4shop12_GLOBAL__N_13BoxImE4fillEm", &s.outer,
                          &s.outer_size));
    CHECK(symbols_new(s.pid, &s.symbols) == 0 && resolve(&s) == 0);
    for (uint64_t i = 0; i < s.outer_size && count != 2; i++)
        count = symbols_find(s.symbols, s.c.path, s.outer + i, &f);
    CHECK(count == 2 && f[0].is_inlined && f[0].line == 5);
    CHECK_TEXT(f[0].function, "shop::take");
    CHECK_TEXT(f[1].function, "shop::Box<unsigned long>::fill");
    finish(&s);
}

TEST(symbols__of_stripped_files_are_what_they_export)
{
    struct scene s;
    CHECK(begin(&s, "cc -g -O2 -shared -fPIC -o file a.c"));
    CHECK(compiled_run(&s.c, "strip file") && resolve(&s) == 0);
    CHECK_TEXT(name_at(&s, s.outer), "outer");
    CHECK_TEXT(name_at(&s, s.hidden), "");
    finish(&s);
    CHECK(begin(&s, "cc -O2 -o file a.c"));
    CHECK(compiled_run(&s.c, "strip file") && resolve(&s) == 0);
    CHECK_TEXT(name_at(&s, s.outer), "");
    finish(&s);
}

TEST(symbols__are_found_in_the_linked_file)
{
    struct scene s;
    static const char split[] = "objcopy --only-keep-debug file file.debug && strip file && "
                                "objcopy --add-gnu-debuglink=file.debug file";
    CHECK(begin(&s, "cc -g -O2 -Wl,--build-id -o file a.c"));
    CHECK(compiled_run(&s.c, split) && resolve(&s) == 0 && has_inlined(&s));
    CHECK_TEXT(name_at(&s, s.hidden), "hidden");
    finish(&s);
    /* Without a build-id, its checksum counts. */
    CHECK(begin(&s, "cc -g -O2 -Wl,--build-id=none -o file a.c"));
    CHECK(compiled_run(&s.c, split));
    CHECK(compiled_run(&s.c, "mkdir .debug && mv file.debug .debug"));
    CHECK(resolve(&s) == 0 && has_inlined(&s));
    finish(&s);
}

TEST(symbols__take_no_debug_information_of_another_build)
{
    struct scene s;
    CHECK(begin(&s, "cc -g -O2 -Wl,--build-id=none -o file a.c"));
    CHECK(compiled_run(&s.c, "objcopy --only-keep-debug file file.debug && strip file && "
                             "objcopy --add-gnu-debuglink=file.debug file && echo >>file.debug"));
    CHECK(resolve(&s) == 0 && !has_inlined(&s));
    CHECK_TEXT(name_at(&s, s.hidden), "");
    finish(&s);
    CHECK(begin(&s, "cc -g -O2 -Wl,--build-id=0x1234 -o file a.c"));
    CHECK(compiled_run(&s.c, "cc -g -O2 -Wl,--build-id=0x1235 -o file.debug a.c && strip file && "
                             "objcopy --add-gnu-debuglink=file.debug file"));
    CHECK(resolve(&s) == 0 && !has_inlined(&s));
    finish(&s);
}

/* ---- the file ---- */

TEST(symbols__refuse_another_build_of_the_file)
{
    struct scene s;
    static const uint8_t id[] = {0x12, 0x34, 0x56}, other[] = {0x12, 0x35};
    CHECK(begin(&s, "cc -g -O2 -Wl,--build-id=0x123456 -o file a.c && cp file same"));
    CHECK(resolve_all(&s, compiled_path(&s.c, "file"), other, sizeof other) == -ESTALE);
    CHECK(resolve_all(&s, compiled_path(&s.c, "file"), id, sizeof id) == -ESTALE); /* for good */
    CHECK_TEXT(name_at(&s, s.outer), "");
    CHECK(resolve_all(&s, compiled_path(&s.c, "same"), id, sizeof id) == 0 && has_inlined(&s));
    finish(&s);
}

TEST(symbols__stay_when_the_file_is_replaced_and_the_process_ends)
{
    struct scene s;
    static const uint8_t id[] = {0x12, 0x34};
    uint64_t further;
    CHECK(begin(&s, "cc -g -O2 -Wl,--build-id=0x1234 -o file a.c && cp file other"));
    const struct symbol_module m = {compiled_path(&s.c, "file"), id, sizeof id};
    CHECK(resolve_all(&s, m.path, id, sizeof id) == 0 && has_inlined(&s));
    CHECK(compiled_run(&s.c, "cc -O2 -Wl,--build-id=0x1235 -o file a.c"));
    CHECK(resolve_all(&s, m.path, id, sizeof id) == 0 && has_inlined(&s));
    further = s.hidden + 1;
    CHECK(symbols_resolve(s.symbols, &m, &further, 1) == -ESTALE && has_inlined(&s));
    end(s.pid);
    s.pid = 0;
    CHECK(resolve_all(&s, m.path, id, sizeof id) == 0 && has_inlined(&s));
    /* What it saw can still be read. */
    CHECK(resolve_all(&s, compiled_path(&s.c, "other"), id, sizeof id) == 0 && has_inlined(&s));
    finish(&s);
}

static int resolve_after(struct scene *s, const char *command)
{
    char path[96];
    snprintf(path, sizeof path, "%s/%.20s", s->c.folder, command);
    path[strcspn(path, " ")] = '\0';
    return compiled_run(&s->c, strchr(command, ' ') + 1) ? resolve_all(s, path, NULL, 0) : 1;
}

TEST(symbols__come_from_regular_files_alone)
{
    struct scene s;
    CHECK(begin(&s, "cc -g -O2 -o file a.c"));
    CHECK(resolve_after(&s, "fifo mkfifo fifo") == -EINVAL);
    CHECK(resolve_after(&s, "folder mkdir folder") == -EINVAL);
    CHECK(resolve_after(&s, "zero ln -s /dev/zero zero") == -EINVAL);
    CHECK(resolve_after(&s, "tty ln -s /dev/tty tty") == -EINVAL);
    CHECK(resolve_after(&s, "loop ln -s loop loop") == -ELOOP);
    CHECK(resolve_after(&s, "nothing true") == -ENOENT);
    CHECK(resolve_after(&s, "empty : >empty") == -ENOEXEC);
    CHECK(resolve_after(&s, "text cp a.c text") == -ENOEXEC);
    CHECK(resolve_after(&s, "sparse truncate -s 60G sparse") == -ENOEXEC);
    CHECK(resolve_after(&s, "huge truncate -s 1T huge") == -EFBIG);
    CHECK(resolve_all(&s, "", NULL, 0) < 0 && resolve_all(&s, "[vdso]", NULL, 0) < 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", s.c.folder);
    CHECK(bind(socket_fd, (struct sockaddr *) &address, sizeof address) == 0);
    CHECK(resolve_all(&s, address.sun_path, NULL, 0) == -EINVAL);
    close(socket_fd);
    finish(&s);
}

TEST(symbols__of_a_sparse_file_with_a_header_are_none)
{
    struct scene s;
    CHECK(begin(&s, "cc -g -O2 -o file a.c"));
    /* Headers that lead behind 60 GB of holes, where nothing is. */
    CHECK(compiled_run(&s.c, "truncate -s 60G file") && resolve(&s) == 0);
    CHECK_TEXT(name_at(&s, s.outer), "outer");
    finish(&s);
}

/* ---- damaged files ---- */

/* Names may be missing; those that are there are right. */
static bool says_nothing_wrong(struct scene *s, const char *file)
{
    int r = resolve_all(s, compiled_path(&s->c, file), NULL, 0);
    const char *outer = name_at(s, s->outer), *hidden = name_at(s, s->hidden);
    return r <= 0 && (!*outer || strcmp(outer, "outer") == 0) &&
           (!*hidden || strcmp(hidden, "hidden") == 0);
}

TEST(symbols__of_a_file_cut_off_anywhere_are_right_or_missing)
{
    struct scene s;
    size_t length;
    CHECK(begin(&s, "cc -g -O2 -o file a.c"));
    uint8_t *bytes = compiled_bytes(&s.c, "file", &length);
    for (unsigned i = 0; i < 64; i++) {
        char name[16];
        snprintf(name, sizeof name, "cut%u", i);
        CHECK(compiled_write(&s.c, name, bytes, length * i / 64) && says_nothing_wrong(&s, name));
    }
    free(bytes);
    finish(&s);
}

/* libdw may loop or crash: that takes names and at most its time. */
TEST(symbols__of_a_damaged_file_are_an_answer_or_an_error)
{
    struct scene s;
    struct random r = {7};
    size_t length, answered = 0;
    CHECK(begin(&s, "cc -g -O2 -o file a.c"));
    uint8_t *bytes = compiled_bytes(&s.c, "file", &length);
    for (unsigned i = 0; i < 300; i++) {
        char name[16];
        uint8_t *damaged = malloc(length);
        memcpy(damaged, bytes, length);
        for (unsigned k = 0; k < 8; k++)
            damaged[64 + random_bits(&r) % (length - 64)] ^= (uint8_t) (1u << random_bits(&r) % 8);
        snprintf(name, sizeof name, "damaged%u", i);
        CHECK(compiled_write(&s.c, name, damaged, length));
        free(damaged);
        int result = resolve_all(&s, compiled_path(&s.c, name), NULL, 0);
        CHECK(result <= 0);
        answered += result == 0;
        unlink(compiled_path(&s.c, name));
    }
    CHECK(answered > 200);
    free(bytes);
    finish(&s);
}

/* ---- other processes' rights and files: only root can try ---- */

TEST(symbols__of_another_user_are_read_with_its_rights)
{
    struct scene s;
    CHECK(begin(&s, "cc -g -O2 -o file a.c && cp file secret && chmod 600 secret"));
    pid_t other = geteuid() == 0 ? start_other(NULL, 65534) : 0;
    if (other) {
        symbols_free(s.symbols);
        CHECK(symbols_new(other, &s.symbols) == 0);
        CHECK(resolve_all(&s, compiled_path(&s.c, "secret"), NULL, 0) == -EACCES);
        CHECK(resolve_all(&s, compiled_path(&s.c, "file"), NULL, 0) == 0 && has_inlined(&s));
        end(other);
    }
    finish(&s);
}

TEST(symbols__of_a_process_with_another_root_come_from_there)
{
    struct scene s;
    static const uint8_t id[] = {0xab, 0xcd, 0xef};
    CHECK(begin(&s, "cc -g -O2 -Wl,--build-id=0xabcdef -o file a.c"));
    CHECK(compiled_run(&s.c, "cp file outside && ln -s $PWD/outside escape && "
                             "mkdir -p usr/lib/debug/.build-id/ab && "
                             "objcopy --only-keep-debug file usr/lib/debug/.build-id/ab/cdef.debug "
                             "&& strip file"));
    pid_t other = geteuid() == 0 ? start_other(s.c.folder, 0) : 0;
    if (other) {
        symbols_free(s.symbols);
        CHECK(symbols_new(other, &s.symbols) == 0);
        CHECK(resolve_all(&s, "/escape", NULL, 0) == -ENOENT);
        CHECK(resolve_all(&s, "/file", id, sizeof id) == 0);
        snprintf(s.c.path, sizeof s.c.path, "/file");
        CHECK(has_inlined(&s));
        CHECK_TEXT(name_at(&s, s.hidden), "hidden");
        end(other);
    }
    finish(&s);
}

TEST(symbols__of_nobody_are_not_found)
{
    struct scene s;
    struct symbols *none = NULL;
    const struct symbol_frame *f = NULL;
    CHECK(begin(&s, "cc -O2 -o file a.c"));
    CHECK(symbols_find(s.symbols, "/nowhere", 0, &f) == 0 && f == NULL);
    end(s.pid);
    CHECK(symbols_new(s.pid, &none) == -ESRCH && none == NULL);
    s.pid = 0;
    CHECK(symbols_free(NULL) == NULL);
    finish(&s);
}
