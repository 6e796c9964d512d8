"""Jobs that run already, entered by their pid: profile, objects, and watch when something grows."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from bench import Skipped, check, children_of, equal, load_json, state_of, wait_until

# Counts what it does, and tells when it is told to end: so it ends with the right results, or not.
LOOP = """\
import os, sys, time
kept = {}
def work():
    n = 0
    while not os.path.exists("stop"):
        kept[n] = bytes(20000) + bytes([n % 256])
        n += 1
        if len(sys.argv) > 1:
            print("step", n, flush=True)
        time.sleep(0.002)
    return n
n = work()
wrong = [k for k in range(n) if kept[k][-1] != k % 256]
open("result", "w").write("%d %d" % (len(kept) == n, len(wrong)))
"""

TRAINING = """\
import os, sys, time, torch
torch.manual_seed(0)
net = torch.nn.Linear(32, 32)
optimizer = torch.optim.Adam(net.parameters())
def train():
    loss_history, steps = [], 0
    while steps < int(sys.argv[1]):
        loss = (net(torch.randn(8, 32)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_history.append(loss)
        steps += 1
        if steps == 3:
            open("begun", "w").write("1")
        time.sleep(0.002)
    return float(sum(l.item() for l in loss_history))
total = train()
from torch.autograd import profiler
from torch.optim import optimizer as module
hooks = len(getattr(module, "_global_optimizer_post_hooks", ()))
print("%.9f" % total, type(profiler.record_function.__exit__).__name__,
      type(torch.utils.data.dataloader._BaseDataLoaderIter.__next__).__name__, hooks)
"""


def _start(b, text, *arguments, wrap=(), **more):
    """Its process, once it works."""
    (b.folder / "job.py").write_text(text)
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [*wrap, sys.executable, "job.py", *map(str, arguments)]
    return b.start(command, env=env, **more)


def _start_training(b, steps, **more):
    if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode:
        raise Skipped("there is no torch here")
    job = _start(b, TRAINING, steps, **more)
    b.wait_for_file("begun")
    return job


def _tidemark(b, command, pid, *options, **more):
    return b.run([str(b.tidemark), command, "--pid", str(pid), *map(str, options)], **more)


def _profile(b, pid, *options):
    """The answer, and what was said."""
    done = _tidemark(b, "profile", pid, "--json", *options)
    equal(done.returncode, 0, "status", done.stderr.decode())
    return load_json(done.stdout.decode()), done.stderr.decode()


def _end(b, job):
    (b.folder / "stop").touch()
    equal(job.wait(20), 0, "status of the job")
    equal((b.folder / "result").read_text(), "1 0", "its results")


def _traces(pid):
    """What of tidemark is to be seen in a process but the library: threads, mappings, files."""
    tasks = pathlib.Path("/proc/%d/task" % pid).iterdir()
    names = [(t / "comm").read_text().strip() for t in tasks]
    maps = pathlib.Path("/proc/%d/maps" % pid).read_text()
    files = [os.readlink(f) for f in pathlib.Path("/proc/%d/fd" % pid).iterdir()]
    return ([n for n in names if "tidemark" in n] + re.findall(r"/dev/shm/tidemark\S*", maps) +
            re.findall(r"memfd:tidemark\S*", maps) + [f for f in files if "tidemark" in f])


def _check_left(pid):
    """Its last thread of ours may still be on its way out."""
    wait_until(lambda: not _traces(pid), "nothing but the library to be left", 10)


def _libraries(pid):
    maps = pathlib.Path("/proc/%d/maps" % pid).read_text()
    return set(re.findall(r"\S*libtidemark_probe\S*", maps))


# Steps that go through methods which are replaced while it is watched.
STEPS = """\
import os, torch
optimizer, n = torch.optim.SGD(), 0
while not os.path.exists("stop"):
    assert optimizer.step() == "made"
    n += 1
    if n == 3:
        open("begun", "w").write("1")
open("result", "w").write("1 0")
"""


# ---- profile ----


def a_loop_without_torch(b):
    """Its holder is named; it is left as it was but for one library, and ends with its results."""
    job = _start(b, LOOP)
    time.sleep(0.5)
    answer, said = _profile(b, job.pid, "--seconds", 3)
    finding = answer["findings"][0]
    equal((finding["holder"], finding["where"]), ("dict 'kept'", "job.py:6"), "holder", finding)
    entered = answer["entered"][0]
    equal((entered["left"], entered["pid"]), (True, job.pid), "entered", entered)
    check(entered["stopped_seconds"] > 0 and entered["stops"] > 0, "no stop is told", entered)
    equal(answer.get("growing_so_far"), True, "nothing is proven in 3 s")
    _check_left(job.pid)
    equal(len(_libraries(job.pid)), 1, "libraries")
    check("attached to trainer %d" % job.pid in said, "it is not said", said)
    _end(b, job)


def steps_are_read_from_a_file(b):
    """A loop that prints into a file: steps come from there."""
    with open(b.folder / "log", "w") as log:
        job = _start(b, LOOP, "prints", stdout=log)
    time.sleep(0.5)
    done = _tidemark(b, "profile", job.pid, "--json", b.folder / "answer", "--steps", 900)
    equal(done.returncode, 0, "status", done.stderr.decode())
    check("why: " in done.stdout.decode(), "no report beside the file", done.stdout.decode())
    answer = load_json((b.folder / "answer").read_text())
    equal(answer["job"]["steps_from"], "output", "steps", answer["job"])
    check(answer["job"]["steps"] >= 899, "too few steps", answer["job"])
    check(answer["findings"], "nothing was found", answer["censuses"], answer.get("undecided"))
    equal(answer["findings"][0]["holder"], "dict 'kept'", "holder")
    check(0.9 < answer["findings"][0]["count_per_step"] < 1.1, "rate", answer["findings"][0])
    _end(b, job)


def steps_of_optimizers(b):
    """They are heard of an optimizer that was there; the training ends as if nobody had come."""
    with open(b.folder / "alone", "wb") as output:
        alone = _start_training(b, 2000, stdout=output)
        equal(alone.wait(60), 0, "status")
    (b.folder / "begun").unlink()
    with open(b.folder / "output", "wb") as output:
        job = _start_training(b, 2000, stdout=output)
        answer, _ = _profile(b, job.pid, "--steps", 800)
        equal(answer["job"]["steps_from"], "optimizer", "steps", answer["job"])
        finding = answer["findings"][0]
        check(finding["holder"] == "list 'loss_history'" and "train" in finding["where"] and
              0.9 < finding["count_per_step"] < 1.1, "holder", finding)
        _check_left(job.pid)
        equal(job.wait(60), 0, "status")
    equal((b.folder / "output").read_bytes(), (b.folder / "alone").read_bytes(),
          "its result, and what is hooked at the end")


def a_killed_watcher_leaves_nothing(b):
    """Killed in the middle: hooks, thread, ring and directory are gone; it can be entered again."""
    with open(b.folder / "output", "wb") as output:
        job = _start_training(b, 3000, stdout=output)
        before = set(pathlib.Path("/dev/shm").glob("tidemark-*"))
        watcher = b.start([str(b.tidemark), "profile", "--pid", str(job.pid), "--seconds", "30"])
        wait_until(lambda: _traces(job.pid), "a trace of it in the job")
        time.sleep(1)
        ours = {d for d in set(pathlib.Path("/dev/shm").glob("tidemark-*")) - before
                if list(d.glob("%d-*" % job.pid))}
        watcher.kill()
        wait_until(lambda: not _traces(job.pid), "the job to be left", 5)
        check(ours, "no directory was found")
        wait_until(lambda: not any(d.exists() for d in ours), "the directory to be removed", 5)
        answer, _ = _profile(b, job.pid, "--steps", 50)
        check(answer["entered"][0]["left"], "left", answer["entered"])
        equal(job.wait(60), 0, "status")
    total, exit_type, next_type, hooks = (b.folder / "output").read_text().split()
    equal((exit_type, next_type, hooks), ("function", "function", "0"), "hooks")


def one_at_a_time(b):
    """A second one is refused, with the reason, as long as the first is in."""
    job = _start(b, LOOP)
    time.sleep(0.3)
    first = b.start([str(b.tidemark), "profile", "--pid", str(job.pid), "--seconds", "30"])
    wait_until(lambda: _traces(job.pid), "a trace of it in the job")
    done = _tidemark(b, "profile", job.pid, "--seconds", 1)
    equal(done.returncode, 1, "status", done.stdout)
    check(b"Another tidemark is in it" in done.stderr, "reason", done.stderr)
    first.send_signal(signal.SIGINT)
    equal(first.wait(10), 0, "status of the first")
    _check_left(job.pid)
    _end(b, job)


def ctrl_c_half_way(b):
    """What was seen so far is reported, and the job is left."""
    job = _start(b, LOOP)
    time.sleep(0.3)
    with open(b.folder / "report", "wb") as report:
        profile = b.start([str(b.tidemark), "profile", "--pid", str(job.pid), "--seconds", "60",
                           "--full"], stdout=report)
        wait_until(lambda: _traces(job.pid), "a trace of it in the job")
        time.sleep(1.5)
        profile.send_signal(signal.SIGINT)
        equal(profile.wait(10), 0, "status")
    said = (b.folder / "report").read_text()
    check("dict `kept`" in said and "detached;" in said, "report", said)
    _check_left(job.pid)
    _end(b, job)


def a_wrapper_leads_to_its_trainer(b):
    """The pid of a shell: the Python below is entered, and that is said."""
    (b.folder / "wrap.sh").write_text('"$@"\ntrue\n')
    shell = _start(b, LOOP, wrap=["bash", "wrap.sh"])
    pid = wait_until(lambda: children_of(shell.pid), "the shell's command")[0]
    time.sleep(0.5)
    answer, said = _profile(b, shell.pid, "-", "--seconds", 2)
    equal([e["pid"] for e in answer["entered"]], [pid], "entered")
    check("which wrapper %d has started" % shell.pid in said, "it is not said", said)
    _end(b, shell)


def all_ranks_are_entered(b):
    """Two ranks of one launcher: both, and what they have in common is told once."""
    ranks = 'RANK=0 "$@" & RANK=1 "$@" & wait'
    shell = _start(b, LOOP, wrap=["bash", "-c", ranks, "bash"])
    wait_until(lambda: len(children_of(shell.pid)) == 2, "two ranks")
    time.sleep(0.5)
    answer, _ = _profile(b, shell.pid, "--seconds", 4)
    equal(sorted(e["pid"] for e in answer["entered"]), sorted(children_of(shell.pid)), "entered")
    check(all(e["left"] for e in answer["entered"]), "left", answer["entered"])
    equal((answer["findings"][0]["holder"], answer["findings"][0]["processes"]),
          ("dict 'kept'", 2), "finding", answer["findings"])
    _end(b, shell)


def a_job_that_forks(b):
    """Its children come and go while it is profiled, and all end well."""
    text = LOOP.replace("        time.sleep(0.002)\n", """\
        pid = os.fork()
        if pid == 0:
            os._exit(7 if len(kept) == n and not os.path.exists("/nowhere") else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
""")
    job = _start(b, text)
    time.sleep(0.3)
    answer, _ = _profile(b, job.pid, "--seconds", 3)
    check(answer["entered"][0]["left"], "left", answer["entered"])
    _check_left(job.pid)
    _end(b, job)


def a_container_is_entered_from_outside(b):
    """A process with numbers and a /dev/shm of its own."""
    inside = ["unshare", "--pid", "--fork", "--mount-proc", "--mount", "bash", "-c",
              'mount -t tmpfs none /dev/shm && exec "$@"', "bash"]
    if b.run([*inside, "true"]).returncode != 0:
        raise Skipped("no namespaces can be made here")
    shell = _start(b, LOOP, wrap=inside)
    pid = wait_until(lambda: _below(shell.pid, "job.py"), "the job")
    time.sleep(0.5)
    answer, _ = _profile(b, pid, "--seconds", 3)
    equal(answer["findings"][0]["holder"], "dict 'kept'", "holder", answer)
    equal((answer["entered"][0]["pid"], answer["entered"][0]["left"]), (pid, True), "entered")
    _check_left(pid)
    _end(b, shell)


def what_ends_meanwhile_is_reported(b):
    """The job is killed in the middle of a profile: with a report, and status 0."""
    job = _start(b, LOOP)
    time.sleep(0.5)
    profile = b.start([str(b.tidemark), "profile", "--pid", str(job.pid), "--seconds", "60",
                       "--full"], stdout=subprocess.PIPE)
    wait_until(lambda: _traces(job.pid), "a trace of it in the job")
    time.sleep(3)
    job.kill()  # what it frees at an end of its own is no growth
    said = profile.communicate(timeout=20)[0].decode()
    equal(profile.returncode, 0, "status", said)
    check("dict `kept`" in said and "it has ended since" in " ".join(said.split()), "report", said)


# ---- objects ----


def objects_are_counted(b):
    """Every one of a type, and the bytes that it has."""
    text = ("class Batch:\n    pass\nbatches = [Batch() for _ in range(12345)]\n"
            "blocks = [bytes(1000 + i) for i in range(5000)]\n" + LOOP)
    job = _start(b, text)
    time.sleep(0.5)
    done = _tidemark(b, "objects", job.pid, "--json")
    equal(done.returncode, 0, "status", done.stderr.decode())
    (process,) = load_json(done.stdout.decode())["processes"]
    types = {t["name"]: t for t in process["types"]}
    equal(types["Batch"]["count"], 12345, "of the class", types.keys())
    check(types["bytes"]["count"] > 5000 and types["bytes"]["bytes"] > 5000 * 1000, "bytes",
          types["bytes"])
    done = _tidemark(b, "objects", job.pid)
    check(b"Batch" in done.stdout and b"12,345" in done.stdout and
          b"detached;" in done.stdout, "text", done.stdout.decode())
    _check_left(job.pid)
    _end(b, job)


# ---- no safe point ----

# As soon as the library is in, a call that keeps the GIL; a signal ends it.
LONG_CALL = """\
import ctypes, signal
signal.signal(signal.SIGUSR1, lambda *_: None)
while "libtidemark_probe" not in open("/proc/self/maps").read():
    pass
open("called", "w").write("1")
ctypes.PyDLL(None).sleep(3600)
""" + LOOP


def _start_long_call(b):
    job = _start(b, LONG_CALL)
    wait_until(lambda: b"job.py" in pathlib.Path("/proc/%d/cmdline" % job.pid).read_bytes(), "it")
    time.sleep(0.5)
    return job


def _end_long_call(b, job):
    """It was said that the thread stays until then, and leaves by itself."""
    check("tidemark" in _traces(job.pid), "no thread has stayed", _traces(job.pid))
    job.send_signal(signal.SIGUSR1)
    _check_left(job.pid)
    _end(b, job)


def no_safe_point_to_count_objects_at(b):
    """It is said, with how long it was waited for and what stays in the process."""
    job = _start_long_call(b)
    objects = b.start([str(b.tidemark), "objects", "--pid", str(job.pid)], stderr=subprocess.PIPE)
    b.wait_for_file("called")
    time.sleep(2)
    objects.send_signal(signal.SIGINT)
    said = objects.communicate(timeout=20)[1].decode()
    equal(objects.returncode, 1, "status", said)
    check(re.search(r"not counted: no safe point came within [0-9.]+ s: .* The probe and its thread stay",
                    said), "words", said)
    _end_long_call(b, job)


def no_safe_point_to_profile_at(b):
    """The report does not say that the process was left, and nor does the JSON."""
    job = _start_long_call(b)
    done = _tidemark(b, "profile", job.pid, "--seconds", 2, "-o", "kept.tide")
    equal(done.returncode, 0, "status", done.stderr.decode())
    words = " ".join(done.stdout.decode().split())
    check("no objects were counted: no safe point came within 2" in words and "detached;" not in words,
          "words", words)
    shown = b.run([str(b.tidemark), "show", "--json", "kept.tide"])
    (entered,) = load_json(shown.stdout.decode())["entered"]
    equal((entered["counted"], entered["left"]), (False, False), "JSON", entered)
    _end_long_call(b, job)


# ---- watch ----


def watch_enters_what_grows(b):
    """When a series becomes suspect the process is entered, and the report names the holder."""
    with open(b.folder / "log", "w") as log:
        job = _start(b, LOOP, "prints", stdout=log)
    time.sleep(0.3)
    answer_file = b.folder / "answer"
    done = _tidemark(b, "watch", job.pid, "--no-store", "--stop-after-steps", 1500, "--json",
                     answer_file)
    equal(done.returncode, 0, "status", done.stderr.decode())
    answer, said = load_json(answer_file.read_text()), done.stdout.decode()
    equal(answer["job"]["steps_from"], "output", "steps go on")
    equal(answer["verdict"], "leak", "verdict", said)
    check("tidemark: attached to trainer %d" % job.pid in said, "it is not said", said)
    equal(answer["findings"][0]["holder"], "dict 'kept'", "holder", said)
    equal(answer["entered"][0]["left"], True, "left")
    _check_left(job.pid)
    _end(b, job)


# 60 MB a minute, without a step that could be told, for as long as there is no file "stop".
SLOW = """\
import os, time
kept = []
while not os.path.exists("stop"):
    kept.append(bytes(100000) + b"x")
    time.sleep(0.1)
"""


def growth_is_looked_into_within_a_minute(b):
    """By time alone a verdict takes many minutes; who holds the growth is named long before. One
    that must stay out says what to type."""
    job = _start(b, SLOW)
    answer_file = b.folder / "answer"
    options = ["watch", "--pid", str(job.pid), "--no-store", "--duration", "66"]
    out = b.start([str(b.tidemark), *options, "--no-inspect"], stdout=subprocess.PIPE)
    done = b.run([str(b.tidemark), *options, "--json", str(answer_file)], timeout=120)
    said, said_outside = done.stdout.decode(), out.communicate(timeout=60)[0].decode()
    check("tidemark profile --pid %d" % job.pid in said_outside, "what to type", said_outside)
    check("attached" not in said_outside, "attached", said_outside)
    answer = load_json(answer_file.read_text())
    (entered,) = answer["entered"]
    check(entered["attached_seconds"] > 6, "entered too late", entered)
    check(re.search("tidemark: growing so far: .*`kept`", said), "who holds it", said)
    equal((answer["growing_so_far"], answer["findings"][0]["holder"]), (True, "list 'kept'"),
          "finding", answer["findings"])
    (b.folder / "stop").touch()
    equal(job.wait(20), 0, "status of the job")


def who_may_not_enter_reads_what_to_type(b):
    """An ordinary user watches root's process: one line, with the reason and the command."""
    who = b.nobody()
    b.folder.chmod(0o777)
    job = _start(b, SLOW)
    done = _tidemark(b, "watch", job.pid, "--no-store", "--duration", 56, timeout=120, **who)
    lines = [x for x in done.stdout.decode().splitlines()
             if x.startswith("tidemark: could not attach to")]
    check(len(lines) == 1 and "belongs to user 0" in lines[0] and
          lines[0].endswith("sudo tidemark profile --pid %d" % job.pid), "lines", done.stdout.decode())
    (b.folder / "stop").touch()
    equal(job.wait(20), 0, "status of the job")


def watch_stays_out(b):
    """--no-inspect: the same job is not touched."""
    with open(b.folder / "log", "w") as log:
        job = _start(b, LOOP, "prints", stdout=log)
    time.sleep(0.3)
    done = _tidemark(b, "watch", job.pid, "--no-store", "--no-inspect", "--stop-after-steps", 1500)
    equal(done.returncode, 0, "status", done.stderr.decode())
    check(b"attached" not in done.stdout, "said", done.stdout.decode())
    equal(_libraries(job.pid), set(), "libraries")
    _end(b, job)


# ---- refusals ----


def what_is_no_python_is_refused(b):
    """Said with the reason; watching such a job goes on."""
    job = b.start(["sleep", "60"])
    for command in ("profile", "objects"):
        done = _tidemark(b, command, job.pid)
        equal(done.returncode, 1, "status of " + command, done.stdout)
        check(b"could not attach to" in done.stderr and b"ython" in done.stderr, "reason",
              done.stderr.decode())
    equal(state_of(job.pid), "S", "the job")


def a_job_of_run_is_refused(b):
    """Who is watched by `tidemark run` is not entered a second time."""
    (b.folder / "job.py").write_text(LOOP)
    run = b.start(b.under([sys.executable, "job.py"]))
    pid = wait_until(lambda: _below(run.pid, "job.py"), "the command")
    time.sleep(0.5)
    done = _tidemark(b, "profile", pid, "--seconds", 1)
    equal(done.returncode, 1, "status", done.stdout)
    check(b"watches it already" in done.stderr, "reason", done.stderr.decode())
    (b.folder / "stop").touch()
    equal(run.wait(20), 0, "status of the run")


def a_program_that_watches_itself_is_refused(b):
    """tidemark.Watcher is in it, and says the same."""
    package = b.tidemark.parent / "python"
    if not list(package.glob("tidemark/_core*")):
        raise Skipped("the package was not built")
    text = LOOP.replace("def work", "from tidemark import Watcher\nwatcher = Watcher()\ndef work")
    text = text.replace("        n += 1\n", "        n += 1\n        watcher.step(0.0)\n")
    (b.folder / "job.py").write_text(text)
    job = b.start([sys.executable, "job.py"], env={**os.environ, "PYTHONPATH": str(package)})
    maps = pathlib.Path("/proc/%d/maps" % job.pid)
    wait_until(lambda: "tidemark/_core" in maps.read_text(), "the package")
    time.sleep(2)  # and for its watcher to begin
    done = _tidemark(b, "profile", job.pid, "--seconds", 1)
    equal(done.returncode, 1, "status", done.stdout)
    check(b"watches it already" in done.stderr, "reason", done.stderr.decode())
    _end(b, job)


def _below(pid, word):
    for child in children_of(pid):
        arguments = pathlib.Path("/proc/%d/cmdline" % child).read_bytes().decode().split("\0")
        if word in arguments and "tidemark" not in arguments[0]:
            return child
        found = _below(child, word)
        if found:
            return found
    return None


def two_probes_in_one_process(b):
    """Of two installations, as after an upgrade: whichever leaves first, the program goes on."""
    other = b.folder / "other"
    other.mkdir()
    for name in ("tidemark", "libtidemark_probe.so"):
        shutil.copy(b.tidemark.parent / name, other)
    standin = pathlib.Path(__file__).resolve().parents[1] / "standin"
    (b.folder / "job.py").write_text(STEPS)
    env = {**os.environ, "PYTHONPATH": str(standin), "STANDIN_TORCH": "old"}
    job = b.start([sys.executable, "job.py"], env=env)
    b.wait_for_file("begun")
    for seconds in ((6, 1), (3, 5)):
        watchers = []
        for program, term in zip((other / "tidemark", b.tidemark), seconds):
            watchers.append(b.start([program, "profile", "--pid", str(job.pid), "--seconds", str(term)]))
            time.sleep(1)
        for watcher in watchers:
            equal(watcher.wait(30), 0, "status of the watcher")
        _check_left(job.pid)
    equal(len(_libraries(job.pid)), 2, "libraries")
    _end(b, job)


def another_users_process(b):
    """Refused to an ordinary user, with the way out; root may, and the user's job can answer."""
    who = b.nobody()
    b.folder.chmod(0o777)
    job = _start(b, LOOP)
    time.sleep(0.3)
    done = _tidemark(b, "profile", job.pid, **who)
    equal(done.returncode, 1, "status", done.stdout)
    check(b"could not attach to" in done.stderr or b"there is no" in done.stderr, "reason",
          done.stderr.decode())
    equal(_libraries(job.pid), set(), "libraries")
    _end(b, job)
    for name in ("stop", "result"):
        (b.folder / name).unlink()
    job = _start(b, LOOP, **who)
    time.sleep(0.3)
    answer, _ = _profile(b, job.pid, "--seconds", 2)
    equal(answer["findings"][0]["holder"], "dict 'kept'", "holder", answer)
    check(answer["entered"][0]["left"], "left", answer["entered"])
    _end(b, job)
