/* proc/program.c: which program a command line runs. */
#include "proc/program.h"
#include "proc/command.h"
#include "proc/stat.h"

#include <string.h>

/* ---- known programs ---- */

/* Words separated by blanks. A * at the end matches any rest, and at the start any beginning. */
static const char wrappers[] =
    /* shells and programs that run others in a changed environment */
    "sh bash dash zsh ksh fish csh tcsh ash busybox env time nice ionice chrt numactl taskset sudo "
    "su doas runuser setpriv gosu su-exec xvfb-run stdbuf unbuffer script nohup setsid timeout "
    "xargs parallel make strace ltrace gdb perf nsys ncu tidemark "
    /* inits, sessions, containers */
    "init systemd tini dumb-init catatonit docker-init s6-svscan s6-supervise supervisord tmux* "
    "screen SCREEN sshd* login docker podman bwrap singularity apptainer starter* conmon "
    "containerd-shim* "
    /* environments */
    "uv uvx conda mamba micromamba poetry pixi pipenv pdm hatch rye "
    /* launchers of training */
    "torchrun torch.distributed.run torch.distributed.launch accelerate accelerate-launch "
    "accelerate.commands.launch accelerate.commands.accelerate_cli deepspeed deepspeed.launcher.* "
    "horovodrun composer colossalai srun sbatch slurmstepd* slurm_script mpirun mpiexec* orterun "
    "orted prterun prted hydra_pmi_proxy jupyter jupyter-* jupyterhub*";

static const char helpers[] =
    "tensorboard tensorboard.main wandb wandb-* gpu_stats mlflow aim clearml* nvidia-smi nvitop "
    "nvtop dcgmi rocm-smi gpustat htop top ps free raylet gcs_server redis-server ray ray::IDLE* "
    "ray::Dashboard* plasma_store* debugpy* tee cat tail head grep sed awk ts less more sleep "
    "watch git git-* ssh ssh-agent rsync scp curl wget tar gzip pigz zstd uname lscpu lspci which "
    "hostname date df du ls find ldconfig ldd file cp mv rm mkdir dbus-daemon";

static const char compilers[] =
    "ptxas nvcc cicc cudafe++ fatbinary nvlink gcc gcc-* g++ g++-* cc c++ *-linux-gnu-gcc* "
    "*-linux-gnu-g++* cc1 cc1plus as ld ld.* collect2 lto1 clang clang-* clang++* lld ninja cmake "
    "rustc cargo hipcc amdclang* torch._inductor.compile_worker*";

static bool fits(const char *name, const char *word, size_t len)
{
    if (word[len - 1] != '*')
        return strlen(name) == len && memcmp(name, word, len) == 0;
    if (word[0] != '*')
        return strncmp(name, word, len - 1) == 0;
    return memmem(name, strlen(name), word + 1, len - 2) != NULL;
}

static bool is_listed(const char *name, const char *list)
{
    while (*list) {
        size_t len = strcspn(list, " ");
        if (fits(name, list, len))
            return true;
        list += len + strspn(list + len, " ");
    }
    return false;
}

static enum program_sort sort_by_name(const char *name)
{
    if (is_listed(name, wrappers))
        return PROGRAM_WRAPPER;
    if (is_listed(name, helpers))
        return PROGRAM_HELPER;
    return is_listed(name, compilers) ? PROGRAM_COMPILER : PROGRAM_ANY;
}

/* ---- Python ---- */

/* "python", "python3.11", "pypy3", "ipython". */
static bool is_python(const char *name)
{
    static const char *const names[] = {"ipython", "python", "pypy"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t len = strlen(names[i]);
        if (strncmp(name, names[i], len) == 0)
            return strspn(name + len, "0123456789.td") == strlen(name + len);
    }
    return false;
}

bool proc_command_is_python(const char *command)
{
    char name[64];
    size_t len = strcspn(command, " "), from = len;
    while (from > 0 && command[from - 1] != '/')
        from--;
    if (len - from >= sizeof(name))
        return false;
    memcpy(name, command + from, len - from);
    name[len - from] = '\0';
    return is_python(name);
}

/* What an interpreter runs: at most one is set, none when it reads standard input. */
struct python {
    const char *module, *code, *script;
};

/* A word of options such as "-uBm". The letters c and m take a value and end the options; W and X
 * only take one. True if the value is the next argument; *ret_letter is its option. */
static bool scan_options(const char *word, char *ret_letter, const char **ret_value)
{
    for (const char *s = word + 1; *s; s++) {
        if (!strchr("cmWX", *s))
            continue;
        *ret_letter = *s;
        *ret_value = s[1] ? s + 1 : NULL;
        return !s[1];
    }
    return false;
}

static struct python read_python(const char *arguments, size_t len, const char *next)
{
    struct python p = {NULL, NULL, NULL};
    for (const char *a; (a = arguments_next(arguments, len, &next));) {
        if (a[0] != '-' || a[1] == '\0') {
            p.script = a;
            return p;
        }
        if (a[1] == '-')
            continue;
        char letter = '\0';
        const char *value = NULL;
        if (scan_options(a, &letter, &value))
            value = arguments_next(arguments, len, &next);
        if (letter == 'm' || letter == 'c') {
            *(letter == 'm' ? &p.module : &p.code) = value;
            return p;
        }
    }
    return p;
}

static enum program_sort sort_by_code(const char *code)
{
    if (strstr(code, "multiprocessing.spawn") || strstr(code, "multiprocess.spawn"))
        return PROGRAM_SPAWNED;
    if (strstr(code, "multiprocessing.forkserver"))
        return PROGRAM_FORK_SERVER;
    if (strstr(code, "resource_tracker") || strstr(code, "semaphore_tracker"))
        return PROGRAM_HELPER;
    return strstr(code, "torch._inductor.compile_worker") ? PROGRAM_COMPILER : PROGRAM_ANY;
}

static const char *code_name(enum program_sort sort)
{
    switch (sort) {
    case PROGRAM_SPAWNED:
        return "multiprocessing's spawn";
    case PROGRAM_FORK_SERVER:
        return "multiprocessing's fork server";
    case PROGRAM_HELPER:
        return "multiprocessing's resource tracker";
    case PROGRAM_COMPILER:
        return "torch's compile worker";
    default:
        return "python -c";
    }
}

static void identify_python(const struct python *p, const char *interpreter, struct program *ret)
{
    const char *name = interpreter;
    if (p->code) {
        ret->sort = sort_by_code(p->code);
        name = code_name(ret->sort);
    } else if (p->script && strstr(p->script, "torch/_inductor/compile_worker")) {
        ret->sort = PROGRAM_COMPILER;
        name = "torch's compile worker";
    } else if (p->module && strstr(p->module, "loky.backend.popen_loky")) {
        ret->sort = PROGRAM_SPAWNED;
        name = "joblib";
    } else if (p->module || p->script) {
        name = p->module ? p->module : base_name(p->script);
        ret->sort = sort_by_name(name);
    }
    copy_clean(ret->name, sizeof ret->name, name);
}

/* ---- any program ---- */

/* "-bash" is a login shell; a title may follow the name: "sshd: me@pts/0". */
static void set_name(struct program *ret, const char *first)
{
    const char *base = *first == '-' ? first + 1 : first;
    if (!strstr(base, ": "))
        base = base_name(base);
    copy_clean(ret->name, sizeof ret->name, base);
    ret->name[strcspn(ret->name, " (")] = '\0';
}

/* `list` ends with an extra NUL. */
static void identify(const char *list, size_t len, struct program *ret)
{
    const char *next = list;
    const char *first = arguments_next(list, len, &next);
    set_name(ret, first);
    if (is_python(ret->name)) {
        struct python p = read_python(list, len, next);
        identify_python(&p, first, ret);
        if (!p.code && !p.module && !p.script)
            set_name(ret, first);
        return;
    }
    ret->sort = sort_by_name(ret->name);
}

void program_identify(const char *arguments, size_t len, const char *comm, struct program *ret)
{
    *ret = (struct program){.sort = PROGRAM_ANY};
    if (len > 0 && arguments && *arguments) {
        struct buf list = BUF_INIT;
        buf_add(&list, arguments, len);
        identify(list.text, len, ret);
        buf_release(&list);
    } else if (comm) {
        set_name(ret, comm);
        ret->sort = sort_by_name(ret->name);
    }
}
