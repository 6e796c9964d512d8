#!/usr/bin/env python3
"""tests/python/packaged.py: the wheel, installed as users install it, and in a notebook.

Builds it, installs it into new environments of the oldest and the newest interpreter that is here,
and uses the command, the module and a Watcher. Then a real Jupyter kernel runs cells with one.
Needs PyPI; says so and skips where it cannot be reached. `N passed, N failed` last.
"""

import pathlib
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
import runner

PIP = ["-m", "pip", "--quiet", "--disable-pip-version-check"]

PROGRAM = """
import tidemark
with tidemark.watch(print_every=10) as w:
    for i in range(20):
        w.step(0.5)
    w.epoch_end()
print(tidemark.__version__, w.step_count)
"""

WITHOUT_FRAMEWORK = """
try:
    import tidemark.integrations.{}
except ImportError as error:
    print(error)
"""

CELLS = ["""
import tidemark, os, time
w = tidemark.Watcher(print_every=5)
for i in range(10):
    w.step(0.5)
w.epoch_end()
threads = len(os.listdir("/proc/self/task"))
""", """
while True:
    w.step(0.5)
    time.sleep(0.01)
""", """
w.step(0.5)
print("threads more:", len(os.listdir("/proc/self/task")) - threads, "step", w.step_count > 10)
"""]


def run(*command, **options):
    """What it printed; an error that holds it where it failed."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=600, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}")
    return done.stdout


def expect(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"{part!r} is not in:\n{text}")


def make_environment(python, folder, *packages):
    run(python, "-m", "venv", folder)
    run(folder / "bin" / "python", *PIP, "install", *packages)
    return folder / "bin"


def check_install(python, wheel, folder):
    place = make_environment(python, folder / "venv", wheel)
    expect(run(place / "tidemark", "--version"), "tidemark ")
    expect(run(place / "python", "-m", "tidemark", "--help"), "usage: tidemark")
    for name in ("transformers", "lightning"):
        expect(run(place / "python", "-c", WITHOUT_FRAMEWORK.format(name)),
               f"tidemark.integrations.{name} needs {name}")
    (folder / "train.py").write_text(PROGRAM)
    expect(run(place / "python", "train.py", cwd=folder), "Step     20 | loss=0.5000",
           "✓ Epoch 1 complete", "verdict:")
    expect(run(place / "python", "-m", "tidemark", "train.py", cwd=folder), "Step     20",
           "too short to judge its memory")
    expect(run(place / "tidemark", "run", "--", place / "python", "train.py", cwd=folder), " 20 ")


def check_notebook(python, wheel, folder):
    place = make_environment(python, folder / "venv", wheel, "ipykernel", "jupyter_client")
    (folder / "drive.py").write_text(DRIVE)
    said = run(place / "python", "drive.py", cwd=folder)
    expect(said, "Step      5 | loss=0.5000", "✓ Epoch 1 complete", "KeyboardInterrupt",
           "threads more: 0 step True")


# A kernel runs the cells one after another; the second has no end and is interrupted.
DRIVE = f"""
import time
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
try:
    for i, cell in enumerate({CELLS!r}):
        asked = client.execute(cell)
        if i == 1:
            time.sleep(1)
            manager.interrupt_kernel()
        while True:
            message = client.get_iopub_msg(timeout=60)
            content = message["content"]
            print(content.get("text", ""), content.get("ename", ""))
            is_ours = message["parent_header"].get("msg_id") == asked
            if is_ours and content.get("execution_state") == "idle":
                break
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""


def is_online(folder):
    """An environment of its own has pip, where the interpreter may have none."""
    run(sys.executable, "-m", "venv", folder / "online")
    fetch = [folder / "online" / "bin" / "python", *PIP, "download", "--no-deps", "--dest", folder,
             "meson-python"]
    return subprocess.call(fetch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


def cases(folder):
    """(name, function, its arguments); the wheel is built before the first."""
    print(run(ROOT / "tools" / "wheel", folder).strip())
    wheel = next(folder.glob("tidemark-*.whl"))
    by_version = sorted(runner.interpreters())
    for version, python in dict.fromkeys([by_version[0], by_version[-1]]):
        yield f"installed, Python {runner.text(version)}", check_install, (python, wheel)
    yield "in a notebook", check_notebook, (by_version[-1][1], wheel)


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="tidemark-wheel-") as folder:
        folder = pathlib.Path(folder)
        if not is_online(folder):
            print("skip  PyPI cannot be reached: no wheel is built\n0 passed, 0 failed")
            return 0
        for i, (name, check, arguments) in enumerate(cases(folder)):
            (folder / str(i)).mkdir()
            try:
                check(*arguments, folder / str(i))
                passed += 1
                print(f"ok    {name}", flush=True)
            except Exception:
                failed += 1
                print(f"FAIL  {name}\n{traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
