"""The status line in the last row, and the program's own output above it."""

import re
import signal
import time

from bench import ROWS, Skipped, check, equal, python, wait_until

# What the status line looks like, wherever it stands.
STATUS = re.compile(r"^[\d.]+ (s|min)\b.* · job ")

LINES = """
import sys, time
for n in range(int(sys.argv[1])):
    print("line %d of the program" % n, flush=True)
    time.sleep(float(sys.argv[2]))
"""


def _status_rows(screen):
    return [i for i, line in enumerate(screen.lines()) if STATUS.search(line)]


def _await_status_row(terminal, row, seconds=4):
    """It is drawn anew once a second, on a busy machine later."""
    end = time.monotonic() + seconds
    while _status_rows(terminal.screen) != [row] and time.monotonic() < end:
        terminal.read_some()
    equal(_status_rows(terminal.screen), [row], "rows", *terminal.screen.lines())


def lines_above_the_status(b):
    """Every line of the program is there in its order, the status line only in the last row."""
    terminal = b.terminal(b.under(python(LINES, 80, 0.05)))
    seen = 0
    while terminal.read_some(0.1):
        rows = _status_rows(terminal.screen)
        check(rows in ([], [ROWS - 1]), "the status line is in rows %s" % rows, terminal.text)
        seen += bool(rows)
    check(seen > 5, "there was no status line", terminal.text)
    equal(terminal.status(), 0, "status")
    everything = terminal.screen.everything()
    lines = [line for line in everything if line.endswith("of the program")]
    equal(lines, ["line %d of the program" % n for n in range(80)], "lines")
    equal(terminal.screen.region, (0, ROWS - 1), "the scroll region")
    check(not any(STATUS.search(line) for line in everything), "a status line is left", everything)
    after = everything[everything.index("line 79 of the program") + 1 :]
    check(any("INCONCLUSIVE" in line or "LEAK" in line for line in after[:3]), "no report", after)


def a_bar_above_the_status(b):
    """tqdm's way: one bar in one row, whatever the status line does."""
    terminal = b.terminal(b.under(b.workload("tqdm_like.py", "--steps", 150, "--step-ms", 20)))
    while terminal.read_some(0.1):
        lines = terminal.screen.lines()
        bars = [line for line in lines if line.startswith("train:")]
        check(len(bars) <= 1, "more than one bar", *lines)
        check(_status_rows(terminal.screen) in ([], [ROWS - 1]), "the status line", *lines)
    bars = [line for line in terminal.screen.everything() if line.startswith("train:")]
    equal(len(bars), 1, "bars at the end", terminal.text)
    check("150/150" in bars[0], "the bar is not the last one", bars[0])


def _outputs(b, terminals, seconds=2.6):
    """What a program shows on several terminals, given as arguments of Bench.terminal()."""
    program = python(LINES, int(seconds / 0.1), 0.1)
    started = [b.terminal(b.under(program), **arguments) for arguments in terminals]
    for terminal in started:
        terminal.read()
        equal(terminal.status(), 0, "status", terminal.text)
    return started


def small_and_simple_terminals(b):
    """Five rows, few columns, no TERM, TERM=dumb: no status line, no escape sequence of ours."""
    small = [{"rows": 5}, {"columns": 19}, {"rows": 1, "columns": 1}]
    for terminal in _outputs(b, small):
        check("\x1b7" not in terminal.text, "a moved cursor", terminal.text)
        check("\x1b[1;" not in terminal.text.partition("INCONCLUSIVE")[0][:-10], "a region")
    for terminal in _outputs(b, [{"env": {"TERM": term}} for term in (None, "", "dumb")]):
        check("\x1b" not in terminal.text, "an escape sequence", terminal.text)


def a_narrow_terminal(b):
    """The status line is cut: it never takes a second row."""
    terminal = _outputs(b, [{"rows": 6, "columns": 20}], seconds=3.5)[0]
    check("\x1b[6;1H" in terminal.text, "no status line", terminal.text)
    lines = re.findall(r"\x1b\[6;1H\x1b\[0m\x1b\[2K([^\r\n]*?)\x1b\[0m", terminal.text)
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines if "\x1b8" not in line]
    check(lines and all(len(line) <= 20 for line in lines), "too long", lines)


def no_color(b):
    """NO_COLOR: the row is held, but nothing is coloured."""
    terminal = _outputs(b, [{"env": {"NO_COLOR": "1"}}], seconds=3)[0]
    check("\x1b[1;23r" in terminal.text, "no status line", terminal.text)
    colors = [c for c in re.findall(r"\x1b\[([0-9;]*)m", terminal.text) if c not in ("0", "")]
    equal(colors, [], "colours")


def the_program_sees_its_size(b):
    """One row less, the columns as they are; a change of size reaches it and its child."""
    text = (
        "import os, signal, sys, time\n"
        "def say(*_):\n"
        "    sizes = os.get_terminal_size(1), os.get_terminal_size(2)\n"
        "    os.write(1, ('%s %s %s\\n' % (sys.argv[1], *sizes)).encode())\n"
        "signal.signal(signal.SIGWINCH, say)\n"
        "say()\n"
        "end = time.monotonic() + 10\n"
        "while time.monotonic() < end and not os.path.exists('go'): time.sleep(0.01)\n"
    )
    (b.folder / "size.py").write_text(text)
    script = "%s -u size.py child & exec %s -u size.py parent" % ((python("")[0],) * 2)
    terminal = b.terminal(b.under(["sh", "-c", script]))
    size = r"os.terminal_size\(columns=%d, lines=%d\)"
    for name in ("child", "parent"):
        terminal.read("%s %s %s" % (name, size % (80, 23), size % (80, 23)))
    terminal.size(40, 132)
    for name in ("child", "parent"):
        terminal.read("%s %s %s" % (name, size % (132, 39), size % (132, 39)))
    (b.folder / "go").touch()
    terminal.read()
    equal(terminal.status(), 0, "status")
    check(terminal.text.count("columns=132") < 20, "it does not end", terminal.text)


def a_new_size_moves_the_status(b):
    """Larger and smaller: one status line, in the last row there is."""
    terminal = b.terminal(b.under(python(LINES, 200, 0.05)))
    terminal.read(r"\x1b\[1;23r")
    for rows in (40, 12):
        terminal.size(rows, 100)
        terminal.screen.resize(rows, 100)
        terminal.read(r"\x1b\[1;%dr" % (rows - 1))
        terminal.watch(1.5)
        _await_status_row(terminal, rows - 1)
    terminal.process.terminate()


def newlines_are_not_doubled(b):
    """What the terminal makes of a newline it makes once."""
    terminal = b.terminal(b.under(["printf", r"a\nb\r\nc\n"], "--quiet"))
    terminal.read()
    check(terminal.data.startswith(b"a\r\nb\r\r\nc\r\n"), "it came as", terminal.data[:40])


def input_from_the_terminal(b):
    """A line, and the end of input."""
    terminal = b.terminal(b.under(["cat"], "--quiet"))
    time.sleep(0.2)
    terminal.keys("some words\n")
    terminal.read("some words\r\nsome words\r\n")
    terminal.keys("\x04")
    terminal.read()
    equal(terminal.status(), 0, "status")


def a_program_that_clears_the_screen(b):
    """Cleared or reset, the status line comes back, and in the last row only."""
    text = (
        "import time\ntime.sleep(2.5)\n"
        "for what in ('\\033[H\\033[2J', '\\033c', '\\033[r'):\n"
        "    print(what + 'top', flush=True)\n"
        "    for n in range(40): print('line', n, flush=True)\n"
        "    time.sleep(1.5)\n"
        "print('done', flush=True); time.sleep(5)\n"
    )
    terminal = b.terminal(b.under(python(text)))
    terminal.read("done")
    _await_status_row(terminal, ROWS - 1)
    check("line 39" in terminal.screen.lines(), "lines are missing", *terminal.screen.lines())
    terminal.process.terminate()
    terminal.read()
    equal(terminal.screen.region, (0, ROWS - 1), "the scroll region")


def a_program_with_the_whole_screen(b):
    """On the other screen, in a region of its own, between saved cursors: nothing is drawn."""
    text = (
        "import time\ntime.sleep(2)\n"
        "for on, off in (('[?1049h', '[?1049l'), ('[2;10r', '[r'), ('7', '8'), (']0;t', '\\\\')):\n"
        "    print('\\033' + on + 'BEGIN', end='', flush=True)\n"
        "    time.sleep(1.3)\n"
        "    print('END\\033' + off, flush=True)\n"
    )
    (b.folder / "screens.py").write_text(text)
    terminal = b.terminal(b.under([*python("")[:2], "screens.py"]))
    terminal.read()
    for part in re.findall("BEGIN(.*?)END", terminal.text, re.S):
        equal(part, "", "drawn in between")
    equal(terminal.text.count("BEGIN"), 4, "parts")


def half_a_line_and_a_leak(b):
    """The paragraph about a leak does not wait for a newline, and stands on lines of its own."""
    text = (
        "import sys, time\nkept = []\n"
        "for n in range(1, 1300):\n"
        "    kept.append(bytearray(64 << 10))\n"
        "    sys.stderr.write('\\rstep %d of 1300' % n); sys.stderr.flush(); time.sleep(0.003)\n"
    )
    terminal = b.terminal(b.under(python(text)))
    terminal.read("LEAK")
    check("step 1299" not in terminal.text, "it came at the end only", terminal.text)
    terminal.read()
    lines = terminal.screen.everything()
    leak = next(i for i, line in enumerate(lines) if "LEAK" in line)
    check(re.fullmatch(r"step \d+ of 1300", lines[leak - 1].strip()), "before it", *lines[:30])
    check(not any("LEAK" in s and "of 1300" in s for s in lines), "mixed", *lines)


def a_pipe_besides_the_terminal(b):
    """`| cat`: no status row, lines instead, and the output in the pipe is untouched."""
    command = "'%s' run --no-store --print-every 1 -- sh -c 'echo out; sleep 2.5' | cat >out"
    terminal = b.terminal(["sh", "-c", command % b.tidemark])
    terminal.read()
    check("\x1b[1;23r" not in terminal.text, "a status row", terminal.text)
    check("tidemark: 1 s" in terminal.text, "no line", terminal.text)
    equal((b.folder / "out").read_text(), "out\n", "output")


def a_stopped_terminal(b):
    """Ctrl-S: the program waits as without; SIGTERM still ends it, Ctrl-Q lets all come."""
    program = python("n = 0\nwhile True:\n    print('line', n); n += 1")
    terminal = b.terminal(b.under(program))
    terminal.watch(0.3)
    terminal.keys("\x13")
    terminal.watch(0.5)
    before = len(terminal.data)
    terminal.watch(0.5)
    check(len(terminal.data) - before < 1 << 17, "it goes on", len(terminal.data) - before)
    _, job = b.relay_of(terminal.process)
    terminal.process.terminate()
    wait_until(lambda: not _runs(job), "the end of the command", 5)
    terminal.keys("\x11")
    terminal.read()
    equal(terminal.status(), -signal.SIGTERM, "status")
    lines = re.findall(r"line (\d+)\r", terminal.text)[:-1]  # the last may be cut
    wrong = [i for i, n in enumerate(lines) if n != str(i)]
    equal(wrong[:3], [], "lines that are not in their place", terminal.text[-400:])


def _runs(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def watching_on_a_terminal(b):
    """`watch` redraws one line, and Ctrl-C ends watching, not the job."""
    sleeper = b.start(["sleep", "100"])
    terminal = b.terminal([str(b.tidemark), "watch", "--no-store", "--pid", str(sleeper.pid)])
    terminal.watch(3.5)
    rows = _status_rows(terminal.screen)
    equal(len(rows), 1, "status lines", *terminal.screen.lines())
    terminal.keys("\x03")
    terminal.read()
    equal(terminal.status(), 0, "status", terminal.text)
    check(not any(STATUS.search(s) for s in terminal.screen.lines()), "it is left", terminal.text)
    equal(sleeper.poll(), None, "the job")


def where_no_terminal_can_be_made(b):
    """A container without /dev/ptmx: the program writes to the terminal itself, and is watched."""
    script = 'mount --bind /dev/null /dev/ptmx && exec "$@"'
    command = b.under(["sh", "-c", "echo out; test -t 1 && exit 7"], "--print-every", "0.1")
    terminal = b.terminal(["unshare", "-m", "sh", "-c", script, "sh", *command])
    terminal.read()
    if "mount:" in terminal.text or "unshare:" in terminal.text:
        raise Skipped("cannot mount: " + terminal.text.strip())
    equal(terminal.status(), 7, "status", terminal.text)
    check("out\r\n" in terminal.text and "INCONCLUSIVE" in terminal.text, "output", terminal.text)
