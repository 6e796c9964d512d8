"""What the options do, and what happens where a file cannot be written."""

import os
import re
import resource
import signal
import stat
import subprocess
import time

from bench import Skipped, check, equal, load_json, plain_signals, python, read_store

STEPS = """
for n in range(1, int(sys.argv[1])):
    print("step", n, flush=True)
    time.sleep(0.005)
"""
# A job whose run file grows fast.
GROWING = """
import os, time
for n in range(7):
    if os.fork() == 0:
        break
kept, end = [], time.monotonic() + 4
while time.monotonic() < end:
    kept.append(b"x" * 8192)
    time.sleep(0.005)
os._exit(8)
"""
LEAK = ["--steps", 700, "--step-ms", 4]


def lines_in_a_log(b):
    """--log takes the lines, --print-every says how often, --quiet: none at all."""
    log = b.folder / "log"
    done = b.run(b.under(["sleep", "1.6"], "--log", log, "--print-every", "0.5"))
    equal(len(log.read_text().splitlines()), 3, "lines", log.read_text())
    check(log.read_text().startswith("tidemark: "), "lines", log.read_text())
    check(b"tidemark: " not in done.stderr, "lines elsewhere", done.stderr)
    done = b.run(b.under(["sleep", "1.2"], "--print-every", "0.5"))
    equal(done.stderr.count(b"tidemark: "), 2, "lines without --log", done.stderr)
    done = b.run(b.under(["sleep", "1.2"], "--quiet", "--print-every", "0.5"))
    equal(done.stderr.count(b"\n"), 1, "lines with --quiet", done.stderr)


def a_log_that_cannot_be_written(b):
    """Said, and the command runs and is watched."""
    done = b.run(b.under(["sh", "-c", "exit 6"], "--log", "/nonexistent/log"))
    equal(done.returncode, 6, "status", done.stderr)
    check(b"/nonexistent/log" in done.stderr and b"INCONCLUSIVE" in done.stderr, "said", done.stderr)


def own_lines_are_not_steps(b):
    """>log 2>&1: tidemark's own lines in the same file are not the program's."""
    answer = b.folder / "answer"
    text = "import sys, time" + STEPS + "    if n % 40 == 0: print('note', file=sys.stderr)\n"
    command = b.under(python(text, 400), "--json", answer, "--print-every", "0.2")
    with open(b.folder / "log", "w") as log:
        equal(b.start(command, stdout=log, stderr=log).wait(15), 0, "status")
    check("tidemark: " in (b.folder / "log").read_text(), "it said nothing")
    job = load_json(answer.read_text())["job"]
    equal(job.get("steps"), 399, "steps", job)


def steps_in_one_piece(b):
    """All of them are counted, and it is said why there is nothing between them."""
    command = ["sh", "-c", "sleep 0.5; seq -f 'step %.0f' 400; sleep 0.5"]
    said = b.run(b.under(command, "--full")).stderr.decode()
    check("400 steps read from its output" in said, "steps", said)
    check("reported at one moment" in said and "no steps were found" not in said, "note", said)


def ended_by_an_option(b):
    """--duration and --stop-after-steps end the job kindly, with status 0."""
    text = (
        "import signal, sys, time\n"
        "def end(*_): open('kindly', 'w').write('x'); sys.exit(9)\n"
        "signal.signal(signal.SIGTERM, end)\n"
    ) + STEPS
    for option, value in (("--duration", "0.5"), ("--stop-after-steps", "50")):
        (b.folder / "kindly").unlink(missing_ok=True)
        done = b.run(b.under(python(text, 100000), option, value))
        equal(done.returncode, 0, option, done.stderr.decode())
        check((b.folder / "kindly").exists(), option + ": it was not asked kindly")
        check(b"stopped by tidemark" in done.stderr and option.encode() in done.stderr, option, done.stderr)


def told_of_a_leak(b):
    """--on-leak: its input is the answer, its environment names the process; a failure is said."""
    command = "cat >answer.json; echo $TIDEMARK_PID $TIDEMARK_KIND >named; exit 4"
    log = b.folder / "log"
    done = b.run(b.under(b.workload("leak_heap", *LEAK), "--on-leak", command, "--log", log))
    equal(done.returncode, 0, "status")
    answer = load_json((b.folder / "answer.json").read_text())
    equal(answer["verdict"], "leak", "verdict")
    pid, kind = (b.folder / "named").read_text().split()
    pids = [str(s["process"]["pid"]) for s in answer["series"] if s["verdict"] == "leak"]
    check(pid in pids and kind.startswith("host."), "named", pid, kind, pids)
    check("--on-leak: exit status 4" in log.read_text(), "its failure is not said", log.read_text())


def a_leak_command_that_hangs(b):
    """It holds nobody up."""
    start = time.monotonic()
    command = b.under(b.workload("leak_heap", *LEAK), "--on-leak", "echo $$ >pid; sleep 1000")
    process = b.start(command, stdout=subprocess.PIPE)
    process.stdout.read()
    equal(process.wait(15), 0, "status")
    check(time.monotonic() - start < 12, "it took too long")
    os.kill(int(b.wait_for_file("pid")), signal.SIGKILL)


def a_failing_status(b):
    """--fail-on: 3 and 4, where the command's own is 0."""
    leak = b.workload("leak_heap", *LEAK)
    equal(b.run(b.under(leak, "--fail-on", "leak")).returncode, 3, "leak")
    equal(b.run(b.under(["true"], "--fail-on", "inconclusive")).returncode, 4, "inconclusive")
    equal(b.run(b.under(["sh", "-c", "exit 9"], "--fail-on", "inconclusive")).returncode, 9, "own")


HISTORY = """\
import sys, time
size, steps, pause = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
history = []
for step in range(1, steps + 1):
    history.append(b"x" * size)
    if step % 10 == 0:
        print("step", step, flush=True)
    time.sleep(pause)
"""


def _history(b, size, steps, pause, *options):
    """Of a list that keeps `size` bytes a step: the status, the answer, and what was said."""
    answer, run_file = b.folder / "answer.json", b.folder / "history.tide"
    run_file.unlink(missing_ok=True)
    done = b.run(b.under(python(HISTORY, size, steps, pause), "--limit", "64GB", "--json", answer,
                         "-o", run_file, "--on-leak", "touch alarmed", *options))
    return done.returncode, load_json(answer.read_text()), done.stderr.decode()


def a_leak_that_does_not_matter(b):
    """264 B a step are reported in one line; --fail-on leak and --on-leak begin at low."""
    status, answer, said = _history(b, 223, 8000, 0.0003, "--fail-on", "leak")
    equal((status, answer["verdict"], answer["severity"]), (0, "leak", "negligible"), "answer", said)
    check(not (b.folder / "alarmed").exists(), "--on-leak was run", said)
    report = said.index("\nLEAK (negligible): ")
    news = [line for line in said[:report].splitlines() if " · job " not in line]
    check(len(news) == 1 and news[0].startswith("tidemark: LEAK (negligible): "), "news", said)
    check("`history`" in said[report:], "its holder is not named", said)
    check("negligible: ten times this run would add" in " ".join(said[report:].split()), "why", said)

    run_file = b.folder / "history.tide"
    for more in ([], ["--json"]):
        show = [str(b.tidemark), "show", str(run_file), *more, "--fail-on"]
        shown = b.run([*show, "leak"])
        equal(shown.returncode, 0, "show", more)
        check(b"negligible" in shown.stdout, "show", shown.stdout)
        equal(b.run([*show, "leak:negligible"]).returncode, 3, "show", more)
    judged = b.run([str(b.tidemark), "analyze", "--quiet", "--fail-on", "leak", str(run_file)])
    equal(judged.returncode, 0, "analyze", judged.stdout)
    check(judged.stdout.startswith(b"LEAK (negligible): "), "analyze", judged.stdout)


def a_leak_that_does_not_matter_where_any_is_asked_for(b):
    """--fail-on leak:negligible."""
    status, answer, said = _history(b, 223, 8000, 0.0003, "--fail-on", "leak:negligible")
    equal((status, answer["severity"]), (3, "negligible"), "answer", said)


def a_leak_that_matters(b):
    """100 KB a step fail both, and run the command of --on-leak."""
    for word in ("leak", "leak:negligible"):
        (b.folder / "alarmed").unlink(missing_ok=True)
        status, answer, said = _history(b, 100 * 1024, 1400, 0.003, "--fail-on", word)
        equal((status, answer["verdict"], answer["severity"]), (3, "leak", "low"), word, said)
        check((b.folder / "alarmed").exists(), "--on-leak was not run", said)


def a_run_file_that_exists(b):
    """Is left alone; the command runs."""
    file = b.folder / "run.tide"
    file.write_text("precious")
    done = b.run(b.under(["sh", "-c", "exit 2"], "-o", file))
    equal((done.returncode, file.read_text()), (2, "precious"), "status and file")
    equal(done.stderr.count(b"exists already"), 1, "said", done.stderr)


def the_mode_of_the_run_file(b):
    """0600 whatever the umask, side files included."""
    for mask in (0o000, 0o077):
        file = b.folder / ("run%o.tide" % mask)

        def before(mask=mask):
            plain_signals()
            os.umask(mask)

        process = b.start(b.under(["sleep", "1.5"], "-o", file), preexec_fn=before)
        time.sleep(1.2)
        for path in b.folder.glob(file.name + "*"):
            equal(stat.S_IMODE(path.stat().st_mode), 0o600, str(path))
        equal(process.wait(5), 0, "status")


def the_mode_of_what_is_beside_it(b):
    """--json and --log make files of mode 0600; one that is there keeps its own."""
    new, old = [b.folder / "new.json", b.folder / "new.log"], [b.folder / "j", b.folder / "l"]
    for path in old:
        path.touch()
        path.chmod(0o644)

    def before():
        plain_signals()
        os.umask(0)

    for files, mode in ((new, 0o600), (old, 0o644)):
        b.run(b.under(["sleep", "0.2"], "--json", files[0], "--log", files[1]), preexec_fn=before)
        for path in files:
            equal(stat.S_IMODE(path.stat().st_mode), mode, path.name)


def a_folder_that_cannot_be_written(b):
    """An ordinary user in a folder of mode 0555: said once, watched and run all the same."""
    who = b.nobody()
    b.folder.chmod(0o555)
    done = b.run([str(b.tidemark), "run", "--", "sh", "-c", "sleep 1.5; exit 4"], **who)
    equal(done.returncode, 4, "status", done.stderr)
    equal(done.stderr.count(b"not recorded"), 1, "said", done.stderr)
    check(b"INCONCLUSIVE" in done.stderr, "no report", done.stderr)


def a_limit_on_files(b):
    """As on a full disk: said once, watching goes on, the command's status comes."""

    def before():
        plain_signals()
        resource.setrlimit(resource.RLIMIT_FSIZE, (150 << 10, 150 << 10))

    command = b.under(python(GROWING), "-o", "run.tide", "--interval", "0.005")
    done = b.run(command, preexec_fn=before)
    equal(done.returncode, 8, "status", done.stderr.decode())
    equal(done.stderr.count(b"cannot be written"), 1, "said", done.stderr.decode())
    check(b"INCONCLUSIVE" in done.stderr, "no report", done.stderr.decode())


def a_full_disk(b):
    """A file system with room for a few seconds: the same, and the file can be read."""
    disk = b.folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        raise Skipped("cannot mount a file system")
    b.exits.callback(subprocess.run, ["umount", "-l", str(disk)])
    done = b.run(b.under(python(GROWING), "-o", disk / "run.tide", "--interval", "0.005"))
    equal(done.returncode, 8, "status", done.stderr.decode())
    equal(done.stderr.count(b"cannot be written"), 1, "said", done.stderr.decode())
    (b.folder / "copy.tide").write_bytes((disk / "run.tide").read_bytes())
    if (disk / "run.tide-wal").exists():
        (b.folder / "copy.tide-wal").write_bytes((disk / "run.tide-wal").read_bytes())
    check(read_store(b.folder / "copy.tide")[0] > 0, "no samples")


def secrets_are_not_kept(b):
    """Neither in the run file nor in the answer, the log or the report; also of children."""
    secret = "abcSECRETxyz"
    child = "%s -c 'import time; time.sleep(1.5)' --api-key %s" % (python("")[0], secret)
    command = ["sh", "-c", child, "sh", "--token=" + secret, "--password", secret]
    files = ["run.tide", "answer.json", "log"]
    done = b.run(
        b.under(command, "-o", files[0], "--json", files[1], "--log", files[2]),
        env={**os.environ, "WANDB_API_KEY": secret},
    )
    equal(done.returncode, 0, "status", done.stderr)
    for path in b.folder.iterdir():
        check(secret.encode() not in path.read_bytes(), "it is in %s" % path.name)
    check(secret.encode() not in done.stderr, "it is in the report", done.stderr.decode())


def an_interval(b):
    """--interval is how far samples are apart."""
    file = b.folder / "run.tide"
    b.run(b.under(["sleep", "2"], "-o", file, "--interval", "0.1"))
    samples = read_store(file)[0]
    check(samples > 15, "samples", samples)


def the_default_name(b):
    """Is made of the script's and the time, and not given twice; no side file is left."""
    (b.folder / "train.py").write_text("pass\n")
    for _ in range(2):
        done = b.run([str(b.tidemark), "run", "--", python("")[0], "train.py", "--lr", "0.1"])
        equal(done.returncode, 0, "status", done.stderr)
    names = [p.name for p in b.folder.iterdir() if p.suffix != ".py"]
    check(len(names) == 2, "names", names)
    check(all(re.fullmatch(r"train-\d{8}-\d{6}(-2)?.tide", n) for n in names), "names", names)
