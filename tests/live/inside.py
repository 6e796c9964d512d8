"""What processes tell from inside: steps, epochs, counters; and what it takes that they can."""

import os
import pathlib
import re
import shutil
import signal
import tempfile

from bench import check, equal, load_json, python, state_of, wait_until

STANDIN = pathlib.Path(__file__).resolve().parents[1] / "standin"
SHM = pathlib.Path("/dev/shm")
PROBE = "libtidemark_probe.so"
PRELOADED = "libtidemark_preload.so"  # the same, with functions to trace allocations
# Any library will do, to see whether and how it is loaded.
LIBRARY = "tests/libnvml_standin.so"
VARIABLES = ("TIDEMARK_RUN", "LD_PRELOAD", "ASAN_OPTIONS")
SHOW = "import os\nfor v in %r: print(os.environ.get(v, ''))" % (VARIABLES,)


# On a device, in so little time: torch's counters take a while, the first time above all.
SHORT = """
import time, torch, torch.cuda
torch.cuda._initialized = True
kept = readings = 0
def stats(device):
    global readings
    readings += 1
    time.sleep(0.0003 if readings > 1 else 0.02)
    current = {"current": kept << 20, "peak": kept << 20}
    return {"allocated_bytes": {"all": current}, "reserved_bytes": {"all": {"current": 1 << 30}}}
torch._C._cuda_memoryStats, torch._C._cuda_getDeviceCount = stats, lambda: 1
for i in range(1, 601):
    time.sleep(0.001)
    kept += i % 3 == 0
    print("step", i, flush=True)
"""


def _told(b, *arguments, options=()):
    """The answer about a job of told_steps."""
    answer = b.folder / "answer.json"
    done = b.run(b.under(b.workload("told_steps", *arguments), "--json", answer, *options))
    equal(done.returncode, 0, "status", done.stderr.decode())
    return load_json(answer.read_text()), done.stderr.decode()


def _series(answer, kind):
    return [s for s in answer["series"] if s["kind"] == kind and "process" in s]


def _installed(b, folder):
    """A copy of the program with both probes beside it; a path."""
    (b.folder / folder).mkdir(parents=True)
    program = b.folder / folder / "tidemark"
    shutil.copy(b.tidemark, program)
    for probe in (PROBE, PRELOADED):
        shutil.copy(b.tidemark.parent / LIBRARY, b.folder / folder / probe)
    return program


def _environment(b, program, *options, **more):
    """What a command finds of ours in its environment, by name; and what was said."""
    command = [str(program), "run", "--no-store", *options, "--", *python(SHOW)]
    done = b.run(command, env={**os.environ, **more})
    equal(done.returncode, 0, "status", done.stderr.decode())
    return dict(zip(VARIABLES, done.stdout.decode().split("\n"))), done.stderr.decode()


def steps_are_counted_inside(b):
    """Exactly, and not those that are printed; the report says who counted."""
    answer, said = _told(b, "--steps", 700, "--step-ms", 2, "--epoch", 100)
    job = answer["job"]
    equal((job["steps"], job["last_step"], job["epochs"]), (700, 700, 7), "steps and epochs")
    equal(job["steps_from"], "watcher", "who counted")
    check("700 steps counted by the program itself" in said, "report", said)
    (anon,) = _series(answer, "host.anon")
    equal((anon["clock"], anon["epoch_length"]), ("step", 100), "clock of host.anon")


CLEANED = ("import gc, torch, time\no = torch.optim.SGD()\ngc.disable()\n"
           "for i in range(60):\n    cycle = [bytearray(1000000)]\n    cycle.append(cycle)\n"
           "    o.step()\n    time.sleep(.01)\n")


def cleanup_is_told(b):
    """What it freed and took; that it could not be understood, also in a short report."""
    said = {}
    for setting, *options in (("every=4,gc=1,trim=0,zero_grad=0", "--full"), ("every=often",)):
        done = b.run(b.under(python(CLEANED), *options), env={
            **os.environ, "PYTHONPATH": str(STANDIN), "TIDEMARK_CLEANUP": setting})
        equal(done.returncode, 0, "status", done.stderr.decode())
        said[setting] = " ".join(done.stderr.decode().split())
    good, wrong = said.values()
    check(re.search(r"cleanup: gc freed [45]\d\.?\d* MB in [\d.e-]+ s", good), "freed", good)
    check("trim" not in good.partition("cleanup: ")[2], "only what was done", good)
    check("TIDEMARK_CLEANUP is not valid" in wrong, "refused", wrong)


def a_resumed_job_and_a_better_source(b):
    """It starts at its step; a step that two sources tell is one."""
    more = ("--first", 50001, "--source", 1, "--then", 3)
    answer, said = _told(b, "--steps", 400, "--step-ms", 2, *more)
    job = answer["job"]
    equal((job["steps"], job["last_step"]), (400, 50400), "steps", said)
    check(all(s["restarts"] == 0 for s in answer["series"]), "restarts", said)


def a_loop_of_half_a_second(b):
    """Its counters are read often enough to judge it; not where somebody else has the processor
    all the time: it is tried again."""
    answer = b.folder / "answer.json"
    for _ in range(4):
        done = b.run(b.under(python(SHORT), "--json", answer),
                     env={**os.environ, "PYTHONPATH": str(STANDIN)})
        equal(done.returncode, 0, "status", done.stderr.decode())
        (allocated,) = _series(load_json(answer.read_text()), "torch.allocated")
        if allocated["verdict"] == "leak":
            break
    equal(allocated["verdict"], "leak", "verdict", allocated)
    check(300e3 < allocated["rate"] < 400e3, "rate", allocated)


def a_block_in_every_step(b):
    """512 bytes a step of an exact counter are a leak, what the allocator keeps is none; a run
    file is judged again the same way."""
    file = b.folder / "run.tide"
    options = ("-o", file)
    answer, said = _told(b, "--steps", 900, "--step-ms", 2, "--block", 512, options=options)
    equal(answer["verdict"], "leak", "verdict", said)
    leaking = [s["kind"] for s in answer["series"] if s["verdict"] == "leak"]
    equal(leaking, ["torch.allocated"], "what leaks", said)
    check("torch.allocated cuda:0 grows 512 B/step" in said, "headline", said)
    (reserved,) = _series(answer, "torch.reserved")
    equal(reserved["pattern"], "allocator-retention", "torch.reserved")
    again = load_json(b.run([str(b.tidemark), "analyze", "--json", str(file)]).stdout.decode())
    leaking = [(s["kind"], round(s["rate"])) for s in again["series"] if s["verdict"] == "leak"]
    equal(leaking, [("torch.allocated", 512)], "what leaks by the run file")
    rows = b.run([str(b.tidemark), "export", "--csv", str(file)]).stdout.decode()
    check(",torch.allocated,cuda:0,bytes," in rows, "export", rows[:1000])


def the_lowest_rank_leads(b):
    """Ranks make each step once; when it has ended another goes on."""
    program = b.workload("told_steps")[0]
    text = (
        "RANK=1 {0} --steps 500 --step-ms 2 --source 1 & sleep 0.1;"
        "RANK=0 {0} --steps 300 --step-ms 2 --source 1 & wait"
    ).format(program)
    answer = b.folder / "answer.json"
    done = b.run(b.under(["sh", "-c", text], "--json", answer))
    job = load_json(answer.read_text())["job"]
    # The one that leads was started 0.1 s after the other, at most 100 steps later.
    check(400 <= job["steps"] <= 600, "steps", job, done.stderr.decode())


def stopped_at_once(b):
    """--stop-after-steps at a millisecond a step: within a few."""
    more = ("--steps", 100000, "--step-ms", 1)
    for steps in (20, 400):
        answer, _ = _told(b, *more, options=("--stop-after-steps", steps))
        made = answer["job"]["steps"]
        check(steps <= made <= steps + 20, "steps", made)


def the_directory_of_the_rings(b):
    """Of mode 0700, in /dev/shm, and gone afterwards."""
    text = (
        "import os, stat\nd = os.environ['TIDEMARK_RUN']\n"
        "print(d, stat.S_IMODE(os.stat(d).st_mode), sorted(os.listdir(d)))"
    )
    done = b.run(b.under(python(text)))
    path, mode, files = done.stdout.decode().split(" ", 2)
    equal((mode, files.strip()), (str(0o700), "['trace.orders', 'voice', 'wake']"), "mode and files", path)
    check(path.startswith("/dev/shm/tidemark-") or not os.access(SHM, os.W_OK), "place", path)
    check(not os.path.exists(path), "the directory is still there", path)


def the_directory_when_the_watcher_is_killed(b):
    """The relay removes it when the command has ended."""
    text = "import os, time\nopen('d', 'w').write(os.environ['TIDEMARK_RUN'])\ntime.sleep(1)"
    process = b.start(b.under(python(text)))
    path = b.wait_for_file("d")
    relay, _ = b.relay_of(process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(5)
    check(os.path.isdir(path), "gone while the command runs")
    wait_until(lambda: state_of(relay) is None, "the end of the relay")
    check(not os.path.exists(path), "the directory is still there", path)


def directories_that_nobody_reads(b):
    """What is left of a run that was killed as a whole goes with the next run; others stay."""
    mine, new = (pathlib.Path(tempfile.mkdtemp(prefix="tidemark-", dir=SHM)) for _ in range(2))
    for path in (mine, new):
        b.exits.callback(shutil.rmtree, path, True)
        os.mkfifo(path / "wake")
        (path / "1-1.ring").write_text("x")
    os.utime(mine, (1, 1))
    read = os.open(mine / "wake", os.O_RDONLY | os.O_NONBLOCK)
    equal(b.run(b.under(["true"])).returncode, 0, "status")
    check(mine.exists() and new.exists(), "one that is read or new is gone")
    os.close(read)
    equal(b.run(b.under(["true"])).returncode, 0, "status")
    check(not mine.exists() and new.exists(), "an abandoned one is there, or a new one gone")


def the_probe_is_preloaded(b):
    """After what the user preloads, in the command only; --no-trace: the one without the tracer;
    --no-probe: nothing of ours."""
    program = _installed(b, "bin")
    probe = str(program.parent / PRELOADED)
    other = str(b.tidemark.parent / LIBRARY)
    found, _ = _environment(b, program)
    equal(found["LD_PRELOAD"], probe, "LD_PRELOAD")
    check("verify_asan_link_order=0" in found["ASAN_OPTIONS"], "ASAN_OPTIONS", found)
    found, _ = _environment(b, program, LD_PRELOAD=other, ASAN_OPTIONS="color=never")
    equal(found["LD_PRELOAD"], other + ":" + probe, "LD_PRELOAD behind the user's")
    equal(found["ASAN_OPTIONS"], "color=never:verify_asan_link_order=0", "ASAN_OPTIONS")
    found, _ = _environment(b, program, "--no-trace")
    equal(found["LD_PRELOAD"], str(program.parent / PROBE), "LD_PRELOAD with --no-trace")
    found, _ = _environment(b, program, "--no-probe", ASAN_OPTIONS="")
    equal(list(found.values()), ["", "", ""], "with --no-probe")


def the_probe_beside_lib(b):
    """bin/tidemark finds lib/tidemark/libtidemark_preload.so."""
    program = _installed(b, "prefix/bin")
    (b.folder / "prefix/lib/tidemark").mkdir(parents=True)
    probe = b.folder / "prefix/lib/tidemark" / PRELOADED
    (program.parent / PRELOADED).rename(probe)
    found, _ = _environment(b, program)
    equal(found["LD_PRELOAD"], str(probe), "LD_PRELOAD")


def a_probe_that_cannot_be_preloaded(b):
    """The loader splits paths at blanks: said, and nothing breaks; where there is none, no word."""
    program = _installed(b, "my programs")
    found, said = _environment(b, program)
    equal(found["LD_PRELOAD"], "", "LD_PRELOAD")
    check("cannot be preloaded" in " ".join(said.split()), "said", said)
    (program.parent / PRELOADED).unlink()
    found, said = _environment(b, program)
    check(found["LD_PRELOAD"] == "" and found["TIDEMARK_RUN"], "environment", found)
    check("probe" not in said and "preload" not in said, "said", said)


def a_run_within_a_run(b):
    """Has a directory of its own, and the probe once."""
    program = _installed(b, "bin")
    inner = [str(program), "run", "--no-store", "--", *python(SHOW)]
    text = SHOW + "\nimport subprocess, sys\nsys.stdout.flush()\nsubprocess.run(sys.argv[1:])"
    command = [str(program), "run", "--no-store", "--", *python(text, *inner)]
    lines = b.run(command).stdout.decode().split("\n")
    outer, within = lines[:3], lines[3:6]
    check(outer[0] and within[0] and outer[0] != within[0], "directories", lines)
    equal(outer[1:], within[1:], "the rest")


def rings_do_not_fill_dev_shm(b):
    """What many rings take up is not the job's growth."""
    program = b.workload("told_steps")[0]
    text = "for i in 1 2 3 4 5 6 7 8; do {0} --steps 400 --step-ms 3 & done; wait".format(program)
    answer = b.folder / "answer.json"
    b.run(b.under(["sh", "-c", text], "--json", answer))
    system = load_json(answer.read_text())["system"]
    grown = system["shm_last"] - system["shm_first"]
    check(grown < 512 * 1024, "/dev/shm grew", system)


def a_short_trainer_leaves_the_job_decided(b):
    """What is open about a process that has ended while another trains on is not waited for."""
    answer = b.folder / "answer.json"
    load = b.workload("told_steps")[0]
    both = "%s --steps 60 --step-ms 2 & %s --steps 900 --step-ms 2; wait" % (load, load)
    done = b.run(b.under(["sh", "-c", both], "--json", answer))
    equal(done.returncode, 0, "status", done.stderr.decode())
    equal(load_json(answer.read_text())["verdict"], "no_leak", "verdict", done.stderr.decode())
