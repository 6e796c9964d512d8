"""What `tidemark plot` draws of every recording: well-formed, and no text over another.

run.py BUILD [NAME...]: the SVG by an XML parser and by the places of its texts, the PNG by a reader
of our own (pixels.py), and both side by side in Chromium, which is skipped where there is none.
"""
import concurrent.futures
import csv
import functools
import lzma
import math
import os
import pathlib
import pty
import random
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path[:0] = [str(TESTS), str(TESTS / "outputs"), str(HERE)]

import browser  # noqa: E402
import pixels  # noqa: E402
import runner  # noqa: E402
from runner import Case, Skipped, expect  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "title", "desc", "polygon", "polyline", "text"}
# How far a text reaches from its baseline, in its size; a little less than it really does, because
# what just touches is no overlap.
UP, DOWN = 0.7, 0.2
NOTHING = ("failed",)  # golden recordings without a sample


class Plots:
    def __init__(self, build, folder):
        self.tidemark, self.folder = str(pathlib.Path(build) / "tidemark"), pathlib.Path(folder)

    @functools.cached_property
    def sources(self):
        """Every recording and log of the tests."""
        found = [*(TESTS / "data").glob("*.log"), *(TESTS / "data").glob("*.jsonl")]
        for packed in [*(TESTS / "golden").glob("*.xz"), *(TESTS / "recordings").glob("*.xz")]:
            run = self.folder / packed.stem
            run.write_bytes(lzma.decompress(packed.read_bytes()))
            found.append(run)
        return sorted(found)

    def call(self, *arguments, exit_status=0):
        done = subprocess.run([self.tidemark, "plot", "--quiet", *map(str, arguments)], capture_output=True)
        expect(done.returncode == exit_status, arguments, done.stderr.decode())
        return done.stdout

    def svg(self, *arguments):
        return tree.fromstring(self.call(*arguments, "-o", "-"))

    def png(self, *arguments):
        return self.call(*arguments, "-o", "-", "--format", "png")


# ---- looking at an SVG ----


def box(text):
    x, y, size, width = (float(text.get(a)) for a in ("x", "y", "font-size", "textLength"))
    return x, y - UP * size, x + width, y + DOWN * size


def texts(picture):
    return [(t.text, box(t)) for t in picture.iter(SVG + "text")]


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def numbers(picture):
    for element in picture.iter():
        for name in ("x", "y", "width", "height", "points"):
            yield from map(float, element.get(name, "").replace(",", " ").split())


def check(picture, what):
    """What holds for every picture, whatever it shows."""
    width, height = float(picture.get("width")), float(picture.get("height"))
    used = {element.tag.replace(SVG, "") for element in picture.iter()}
    expect(used <= ELEMENTS, what, used)
    expect(all(math.isfinite(n) for n in numbers(picture)), what, "a number is none")
    expect(picture.find(SVG + "title").text and picture.find(SVG + "desc").text, what, "no words")
    placed = texts(picture)
    for i, (text, a) in enumerate(placed):
        expect(0 <= a[0] and 0 <= a[1] and a[2] <= width and a[3] <= height, what, "outside: " + text)
        for other, b in placed[:i]:
            expect(not overlap(a, b), what, "%r lies over %r" % (text, other))


def check_all(p, sources, *options):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, picture in zip(sources, pool.map(lambda s: p.svg(s, *options), sources)):
            check(picture, [source.name, *options])


# ---- cases ----


def every_recording_is_drawn(p):
    drawn = [s for s in p.sources if s.stem not in NOTHING]
    check_all(p, drawn)
    return "%d pictures" % len(drawn)


def every_kind_of_picture_is_drawn(p):
    """One recording in three, in every other form."""
    some = [s for s in p.sources if s.stem not in NOTHING][::3]
    for options in (["--all"], ["--size", "320x200"], ["--size", "200x200"], ["--size", "600x1200", "--all"],
                    ["--size", "3840x2160", "--dark"], ["--limit", "200MB"]):
        check_all(p, some, *options)
    return "%d pictures of each" % len(some)


def a_png_holds_the_same_picture(p):
    """Its size, its words, its background and the plate of its verdict."""
    for name, plate in (("leak_gpu.tide", (0xb4, 0x23, 0x18)), ("evaluations.tide", (0x0d, 0x6b, 0x4f))):
        source = p.folder / name
        data = p.png(source, "--size", "600x340")
        width, height, rows = pixels.read(data)
        expect((width, height) == (600, 340))
        expect(bytes(rows[0][:3]) == b"\xff\xff\xff")
        seen = {tuple(row[i:i + 3]) for row in rows for i in range(0, len(row), 3)}
        expect(plate in seen and len(seen) > 100, plate, len(seen))
        title = dict(pixels.words(data))["Title"]
        expect(title == p.svg(source).find(SVG + "title").text, title)


def the_same_run_gives_the_same_bytes(p):
    for name in ("leak_rank.tide", "evaluations.tide", "oom_killed.tide"):
        source = p.folder / name
        expect(p.png(source, "--all") == p.png(source, "--all"), name)
        expect(p.call(source, "-o", "-") == p.call(source, "-o", "-"), name)


def scaling_gives_more_pixels_and_no_other_picture(p):
    small = pixels.read(p.png(p.folder / "leak_gpu.tide", "--size", "300x200"))
    large = pixels.read(p.png(p.folder / "leak_gpu.tide", "--size", "300x200", "--scale", "2"))
    expect(large[:2] == (600, 400))
    apart = 0
    for y in range(200):
        for x in range(300):
            four = [large[2][2 * y + j][3 * (2 * x + i)] for i in (0, 1) for j in (0, 1)]
            apart += abs(small[2][y][3 * x] - sum(four) / 4)
    expect(apart / 60000 < 1.5, apart / 60000)


def chromium_draws_the_svg_as_the_png(p):
    if not browser.program():
        raise Skipped("no Chromium is installed (the package chromium)")
    size = ["--size", "600x340"]
    with browser.page() as page:
        page.look(600, 340)
        for name in ("leak_gpu.tide", "evaluations.tide"):
            picture, shot = p.folder / (name + ".svg"), p.folder / (name + ".shot.png")
            p.call(p.folder / name, *size, "-o", picture)
            page.visit(picture.as_uri())
            page.picture(shot)
            ours = pixels.read(p.png(p.folder / name, *size))[2]
            theirs = pixels.read(shot.read_bytes())[2]
            apart = sum(abs(a - b) for x, y in zip(ours, theirs) for a, b in zip(x, y)) / (600 * 340 * 3)
            # Hints and antialiasing of text make 2 to 3, the picture of another run 12 and more.
            expect(apart < 5, name, apart)
        expect(not page.said, page.said)


def hostile_columns_and_hundreds_of_series(p):
    source = p.folder / "many.csv"
    chance = random.Random(1)
    names = ["<b onclick='x'>&amp; %d \u202e\u6f22 %s" % (i, "long " * (i % 9)) for i in range(300)]
    with source.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["step", *names])
        for step in range(1, 300):
            table.writerow([step, *(5e6 + 2e3 * step * (i % 3) + chance.random() * 1e5 for i in range(300))])
    picture = p.svg(source, "--clock", "step", "--unit", "bytes", "--all")
    check(picture, "many")
    expect(any("more series have no room here" in text for text, _ in texts(picture)))


def many_spikes_keep_one_name(p):
    source = p.folder / "spikes.csv"
    source.write_text("step,rss_mb\n" + "".join(
        "%d,%d\n" % (step, 900 if step % 20 == 0 else 500) for step in range(1, 2000)))
    picture = p.svg(source)
    check(picture, "spikes")
    expect(sum("spikes, typically" in text for text, _ in texts(picture)) == 1, texts(picture))


def on_a_terminal_it_names_the_file(p):
    run = p.folder / "leak_gpu.tide"
    master, terminal = pty.openpty()
    done = subprocess.run([p.tidemark, "plot", "--quiet", run.name], cwd=p.folder, stdout=terminal,
                          stderr=subprocess.PIPE)
    refused = subprocess.run([p.tidemark, "plot", "--quiet", run.name, "-o", "-", "--format", "png"],
                             cwd=p.folder, stdout=terminal, stderr=subprocess.PIPE)
    os.close(terminal)
    os.close(master)
    expect(done.returncode == 0 and done.stderr == b"tidemark: leak_gpu.png: the picture\n", done.stderr)
    expect(pixels.read((p.folder / "leak_gpu.png").read_bytes())[0] == 1200)
    expect(refused.returncode == 1 and b"does not go to a terminal" in refused.stderr, refused.stderr)


def a_full_disk_is_reported(p):
    done = subprocess.run([p.tidemark, "plot", "--quiet", p.folder / "leak_gpu.tide", "--format", "svg",
                           "-o", "/dev/full"], capture_output=True)
    expect(done.returncode == 1 and b"No space left" in done.stderr, done.stderr)


CASES = [every_recording_is_drawn, every_kind_of_picture_is_drawn, a_png_holds_the_same_picture,
         the_same_run_gives_the_same_bytes, scaling_gives_more_pixels_and_no_other_picture,
         chromium_draws_the_svg_as_the_png, hostile_columns_and_hundreds_of_series,
         many_spikes_keep_one_name, on_a_terminal_it_names_the_file, a_full_disk_is_reported]


def main():
    options = runner.arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        plots = Plots(options.target, folder)
        plots.sources  # made once, before cases run beside each other
        cases = [Case(runner.words(f.__name__), functools.partial(f, plots)) for f in CASES
                 if runner.is_wanted(f.__name__, options.names)]
        return runner.run_all(cases, 2)


if __name__ == "__main__":
    sys.exit(main())
