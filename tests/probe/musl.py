#!/usr/bin/env python3
"""tests/probe/musl.py BUILD: programs with another C library run unharmed below `tidemark run`.

LD_PRELOAD brings the probe into them too. `N passed, N failed` last.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *context)
{
    write(1, "thread\n", 7);
    return context;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int status = 0;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    if (fork() == 0) {
        if (argc > 1)
            execvp(argv[1], argv + 1);
        _exit(5);
    }
    wait(&status);
    printf("child %d\n", WEXITSTATUS(status));
    return 3;
}
"""

TRAINER = "import sys\nfor step in range(300): print('step', step, flush=True)\nsys.exit(7)\n"


def expect(true, said):
    if not true:
        raise AssertionError(said)


def run(build, folder, *command, **more):
    return subprocess.run([build / "tidemark", "run", "--quiet", "--json", folder / "answer.json", "--",
                           *command], cwd=folder, text=True, capture_output=True, **more)


def a_program_runs_to_its_end(build, folder):
    done = run(build, folder, folder / "program")
    expect(done.returncode == 3 and done.stdout == "thread\nchild 5\n", done)


def as_a_grandchild_too(build, folder):
    done = run(build, folder, "sh", "-c", "./program sh -c ./program; exit $?")
    expect(done.returncode == 3 and done.stdout.count("thread\n") == 2, done)


def a_python_below_it_is_watched(build, folder):
    done = run(build, folder, folder / "program", "/usr/bin/python3", "-c", TRAINER)
    expect("child 7" in done.stdout and "step 299" in done.stdout, done)
    expect(json.loads((folder / "answer.json").read_text())["job"]["steps"] >= 250, "its steps are missing")


def the_probe_needs_nothing_that_musl_lacks(build, folder):
    def symbols(path, *options):
        text = subprocess.run(["nm", "-D", *options, path], check=True, text=True,
                              capture_output=True).stdout
        return [line.split()[-2:] for line in text.splitlines()]

    libc = next(pathlib.Path("/usr/lib").glob("*-linux-musl/libc.so"))
    there = {name for _, name in symbols(libc, "--defined-only")}
    needed = {name.partition("@")[0] for kind, name in
              symbols(build / "libtidemark_probe.so", "--undefined-only") if kind == "U"}
    expect(len(needed) > 50 and len(there) > 1000, "the lists are not what they should be")
    expect(needed <= there, sorted(needed - there))


CASES = [a_program_runs_to_its_end, as_a_grandchild_too, a_python_below_it_is_watched,
         the_probe_needs_nothing_that_musl_lacks]


def main():
    build, failed = pathlib.Path(sys.argv[1]).resolve(), 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "program.c").write_text(PROGRAM)
        subprocess.run(["musl-gcc", "-o", folder / "program", folder / "program.c"], check=True)
        for case in CASES:
            try:
                case(build, folder)
                print("ok " + case.__name__)
            except AssertionError as reason:
                failed += 1
                print("FAILED %s: %s" % (case.__name__, reason))
    print("%d passed, %d failed" % (len(CASES) - failed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
