"""The page that `tidemark report`, `compare --html` and the server show, in a real Chromium.

run.py BUILD [NAME...]: web/built is what web/src makes, its types hold, and tests/page/cases.mjs
looks at every view, of real runs and of hostile ones, and clicks and types in them. Without
Chromium or npm these cases are skipped, and say so.
"""
import contextlib
import functools
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
ROOT = HERE.parents[1]
WEB = ROOT / "web"
sys.path[:0] = [str(HERE.parent), str(HERE)]

import runner  # noqa: E402
import runs  # noqa: E402
from runner import Case, Skipped, expect  # noqa: E402


@functools.lru_cache(None)
def packages():
    """Installs what web/package-lock.json names. None: it is there; otherwise why it is not."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            return "%s is not installed (the packages nodejs and npm)" % program
    kept = WEB / "node_modules/.package-lock.json"
    if kept.exists() and kept.stat().st_mtime >= (WEB / "package-lock.json").stat().st_mtime:
        return None
    done = subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=WEB, capture_output=True, text=True)
    return None if done.returncode == 0 else "npm cannot install its packages: " + done.stderr[-300:]


def need_packages():
    if packages():
        raise Skipped(packages())


def call(*command, cwd=WEB):
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True)
    expect(done.returncode == 0, " ".join(map(str, command)), done.stdout, done.stderr)
    return done.stdout.strip()


def built_is_what_the_source_makes():
    need_packages()
    return call("node", "build.mjs", "--check")


def types_hold():
    need_packages()
    return call("node", "node_modules/typescript/bin/tsc", "--noEmit")


def source_is_laid_out():
    need_packages()
    files = sorted([*WEB.glob("src/*.ts"), *WEB.glob("bench/*"), *WEB.glob("*.mjs"), *HERE.glob("*.mjs")])
    return call("node", "node_modules/prettier/bin/prettier.cjs", "--config", ".prettierrc", "--list-different", *files)


def nothing_is_fetched():
    """Neither script nor style names an address, but those of XML's own names."""
    for name in ("page.js", "page.css"):
        text = (WEB / "built" / name).read_text().replace("http://www.w3.org/2000/svg", "")
        for word in ("http:", "https:", "//cdn", "@import", "eval(", "new Function", "innerHTML", "document.write"):
            expect(word not in text, "%s has %s" % (name, word))


def need_browser():
    need_packages()
    if not shutil.which("chromium"):
        raise Skipped("no Chromium is installed (the package chromium)")


def in_browser(folder, name):
    need_browser()
    return call("node", HERE / "cases.mjs", folder, name)


@contextlib.contextmanager
def program(*command):
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        process.stdout.close()


def a_running_job_is_shown(build):
    need_browser()
    with tempfile.TemporaryDirectory() as folder:
        run, page = pathlib.Path(folder) / "running.tide", pathlib.Path(folder) / "running.html"
        workload = build / "tests/workloads/leak_one_of_eight"
        with program(build / "tidemark", "run", "--quiet", "-o", run, "--", workload, "--steps", "100000", "--step-ms", "5"):
            for _ in range(150):
                time.sleep(0.2)
                subprocess.run([build / "tidemark", "report", run, "-o", page], capture_output=True)
                if page.exists():
                    break
        return call("node", HERE / "cases.mjs", folder, "a_running_job_is_shown")


def the_server_shows_the_same(build, folder):
    need_browser()
    known = subprocess.run([build / "tidemark", "serve", "--help"], capture_output=True)
    if known.returncode:
        raise Skipped("this program has no server")
    with program(build / "tidemark", "serve", folder) as server:
        address = re.search(r"http://\S+/", server.stdout.readline())
        expect(address, "the server says no address")
        os.environ["SERVER"] = address.group(0)
        return call("node", HERE / "cases.mjs", folder, "the_server_shows_the_same")


def browser_cases(folder):
    if packages():
        return [Case("in a browser", need_packages)]
    names = subprocess.run(["node", str(HERE / "cases.mjs"), "-", "--list"], capture_output=True, text=True)
    return [Case(runner.words(name), functools.partial(in_browser, folder, name)) for name in names.stdout.split()]


def main():
    options = runner.arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        runs.make(folder)
        failed = runs.write_pages(pathlib.Path(options.target) / "tidemark", folder)
        cases = [Case("every run file becomes a page", lambda: expect(not failed, failed))]
        cases += [Case(runner.words(f.__name__), f) for f in (built_is_what_the_source_makes, types_hold, source_is_laid_out, nothing_is_fetched)]
        build = pathlib.Path(options.target)
        cases += browser_cases(folder)
        cases += [Case("a running job is shown", functools.partial(a_running_job_is_shown, build)),
                  Case("the server shows the same", functools.partial(the_server_shows_the_same, build, folder))]
        return runner.run_all([c for c in cases if runner.is_wanted(c.name, options.names)], 2)


if __name__ == "__main__":
    sys.exit(main())
