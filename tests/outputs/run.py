"""What `tidemark flame` and `tidemark export` write, read by the programs it is written for.

run.py BUILD [NAME...]: pprof (of Go), speedscope and the flame graph itself in Chromium, and
flamegraph.pl or inferno. All forms must give the same numbers, and names from a traced program may
hold anything. A program that is not installed is skipped, and the line says so.
"""
import collections
import functools
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as tree

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path[:0] = [str(TESTS), str(HERE)]

import browser  # noqa: E402
import reading  # noqa: E402
import runner  # noqa: E402
from runner import Case, Skipped, expect  # noqa: E402

VALUES = ("growth", "live", "allocated")
MADE = ("loop", "hostile", "wide", "two", "endless")  # of traced.py
SPEEDSCOPE = "speedscope@1.25.0"


class Outputs:
    """Recordings, and what tidemark writes of them; everything is made once."""

    def __init__(self, build, folder):
        self.build, self.folder = pathlib.Path(build), pathlib.Path(folder)
        self.tidemark = str(self.build / "tidemark")

    @functools.cached_property
    def recordings(self):
        """name: run file. `real` is a real run, the others have sites that are made up."""
        made = {"real": self.folder / "real.tide"}
        program = str(self.build / "tests/workloads/leak_one_site")
        self.call("run", "-o", made["real"], "--trace=65536", "--", program, "--steps", "600",
                  "--step-ms", "5", exit_status=None)
        for name in MADE:
            made[name] = self.folder / (name + ".tide")
            shutil.copy(TESTS / "cli/data/leak.tide", made[name])
            subprocess.run([sys.executable, TESTS / "cli/data/traced.py", made[name], name], check=True)
        return made

    def call(self, *command, exit_status=0):
        done = subprocess.run([self.tidemark, *map(str, command)], capture_output=True, text=True,
                              errors="replace")
        expect(exit_status is None or done.returncode == exit_status, command, done.stderr)
        return done

    def file(self, recording, ending, *command):
        """What a command writes to a file of that ending."""
        path = self.folder / ("-".join([recording, *map(str, command)]).replace("/", "_") + ending)
        if not path.exists():
            self.call(*command, self.recordings[recording], "-o", path)
        return path

    def flame(self, recording, *options):
        return self.file(recording, ".svg", "flame", *options)

    def export(self, recording, form, *options):
        endings = {"--pprof": ".pb.gz", "--collapsed": ".txt", "--speedscope": ".speedscope.json"}
        return self.file(recording, endings.get(form, ".json"), "export", form, *options)

    def sites(self, recording, *options):
        """Each with its process."""
        found = json.loads(self.export(recording, "--json", *options).read_text())
        return [(p, s) for p in found["processes"] for s in p["sites"]]


# ---- numbers ----


def sum_of(sites, value):
    """What is shown of a value: what shrank, or is less than a byte, is not."""
    return sum(s[value] for _, s in sites if s[value] >= 1)


def expect_equal(what, got, wanted, count):
    """Each of `count` numbers was rounded to a whole byte."""
    expect(abs(got - wanted) <= count, "%s: %r is not %r" % (what, got, wanted))


def data_bytes(svg):
    return float(re.search(r'data-bytes="(\d+)"', svg.read_text()).group(1))


def numbers_agree(o):
    compared = 0
    for recording in o.recordings:
        sites = o.sites(recording)
        for value in VALUES:
            wanted, option = sum_of(sites, value), "--" + value
            got = {
                "collapsed": sum(b for _, b in reading.collapsed(o.export(recording, "--collapsed", option))),
                "speedscope": sum(sum(p["weights"]) for p in
                                  reading.speedscope(o.export(recording, "--speedscope", option))["profiles"]),
                "flame": data_bytes(o.flame(recording, option)),
            }
            for form, bytes_ in got.items():
                expect_equal("%s of %s, %s" % (value, recording, form), bytes_, wanted, len(sites))
                compared += 1
    return "%d sums" % compared


def pprof_agrees(o):
    """Every stack's five numbers are those of its site."""
    for recording in o.recordings:
        sites, profile = o.sites(recording), reading.pprof(o.export(recording, "--pprof"))
        expect(len(profile) == len(sites), recording, len(profile), len(sites))
        for value, index in (("allocated", 1), ("live", 3), ("growth", 4)):
            wanted = sorted(round(s[value]) for _, s in sites)
            got = sorted(sample[index] for sample in profile)
            expect(all(abs(a - b) <= 1 for a, b in zip(got, wanted)), recording, value, got, wanted)
        for sample in profile:
            expect(sample[0] >= sample[2] or sample[1] < sample[3], "fewer made than kept", sample)


def widths_add_up(o):
    """In the picture, too: no callees are wider than their caller, and the root is the sum."""
    for recording in o.recordings:
        rows = collections.defaultdict(list)
        for g in tree.parse(o.flame(recording, "--live")).getroot().iter():
            if "data-level" in g.attrib:
                rect = next(e for e in g if e.tag.endswith("rect"))
                rows[int(g.get("data-level"))].append((float(rect.get("x")), float(rect.get("width"))))
        for level in range(1, len(rows)):
            spans = sorted(rows[level])
            for (x, w), (after, _) in zip(spans, spans[1:]):
                expect(x + w <= after + 0.1, "%s: boxes overlap at level %d" % (recording, level))
            expect(sum(w for _, w in spans) <= sum(w for _, w in rows[level - 1]) + 0.1, recording, level)


def kinds_and_processes_add_up(o):
    for recording in ("two", "loop"):
        sites = o.sites(recording)
        kinds = {s["kind"] for _, s in sites}
        parts = [sum_of(o.sites(recording, "--kind", k), "live") for k in kinds]
        expect_equal("kinds", sum(parts), sum_of(sites, "live"), 1)
        pids = {p["pid"] for p, _ in sites}
        parts = [sum_of(o.sites(recording, "--process", p), "live") for p in pids]
        expect_equal("processes", sum(parts), sum_of(sites, "live"), 1)


def spans_add_up(o):
    """What was gained until a step, and from there on, is what was gained."""
    whole = sum(s["growth"] for _, s in o.sites("loop", "--from", "100", "--to", "480"))
    parts = [sum(s["growth"] for _, s in o.sites("loop", *span)) for span in
             (("--from", "100", "--to", "300"), ("--from", "300", "--to", "480"))]
    expect(abs(sum(parts) - whole) < 1 + whole * 1e-6, parts, whole)


def the_leak_is_found(o):
    """The one line of the real program that keeps memory has nearly all of what is kept."""
    sites = o.sites("real")
    at = [s for _, s in sites if s["frames"][s["own_frame"]]["function"].startswith("site_")]
    expect(at, "no site in the program's own functions", sites[:1])
    title = text_of(o.flame("real", "--live"), "title")
    top = max(sites, key=lambda s: s[1]["live"])[1]
    own = top["frames"][top["own_frame"]]
    expect("%s (%s:%d)" % (own["function"], os.path.basename(own["file"]), own["line"]) in title, title)
    expect(" at step " in title, title)


def text_of(svg, name):
    return "".join(" ".join(e.itertext()) for e in tree.parse(svg).getroot().iter()
                   if name in e.get("class", "").split())


# ---- names that may be anything ----


def pictures_are_well_formed(o):
    for recording in o.recordings:
        for value in VALUES:
            path = o.flame(recording, "--" + value)
            root = tree.parse(path).getroot()
            scripts = [e for e in root.iter() if e.tag.endswith("script")]
            expect(len(scripts) == 1 and scripts[0].get("src") is None, path, len(scripts))
            expect(path.stat().st_size <= (1 << 20), path, path.stat().st_size)
            expect(not re.search(r'(?:href|src)\s*=|url\(|@import', path.read_text()),
                   "%s refers to something outside" % path)


def lines_stay_lines(o):
    """A newline or a semicolon in a name neither adds a stack nor a frame."""
    stacks = reading.collapsed(o.export("hostile", "--collapsed", "--live"))
    expect(len(stacks) == len(o.sites("hostile")), stacks)
    expect({len(frames) for frames, _ in stacks} <= {1, 2, 3}, [f for f, _ in stacks])


BAD = {
    "deep": lambda: "site\tmalloc\t\t10\t10\t0\t10\n" + "frame\tf\tf.py\t1\t\t0\t0\n" * 100000,
    "long": lambda: "site\tmalloc\t\t10\t10\t0\t10\nframe\t" + "x" * 10_000_000 + "\tf.py\t1\t\t0\t0\n",
    "not UTF-8": lambda: "site\tmalloc\t\t10\t10\t0\t10\nframe\tf\udcff\udcc3\udced\udca0\tf.py\t1\t\t0\t0\n",
    "nothing": lambda: "",
    "garbage": lambda: "site\nframe\npoint\ncohorts\tx\n\t\t\t\nsite\tmalloc\t\tnan\tinf\t0\t-1\n",
    "huge numbers": lambda: "site\tmalloc\t\t1e308\t1e308\t0\t1e308\nframe\tf\tf.py\t2147483648\t\t0\t0\n"
                            "point\t1\t1e308\t1e308\t1e308\t0\t0\npoint\t2\t1e308\t1e308\t1e308\t0\t0\n",
}


def damaged(o, name):
    """A run file with such sites: whatever a sampled program or a damaged disk can put there."""
    path = o.folder / (name.replace(" ", "-") + ".damaged.tide")
    shutil.copy(o.recordings["loop"], path)
    head = "tidemark sites 1\nsampling\t0.5\t5.0\t65536\t0\t0\n" + "".join(
        "point\t%d\t1000000\t10\t1000000\t0\t0\n" % s for s in (1, 3, 5))
    points = "".join("point\t%d\t%d\t10\t%d\t0\t0\n" % (s, 1000 * s, 1000 * s) for s in (1, 3, 5))
    text = (head + BAD[name]() + points).encode(errors="surrogateescape")
    db = sqlite3.connect(path)
    db.execute("UPDATE sites SET text = CAST(? AS TEXT)", (text,))
    db.commit()
    db.close()
    return path


def damaged_sites_are_survived(o):
    """Each command ends by itself, and either writes something well formed or says why not."""
    said = []
    for name in BAD:
        path = damaged(o, name)
        for command in (("flame",), ("export", "--pprof"), ("export", "--collapsed"),
                        ("export", "--speedscope"), ("export", "--json")):
            out = o.folder / "damaged.out"
            out.unlink(missing_ok=True)
            done = o.call(*command, path, "-o", out, exit_status=None)
            expect(done.returncode in (0, 1), "%s, %s: %d" % (name, command, done.returncode), done.stderr)
            expect((done.returncode == 0) == out.exists(), name, command, done.stderr)
            expect(done.returncode == 0 or done.stderr.startswith("tidemark: "), done.stderr)
            if done.returncode == 0:
                readers = {"flame": tree.parse, "--pprof": reading.pprof, "--collapsed": reading.collapsed,
                           "--speedscope": reading.speedscope, "--json": lambda p: json.loads(p.read_text())}
                readers[command[-1]](out)
            if command == ("flame",):
                said.append("%s: %s" % (name, done.stderr.strip().split(": ")[-1] or "drawn"))
    return "\n".join(said)


# ---- on a terminal, and while the job runs ----


def on_a_terminal_it_is_a_file(o):
    """The picture is not printed there: it goes beside the run file, and a line says so."""
    run = o.folder / "seen.tide"
    shutil.copy(o.recordings["loop"], run)
    master, terminal = pty.openpty()
    done = subprocess.run([o.tidemark, "flame", run.name], cwd=o.folder, stdout=terminal, stderr=subprocess.PIPE)
    os.close(terminal)
    os.close(master)
    expect(done.returncode == 0 and done.stderr == b"tidemark: seen.svg: open it in a browser\n", done.stderr)
    expect((o.folder / "seen.svg").read_text() == o.flame("loop").read_text())


def a_running_job_is_drawn(o):
    """Its run file is read while it is written; before anything was traced, a sentence says so."""
    run, out = o.folder / "running.tide", o.folder / "running.svg"
    program = str(o.build / "tests/workloads/leak_one_site")
    job = subprocess.Popen([o.tidemark, "run", "--quiet", "-o", run, "--trace=65536", "--", program,
                            "--steps", "1000000", "--step-ms", "5"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    try:
        said = None
        for _ in range(300):
            if run.exists():
                done = o.call("flame", run, "--live", "-o", out, exit_status=None)
                if done.returncode == 0:
                    break
                said = done.stderr
            time.sleep(0.2)
        expect(out.exists(), "nothing was drawn in a minute", said)
        expect(job.poll() is None, "the job ended before it was drawn")
        expect(said is None or "the run has not ended" in said or "running.tide: " in said, said)
        tree.parse(out)
    finally:
        job.send_signal(signal.SIGINT)
        job.wait()


# ---- pprof ----


def pprof(path, *options):
    if not shutil.which("go"):
        raise Skipped("pprof is not installed (the package golang-go)")
    with tempfile.TemporaryDirectory() as home:  # it keeps its settings there
        done = subprocess.run(["go", "tool", "pprof", *options, str(path)], capture_output=True, text=True,
                              env={**os.environ, "PPROF_TMPDIR": home, "PPROF_NO_BROWSER": "1"})
    expect(done.returncode == 0, path, done.stderr)
    return done.stdout


def pprof_reads_it(o):
    """Its own check of the format, and its sums of every value."""
    for recording in o.recordings:
        path = o.export(recording, "--pprof")
        samples = reading.pprof(path)
        raw = pprof(path, "-raw")
        rows = [list(map(int, m.group(1).split())) for m in
                re.finditer(r"^ *((?:-?\d+ +){4}-?\d+):(?: \d+)+ *$", raw, re.M)]
        expect(sorted(rows) == sorted(s[:5] for s in samples), recording, raw[:2000])
        for index, name in enumerate(reading.VALUE_TYPES):
            top = pprof(path, "-top", "-unit=B", "-nodecount=1000000", "-sample_index=" + name)
            total = sum(abs(s[index]) for s in samples)
            expect("Type: " + name in top, top[:300])
            shown = re.search(r"of (-?[\d.]+)B? total", top)
            expect(total == 0 or abs(float(shown.group(1)) / total - 1) < 0.01, recording, name, total, top[:600])


def pprof_names_the_line(o):
    sites = o.sites("real")
    top = max(sites, key=lambda s: s[1]["live"])[1]
    own = top["frames"][top["own_frame"]]
    first = pprof(o.export("real", "--pprof"), "-top", "-lines", "-sample_index=inuse_space")
    row = next(x for x in first.splitlines() if "%" in x and "flat" not in x and "Showing" not in x)
    expect(own["function"] in row and "%s:%d" % (own["file"], own["line"]) in row, row)


def pprof_subtracts_runs(o):
    """One profile against another: the same minus itself is nothing."""
    path = o.export("loop", "--pprof")
    left = pprof(path, "-top", "-unit=B", "-base=" + str(path), "-sample_index=inuse_space")
    expect("of 0 total" in left or "100% of 0" in left or not re.search(r"^ +\d+B ", left, re.M), left)


def pprof_selects_by_label(o):
    """Processes and kinds of memory are tags."""
    tags = pprof(o.export("two", "--pprof"), "-tags")
    for tag in ("data worker 31030", "trainer 31025", "cuda:0", "malloc"):
        expect(tag in tags, tag, tags)


# ---- flamegraph.pl, inferno ----


def others_draw_the_stacks(o):
    program = shutil.which("inferno-flamegraph") or shutil.which("flamegraph.pl")
    if not program:
        raise Skipped("neither inferno nor flamegraph.pl is installed")
    for recording in o.recordings:
        path = o.export(recording, "--collapsed", "--live")
        done = subprocess.run([program, path], capture_output=True, text=True)
        expect(done.returncode == 0, recording, done.stderr)
        total = re.search(r"<title>all \(([\d,]+) samples, 100%\)</title>", done.stdout)
        wanted = sum(b for _, b in reading.collapsed(path))
        expect(total and int(total.group(1).replace(",", "")) == wanted, recording, wanted, total)


# ---- in a browser ----


def need_browser():
    if not browser.program():
        raise Skipped("no Chromium is installed (the package chromium)")


def speedscope_folder(o):
    """The program as its authors publish it; kept in the build folder."""
    need_browser()
    folder = o.build / "speedscope"
    page = folder / "package/dist/release/index.html"
    if not page.exists():
        folder.mkdir(exist_ok=True)
        if not shutil.which("npm"):
            raise Skipped("npm is not installed, so speedscope cannot be fetched")
        done = subprocess.run(["npm", "pack", "--silent", SPEEDSCOPE], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise Skipped("speedscope cannot be fetched: " + done.stderr[-300:])
        subprocess.run(["tar", "xzf", done.stdout.split()[-1]], cwd=folder, check=True)
    return page


OPEN = """new Promise(function (done) {
    const started = Date.now();
    (function look() {
        const tab = Array.from(document.querySelectorAll('div')).find(
            function (e) { return e.children.length === 1 && e.textContent.endsWith('Sandwich'); });
        if (tab) { tab.click(); setTimeout(function () { done(true); }, 300); }
        else if (Date.now() - started > 20000) done(false);
        else setTimeout(look, 50);
    })();
})"""
ROWS = """Array.from(document.querySelectorAll('table tr')).map(
    function (r) { return Array.from(r.children).map(function (c) { return c.textContent; }); })"""


def speedscope_table(o, page, path):
    """What it shows as "Sandwich": total, self and name of each function."""
    script = o.folder / (path.name + ".js")
    text = reading.base64_of(path)
    script.write_text("speedscope.loadFileFromBase64(%s, %s)" % (json.dumps(path.name), json.dumps(text)))
    page.said.clear()
    page.visit("about:blank")  # else only what follows the # changes, and nothing is loaded
    page.visit("file://%s#localProfilePath=%s" % (speedscope_folder(o), script))
    expect(page.run(OPEN), "%s: speedscope does not open it" % path.name, page.run("document.body.innerText"), page.said)
    expect(not [s for s in page.said if "dialog" in s], page.said)
    return page.run(ROWS)


def shown_bytes(cell):
    """Of "12.60 MB (98%)", "13,210,758 (98%)"."""
    number, unit = re.match(r"([\d.,]+)(?: ([KMG])?B)? \(", cell).groups()
    return float(number.replace(",", "")) * 1024 ** " KMG".index(unit or " ")


def speedscope_reads_it(o):
    """Its forms of ours: its own, collapsed stacks and pprof."""
    speedscope_folder(o)
    top = max(o.sites("real"), key=lambda s: s[1]["live"])[1]
    function = top["frames"][top["own_frame"]]["function"]
    live = sum(s["live"] for _, s in o.sites("real") if any(f.get("function") == function for f in s["frames"]))
    with browser.page() as page:
        page.look(1400)
        for form, options in (("--speedscope", ["--live"]), ("--collapsed", ["--live"]), ("--pprof", [])):
            rows = speedscope_table(o, page, o.export("real", form, *options))
            found = [r for r in rows if re.search(r"\b%s\b" % re.escape(function), r[2])]
            expect(len(found) == 1, "%s: no %s" % (form, function), rows[:20])
            expect(abs(shown_bytes(found[0][0]) / live - 1) < 0.01, form, found, live)
        for recording in ("hostile", "wide", "two"):
            rows = speedscope_table(o, page, o.export(recording, "--speedscope", "--live"))
            expect(len(rows) > 3, recording, rows)


IN_WINDOW = """(function () {
    const width = document.documentElement.getBoundingClientRect().width, out = [];
    for (const e of document.querySelectorAll('text, rect, input'))
        if (e.getClientRects().length && e.getBoundingClientRect().right > width + 1)
            out.push(e.textContent + ' ends at ' + e.getBoundingClientRect().right);
    return out;
})()"""
IN_BOXES = """Array.from(document.querySelectorAll('.frame:not(.gone)')).filter(function (g) {
    const t = g.querySelector('text'), r = g.querySelector('rect');
    return t && t.textContent && t.getBoundingClientRect().right > r.getBoundingClientRect().right + 0.5;
}).map(function (g) { return g.querySelector('text').textContent; })"""


def pictures_fit(o):
    """Nothing is cut off at the side of the window, no label leaves its box, no error is said."""
    need_browser()
    with browser.page() as page:
        for recording in o.recordings:
            for width in (1200, 600, 360):
                page.look(width)
                page.visit(o.flame(recording))
                for script in (IN_WINDOW, IN_BOXES):
                    expect(page.run(script) == [], "%s at %d" % (recording, width), page.run(script)[:5])
        expect(page.said == [], page.said)


def nothing_in_a_name_runs(o):
    need_browser()
    with browser.page() as page:
        page.look(1200)
        page.visit(o.flame("hostile"))
        middle = box(page, "</script>")
        page.mouse("mouseMoved", *middle)
        page.click(*middle)
        page.press("/")
        page.type("<script>")
        expect(page.run("document.querySelectorAll('script').length") == 1)
        expect(page.run("document.querySelectorAll('foreignObject').length") == 1)
        expect(page.said == [], page.said)


def box(page, label):
    """The middle of the first box whose label begins so."""
    found = page.run("""(function () {
        for (const g of document.querySelectorAll('.frame:not(.gone)'))
            if ((g.getAttribute('aria-label') || '').startsWith(%s)) {
                const r = g.querySelector('rect').getBoundingClientRect();
                return [r.x + r.width / 2, r.y + r.height / 2, r.width];
            }
        return null;
    })()""" % json.dumps(label))
    expect(found, "no box " + label)
    return found[:2]


def width_of(page, label):
    return page.run("""(function () {
        const g = Array.from(document.querySelectorAll('.frame:not(.gone)')).find(
            function (e) { return e.getAttribute('aria-label').startsWith(%s); });
        return g ? g.querySelector('rect').getBoundingClientRect().width : 0;
    })()""" % json.dumps(label))


def text(page, selector):
    return page.run("document.querySelector(%s).textContent" % json.dumps(selector))


def is_seen(page, selector):
    return page.run("!document.querySelector(%s).classList.contains('gone')" % json.dumps(selector))


def picture_answers_the_mouse(o):
    """Tool-tip, zoom, search and back, as a person does them."""
    need_browser()
    with browser.page() as page:
        page.look(1200)
        page.visit(o.flame("loop"))
        page.mouse("mouseMoved", *box(page, "append_row"))
        expect(is_seen(page, ".tip") and "/job/history.py:9" in text(page, ".tip"), text(page, ".tip"))
        before = width_of(page, "append_row")
        expect(not is_seen(page, ".reset"))
        page.click(*box(page, "append_row"))
        expect(width_of(page, "append_row") > 1000 > before, before)
        expect(width_of(page, "at::_ops::clone") == 0, "what is beside the zoomed frame is gone")
        expect(is_seen(page, ".reset"))
        reset = page.run("(function (r) { return [r.x + 5, r.y + 5]; })"
                         "(document.querySelector('.reset').getBoundingClientRect())")
        page.click(*reset)
        expect(width_of(page, "append_row") == before)
        page.press("/")
        page.type("HISTORY.PY")
        growth = sum(s["growth"] for _, s in o.sites("loop") if "append_row" in s["summary"])
        share = growth / sum_of(o.sites("loop"), "growth")
        expect("1 frame: 4.50 MB, %.1f %%" % (100 * share) == text(page, ".found"), text(page, ".found"))
        page.press("Escape")
        expect(text(page, ".found") == "" and page.run("document.querySelectorAll('.hit').length") == 0)
        expect(page.said == [], page.said)


def picture_answers_keys(o):
    need_browser()
    with browser.page() as page:
        page.look(1200)
        page.visit(o.flame("loop"))
        for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
            page.press(key)
        expect(text(page, ".tip").startswith("remember (train.py:24)"), text(page, ".tip"))
        page.press("Enter")
        expect(width_of(page, "remember (train.py:24)") > 1000)
        page.press("ArrowUp")
        expect(text(page, ".tip").startswith("train (train.py:41)"), text(page, ".tip"))
        page.press("Escape")
        expect(width_of(page, "remember (train.py:24)") < 1000)
        expect(page.said == [], page.said)


def picture_is_readable(o):
    """Text stands out from what is under it (WCAG's 4.5), in a light and in a dark window."""
    need_browser()
    with browser.page() as page:
        for scheme in ("light", "dark"):
            page.look(1200, scheme=scheme)
            page.visit(o.flame("loop"))
            least = page.run(CONTRAST)
            expect(least[0] >= 4.5, scheme, least)


CONTRAST = """(function () {
    function parts(c) { return c.match(/[\\d.]+/g).map(Number); }
    function over(top, alpha, under) { return top.map(function (v, i) { return v * alpha + under[i] * (1 - alpha); }); }
    function light(c) {
        const l = c.map(function (v) { v /= 255; return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); });
        return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2];
    }
    const page = parts(getComputedStyle(document.documentElement).backgroundColor).slice(0, 3);
    let least = [100, ''];
    for (const t of document.querySelectorAll('text')) {
        if (!t.textContent || !t.getClientRects().length) continue;
        const box = t.parentElement.querySelector(':scope > rect');
        const inside = box && !t.parentElement.classList.contains('key');
        const style = inside ? getComputedStyle(box) : null;
        const under = inside ? over(parts(style.fill).slice(0, 3), Number(style.fillOpacity), page) : page;
        const a = light(parts(getComputedStyle(t).fill).slice(0, 3)), b = light(under);
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < least[0]) least = [ratio, t.textContent];
    }
    return least;
})()"""


CASES = (numbers_agree, pprof_agrees, widths_add_up, kinds_and_processes_add_up, spans_add_up,
         the_leak_is_found, pictures_are_well_formed, lines_stay_lines, damaged_sites_are_survived,
         on_a_terminal_it_is_a_file, a_running_job_is_drawn, pprof_reads_it, pprof_names_the_line, pprof_subtracts_runs, pprof_selects_by_label,
         others_draw_the_stacks, speedscope_reads_it, pictures_fit, nothing_in_a_name_runs,
         picture_answers_the_mouse, picture_answers_keys, picture_is_readable)


def main():
    options = runner.arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        outputs = Outputs(options.target, folder)
        outputs.recordings  # made once, before cases run beside each other
        cases = [Case(runner.words(f.__name__), functools.partial(f, outputs)) for f in CASES
                 if runner.is_wanted(f.__name__, options.names)]
        return runner.run_all(cases, 1)


if __name__ == "__main__":
    sys.exit(main())
