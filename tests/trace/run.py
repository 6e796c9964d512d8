#!/usr/bin/env python3
"""tests/trace/run.py BUILD [--long] [NAME...]: allocations that do not pass the preloaded functions.

Real programs that keep a known amount of memory, in every way that is known to go past an
interposed malloc(); other allocators before and behind the tracer; and Python programs to which it
attaches. One line a case, `N passed, N failed` last.
"""

import array
import functools
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
import runner
from runner import Skipped, expect

PYTHON = "/usr/bin/python3"
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc.so.4",
              "mimalloc": "libmimalloc.so.2"}
SHARE = 0.9  # of what a program keeps, that its line must explain


class Bench:
    def __init__(self, build, python=PYTHON):
        self.build = pathlib.Path(build)
        self.python = python
        self.tidemark = str(self.build / "tidemark")
        self.folder = tempfile.TemporaryDirectory(prefix="trace-")
        self.run_file = os.path.join(self.folder.name, "run.tide")

    def tool(self, name):
        return str(self.build / "tests" / name)

    def traced(self):
        """The only process of the run file that was traced; None: none was."""
        done = subprocess.run([self.tidemark, "export", self.run_file, "--json"],
                              capture_output=True, text=True)
        if "no allocations were traced" in done.stderr:
            return None
        expect(done.returncode == 0, "export failed", done.stderr)
        processes = [p for p in json.loads(done.stdout)["processes"] if p["sites"]]
        expect(len(processes) < 2, "%d processes" % len(processes))
        return processes[0] if processes else None

    def run(self, *command, preload="", interval="8KB"):
        """(what it printed, what was traced)"""
        env = dict(os.environ, LD_PRELOAD=preload)
        done = subprocess.run([self.tidemark, "run", "--quiet", "--trace=" + interval, "-o",
                               self.run_file, "--", *command],
                              capture_output=True, text=True, env=env, timeout=120)
        expect(done.returncode == 0, "exit status %d" % done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr, self.traced()

    def keeps(self, way, function, *, preload="", behind="", interval="8KB"):
        """`ways` in this way: the site of the function explains what it keeps."""
        command = [self.tool("trace_ways"), way, self.tool("libtrace_plugin.so")]
        if behind:
            command = ["/bin/sh", "-c", 'LD_PRELOAD="$LD_PRELOAD:%s" exec "$@"' % behind, "sh",
                       *command]
        printed, process = self.run(*command, preload=preload, interval=interval)
        kept = int(re.search(r"^kept (\d+)$", printed, re.M).group(1))
        expect(process, "not traced", printed)
        expect_named(process, function, kept)
        return printed


def functions(site):
    return [frame.get("function", "") for frame in site["frames"]]


def expect_named(process, function, kept):
    """At least SHARE of it, and not much more, has that function on its stack."""
    named = sum(s["live"] for s in process["sites"] if function in functions(s))
    said = ["%d %s %s" % (s["live"], s["summary"], functions(s)) for s in process["sites"]]
    expect(SHARE * kept <= named <= 1.1 * kept, "%s: %d of %d bytes" % (function, named, kept),
           "\n".join(said))


# ---- ways to allocate ----


def names_a_plain_leak(bench):
    bench.keeps("plain", "keep_plainly")


def names_operators_of_cpp(bench):
    bench.keeps("operator", "keep_by_operator")


def names_who_asked_the_c_library_for_malloc(bench):
    bench.keeps("libc", "keep_looked_up")


def names_who_asked_the_program_for_malloc(bench):
    bench.keeps("program", "keep_looked_up")


def names_a_file_loaded_later(bench):
    bench.keeps("plugin", "plugin_keep")


def names_a_file_loaded_and_unloaded_each_time(bench):
    bench.keeps("passing", "plugin_keep")


def passes_on_between_others_that_ask_for_the_next(bench):
    """RTLD_NEXT is answered for the file that asks, before and behind ours."""
    library = bench.tool("libtrace_passes_on.so")
    for side in ("preload", "behind"):
        printed = bench.keeps("plain", "keep_plainly", **{side: library})
        expect(int(re.search(r"passed on (\d+)", printed).group(1)) >= 4000, printed)
        os.remove(bench.run_file)


def names_what_ctypes_gets_from_the_c_library(bench):
    program = ("import ctypes, time\n"
               "libc = ctypes.CDLL('libc.so.6')\n"
               "libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]\n"
               "def keep_by_ctypes():\n"
               "    ctypes.memset(libc.malloc(30000), 1, 30000)\n"
               "for _ in range(2000):\n"
               "    keep_by_ctypes()\n"
               "    time.sleep(0.0005)\n")
    path = os.path.join(bench.folder.name, "by_ctypes.py")
    pathlib.Path(path).write_text(program)
    _, process = bench.run(PYTHON, path, interval="16KB")
    expect_named(process, "keep_by_ctypes", 2000 * 30000)


# ---- other allocators ----


def installed(allocator):
    library = ALLOCATORS[allocator]
    done = subprocess.run(["/bin/true"], env={"LD_PRELOAD": library}, capture_output=True, text=True)
    if done.stderr:
        raise Skipped("%s is not installed" % library)
    return library


def names_a_leak_with_it_before(bench, allocator):
    for way, function in (("plain", "keep_plainly"), ("array", "keep_array"),
                          ("text", "keep_text"), ("operator", "keep_by_operator"),
                          ("plugin", "plugin_keep"),
                          ("passing", "plugin_keep")):
        bench.keeps(way, function, preload=installed(allocator))
        os.remove(bench.run_file)


def leaves_a_file_alone_that_is_bound_to_the_c_library(bench):
    """It has been told to look in its own libraries first: its blocks are not of the program's
    allocator, and are freed by the one that made them."""
    command = [bench.tool("trace_ways"), "deep", bench.tool("libtrace_plugin.so")]
    printed, process = bench.run(*command, preload=installed("jemalloc"))
    expect("kept" in printed, printed)
    expect(not process or all("plugin_keep" not in functions(s) for s in process["sites"]),
           "its blocks are counted")


def names_a_leak_with_it_behind(bench, allocator):
    for way, function in (("plain", "keep_plainly"), ("array", "keep_array"),
                          ("operator", "keep_by_operator"), ("passing", "plugin_keep")):
        bench.keeps(way, function, behind=installed(allocator))
        os.remove(bench.run_file)


# ---- the tracer's own memory ----

OWN_KB = 64  # what it may add to the program's own memory; its tables alone have 440


def own_memory(bench, option):
    """{moment: (KB of its own, KB shared)}, and the answer"""
    answer = os.path.join(bench.folder.name, "answer.json")
    done = subprocess.run([bench.tidemark, "run", option, "--no-store", "--quiet", "--json", answer,
                           "--", bench.tool("trace_own_memory"), "300"],
                          capture_output=True, text=True, timeout=120)
    expect(done.returncode == 0, "exit status %d" % done.returncode, done.stderr)
    said = re.findall(r"^(\w+) (\d+) (\d+)$", done.stdout, re.M)
    return ({moment: (int(own), int(shared)) for moment, own, shared in said},
            json.loads(pathlib.Path(answer).read_text()))


def adds_nothing_to_the_memory_of_the_program(bench):
    """The tables of an armed process would look like growth, and just while a leak is measured."""
    bare, _ = own_memory(bench, "--no-trace")
    armed, answer = own_memory(bench, "--trace=8KB")
    expect(armed["samples"][1] > bare["samples"][1] + 4096, "not armed", armed)
    for moment, (own, _) in bare.items():
        expect(armed[moment][0] <= own + OWN_KB, "%s: %s KB, not %s" % (moment, armed, bare))
    shared = [s for s in answer["series"] if s["kind"] in ("host.shmem", "shm")]
    expect(all(s["last"] <= OWN_KB << 10 for s in shared), "shared memory of the tracer's", shared)


# ---- other profilers ----


def calls_nothing_that_a_profiler_hooks_in_the_copy_for_a_census(bench):
    """memray's file is the program's too: what its functions write in the copy breaks it."""
    program = ("import time\n"
               "kept = []\n"
               "for n in range(150):\n"
               "    kept.append([bytearray(1000) for _ in range(50)])\n"
               "    print('step', n, flush=True)\n"
               "    time.sleep(.01)\n")
    answer = os.path.join(bench.folder.name, "answer.json")
    done = subprocess.run([bench.tidemark, "run", "--quiet", "--no-store", "--json", answer, "--",
                           PYTHON, "-c", program], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, LD_PRELOAD=bench.tool("libtrace_hooked.so")))
    said = re.search(r"^hooked in a copy (\d+)$", done.stderr, re.M)
    expect(done.returncode == 0 and said, "it did not end well", done.stderr)
    censuses = json.loads(pathlib.Path(answer).read_text()).get("censuses")
    expect(censuses, "no census", censuses)
    expect(said.group(1) == "0", "%s calls" % said.group(1))


# ---- sandboxes ----


def harms_no_program_that_gave_up_system_calls(bench):
    """Its memory is suspect, and it is not traced: a sample's system calls would end it."""
    for steps in ("20", "500"):
        done = subprocess.run([bench.tidemark, "run", "--quiet", "-o", bench.run_file, "--",
                               bench.tool("trace_sandboxed"), steps],
                              capture_output=True, text=True, timeout=120)
        if done.returncode == 77:
            raise Skipped("there is no seccomp")
        expect(done.returncode == 0, "exit status %d" % done.returncode, done.stdout[-100:])
        expect(bench.traced() is None, "traced", done.stderr)
        os.remove(bench.run_file)


# ---- sanitizers ----


def stays_out_of_a_checking_program(bench):
    program = os.path.join(bench.folder.name, "checked")
    done = subprocess.run(["gcc", "-g", "-D_GNU_SOURCE", "-fsanitize=address", "-static-libasan", "-o", program,
                           str(HERE / "ways.c"), "-lstdc++"], capture_output=True, text=True)
    if done.returncode:
        raise Skipped("the compiler has no static AddressSanitizer")
    printed, process = bench.run(program, "plain")
    expect("kept" in printed and "AddressSanitizer" not in printed, printed)
    expect(process is None, "traced")


# ---- attached ----


class Target:
    """A Python program that runs, to attach to."""

    def __init__(self, bench, seconds, *how, preload="", program="attached.py"):
        names = subprocess.run(["nm", str(bench.build / "libtidemark_probe.so")],
                               capture_output=True, text=True).stdout
        self.queued = [int(at, 16) for at in re.findall(r"^(\w+) t on_pending$", names, re.M)]
        env = dict(os.environ, LD_PRELOAD=preload) if preload else os.environ
        self.child = subprocess.Popen([bench.python, str(HERE / program), str(seconds), *how],
                                      env=env, text=True, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT)
        expect(self.child.stdout.readline() == "ready\n", "it does not begin")

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        self.child.stdout.close()

    def finish(self):
        """It ends as it would have without us."""
        said = self.child.stdout.read()
        expect(self.child.wait() == 0 and said.endswith("fine\n"),
               "it ended with %s" % self.child.returncode, said)

    def maps(self):
        for line in pathlib.Path("/proc/%d/maps" % self.child.pid).read_text().splitlines():
            fields = line.split(None, 5)
            begin, end = (int(x, 16) for x in fields[0].split("-"))
            yield begin, end, fields[1], fields[5] if len(fields) > 5 else ""

    def written(self):
        """Parts of loaded files that this process has written into: (begin, end)."""
        place = None
        for line in pathlib.Path("/proc/%d/smaps" % self.child.pid).read_text().splitlines():
            fields = line.split(None, 5)
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                name = fields[5] if len(fields) > 5 else ""
                is_file = name.startswith("/") and "tidemark" not in name and "x" not in fields[1]
                place = tuple(int(x, 16) for x in fields[0].split("-")) if is_file else None
            elif place and fields[0] == "Private_Dirty:" and int(fields[1]) > 0:
                yield place

    def slots(self):
        """Words in the data of loaded files that lead into the probe's code. The interpreter's
        queue of pending calls keeps those that were done, until others come."""
        probe = [p for p in self.maps() if "libtidemark" in p[3]]
        code = [(b, e) for b, e, how, name in probe if "x" in how]
        if not code:
            return 0
        queued = {probe[0][0] + offset for offset in self.queued}
        count = 0
        with open("/proc/%d/mem" % self.child.pid, "rb", buffering=0) as memory:
            for begin, end in self.written():
                words = array.array("Q")
                memory.seek(begin)
                try:
                    words.frombytes(memory.read(end - begin))
                except (OSError, ValueError):  # behind the end of its file, or gone meanwhile
                    continue
                count += sum(1 for w in words
                             if any(b <= w < e for b, e in code) and w not in queued)
        return count

    def sealed(self):
        """How many parts of files are writable: none that was not before."""
        return sorted((b, e, how) for b, e, how, name in self.maps()
                      if name.startswith("/") and "tidemark" not in name)


def profile(bench, target, seconds, interval="32KB"):
    command = [bench.tidemark, "profile", "--pid", str(target.child.pid), "--trace=" + interval,
               "--seconds", str(seconds), "-o", bench.run_file]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def profiled(bench, target, seconds, interval="32KB"):
    """(the most slots that were seen to lead to the probe, what it printed)"""
    most = 0
    with profile(bench, target, seconds, interval) as done:
        while done.poll() is None:
            most = max(most, target.slots())
            time.sleep(0.2)
        said = done.stdout.read()
    expect(done.returncode == 0, "exit status %d" % done.returncode, said)
    return most, said


def traces_and_leaves(bench, *how, shares, preload=""):
    """`shares`: of what is kept, by functions of the program."""
    target = Target(bench, 14, *how, preload=preload)
    try:
        before = target.sealed()
        most, said = profiled(bench, target, 6)
        process = bench.traced()
        expect(process, "not traced", said)
        expect(most > 20, "%d slots were patched" % most)
        expect(target.slots() == 0, "%d slots were left" % target.slots())
        after = [p for p in target.sealed() if p not in before]
        expect(all("w" not in mode for _, _, mode in after), "left writable: %s" % after)
        for function, share in shares.items():
            named = sum(s["live"] for s in process["sites"] if function in functions(s))
            expect(abs(named / process["kept"] - share) <= 0.15,
                   "%s: %d of %d bytes" % (function, named, process["kept"]), said)
        target.finish()
        return "%d slots were changed, and put back" % most
    finally:
        target.close()


BOTH = {"keep_in_python": 0.5, "keep_by_ctypes": 0.5}


def traces_a_running_program_and_leaves(bench):
    return traces_and_leaves(bench, shares=BOTH)


def traces_a_running_training_and_leaves(bench):
    return traces_and_leaves(bench, "torch", shares=BOTH)


def traces_a_running_program_that_loads_files(bench):
    third = 1 / 3
    return traces_and_leaves(bench, bench.tool("libtrace_plugin.so"),
                             shares={**dict.fromkeys(BOTH, third), "plugin_keep": third})


def traces_a_running_program_with_another_allocator(bench):
    """The C library's own malloc(), which ctypes calls, is not the program's then."""
    return traces_and_leaves(bench, preload=installed("jemalloc"), shares={"keep_in_python": 1})


def comes_and_goes_in_a_busy_program(bench):
    target = Target(bench, 18, bench.tool("libtrace_plugin.so"), program="busy.py")
    try:
        come_and_go(bench, target, 3, seconds=2)  # files are loaded all the time: it waits
        target.finish()
    finally:
        target.close()


def come_and_go(bench, target, times, seconds=1):
    for number in range(times):
        most, said = profiled(bench, target, seconds)
        expect(most > 10, "time %d: %d slots were patched" % (number, most), said)
        expect(target.slots() == 0, "time %d: %d slots were left" % (number, target.slots()))
        os.remove(bench.run_file)


def comes_and_goes(bench, times):
    target = Target(bench, 4 * times)
    try:
        come_and_go(bench, target, times)
        target.finish()
    finally:
        target.close()


def leaves_when_the_watcher_is_killed(bench):
    target = Target(bench, 10)
    try:
        watcher = profile(bench, target, 30)
        for _ in range(100):
            time.sleep(0.1)
            if target.slots() > 20:
                break
        watcher.kill()
        watcher.communicate()
        for _ in range(50):
            time.sleep(0.1)
            if target.slots() == 0:
                break
        expect(target.slots() == 0, "%d slots were left" % target.slots())
        target.finish()
    finally:
        target.close()


def wait_until(holds, what):
    for _ in range(100):
        if holds():
            return
        time.sleep(0.1)
    expect(False, what)


def samples_no_more_when_the_watcher_is_killed(bench):
    """Of a command that goes on: nobody would tell it otherwise."""
    command = [bench.tidemark, "run", "--quiet", "--no-store", "--trace=32KB", "--", PYTHON,
               str(HERE / "attached.py"), "12.0%d" % os.getpid()]
    watcher = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    expect(watcher.stdout.readline() == "ready\n", "it does not begin")
    pid = int(subprocess.run(["pgrep", "-f", "^%s .*%s$" % (PYTHON, command[-1])],
                             capture_output=True, text=True).stdout.split()[0])

    def armed():
        files = glob.glob("/dev/shm/tidemark-*/%d-*.trace" % pid)
        done = subprocess.run([bench.tool("trace_dump"), *files], capture_output=True, text=True)
        return json.loads(done.stdout)["armed"] if files else None
    wait_until(lambda: armed() == 1, "it was not armed")
    folder = os.path.dirname(glob.glob("/dev/shm/tidemark-*/%d-*.trace" % pid)[0])
    watcher.kill()
    watcher.wait()
    wait_until(lambda: armed() == 0, "it samples on")
    os.kill(pid, signal.SIGKILL)
    watcher.stdout.close()
    shutil.rmtree(folder, ignore_errors=True)


# ----

CASES = [names_a_plain_leak, names_operators_of_cpp, names_who_asked_the_c_library_for_malloc,
         names_who_asked_the_program_for_malloc, names_a_file_loaded_later,
         names_a_file_loaded_and_unloaded_each_time,
         passes_on_between_others_that_ask_for_the_next, names_what_ctypes_gets_from_the_c_library,
         adds_nothing_to_the_memory_of_the_program, stays_out_of_a_checking_program,
         harms_no_program_that_gave_up_system_calls,
         calls_nothing_that_a_profiler_hooks_in_the_copy_for_a_census,
         leaves_a_file_alone_that_is_bound_to_the_c_library,
         traces_a_running_program_and_leaves, traces_a_running_training_and_leaves,
         traces_a_running_program_that_loads_files,
         traces_a_running_program_with_another_allocator, comes_and_goes_in_a_busy_program,
         leaves_when_the_watcher_is_killed, samples_no_more_when_the_watcher_is_killed]
PARALLEL = 2
NEWER = (3, 14)  # from here on nobody has tried to attach


def case_of(name, function, build, python=PYTHON):
    def run():
        bench = Bench(build, python)
        with bench.folder:
            return function(bench)
    return runner.Case(runner.words(name), run)


def chosen(asked):
    for function in CASES:
        yield case_of(function.__name__, function, asked.target)
    for allocator in ALLOCATORS:
        for function in (names_a_leak_with_it_before, names_a_leak_with_it_behind):
            yield case_of("%s %s" % (allocator, function.__name__),
                          functools.partial(function, allocator=allocator), asked.target)
    for version, python in runner.interpreters(asked.every):
        if python != PYTHON and version < NEWER:
            yield case_of("%s %s" % (runner.text(version), traces_a_running_program_and_leaves.__name__),
                          traces_a_running_program_and_leaves, asked.target, python)
    times = 50 if asked.long else 6
    yield case_of("comes and goes %d times" % times,
                  functools.partial(comes_and_goes, times=times), asked.target)


def main():
    asked = runner.arguments(__doc__)
    cases = [c for c in chosen(asked) if runner.is_wanted(c.name, asked.names)]
    return runner.run_all(cases, PARALLEL)


if __name__ == "__main__":
    sys.exit(main())
