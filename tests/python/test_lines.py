"""The documents' own output, to the letter, from a Watcher that is given their numbers."""

import re

import tidemark
from support import DATA, Case, output
from tidemark import _lines
from tidemark._watcher import _Now

STEP = re.compile(r"Step +(\d+) \| loss=([\d.]+) \| time=([\d.]+)s \| CPU=([\d.]+)% \| "
                  r"RAM=([\d.]+)%(?: \| VRAM=(\d+)MB)?$")
LOSS = re.compile(r"   Loss \(avg\): ([\d.]+) \[(\w+)\]$")
DELTA = re.compile(r"   VRAM delta: ([+-][\d.]+)MB$")
TILT = {"decreasing": 0.04, "stable": 0, "increasing": -0.04}
BASE_MB = 25.0
TRAINWATCH = ("Step ", "✓", "=", "Epoch ", "   ")


class Scripted(tidemark.Watcher):
    """A Watcher whose machine shows what the script says."""

    seconds = cpu = ram = vram_mb = 0.0

    def _on_line(self, loss, seconds):
        super()._on_line(loss, self.seconds)

    def _look_now(self):
        return _Now(host_bytes=0.0, cpu_used=self.cpu / 100, system_used=self.ram / 100)

    def _vram(self):
        return self.vram_mb * _lines.MB

    def losses(self, average, trend="stable"):
        """A window of this average and trend."""
        half, tilt = self.window // 2, average * TILT[trend]
        return [average + tilt] * half + [average - tilt] * (self.window - half)


def document(name):
    """TrainWatch's lines, without what a person wrote beside them and the demo at their end."""
    lines = (DATA / name).read_text().splitlines()
    return [line.partition("  ←")[0] for line in lines if line.startswith(TRAINWATCH)]


def replay(lines):
    """What a Watcher prints that sees what the lines tell of."""
    w = Scripted()
    with output() as out:
        for i, line in enumerate(lines):
            step = STEP.match(line)
            if step:
                w.seconds, w.cpu, w.ram, w.vram_mb = (float(x) for x in step.group(3, 4, 5, 6))
                wanted = w.losses(float(step[2]))
                while w.step_count < int(step[1]):
                    left = int(step[1]) - w.step_count
                    w.step(wanted[-left] if left <= len(wanted) else wanted[0])
            elif line.startswith("✓"):
                w.vram_mb = BASE_MB
                w.epoch_end()
            elif line.startswith("Epoch"):
                loss, delta = LOSS.match(lines[i + 1]), DELTA.match(lines[i + 2])
                for value in w.losses(float(loss[1]), loss[2]):
                    w.step(value)
                w.vram_mb = BASE_MB + float(delta[1])
                w.epoch_end()
    return out.getvalue()


class TheDocuments(Case):
    def check(self, name):
        lines = document(name)
        self.assertGreater(len(lines), 30)
        said = replay(lines).splitlines()
        ours = [line for line in said if line.startswith(("   RAM delta:", "   verdict:"))]
        self.assertEqual(len(ours), 4)
        self.assertEqual([line for line in said if line and line not in ours], lines)

    def test_correct_training(self):
        self.check("trainwatch_correct.log")

    def test_leaking_training(self):
        self.check("trainwatch_leak.log")

    def test_additions_stand_below_the_summary(self):
        said = replay(document("trainwatch_correct.log"))
        block = said[said.index("\n\n====") + 2:].splitlines()[:7]
        self.assertEqual(block[0], "=" * 60)
        self.assertEqual(block[1], "Epoch 2 Summary:")
        self.assertEqual(block[4], "=" * 60)
        self.assertTrue(block[5].startswith("   RAM delta:") or block[5].startswith("   verdict:"))


class Lines(Case):
    def test_without_vram(self):
        self.assertEqual(_lines.step_line(7, 0.5, 0.25, 0.5, 0.125),
                         "Step      7 | loss=0.5000 | time=0.250s | CPU=50.0% | RAM=12.5%")

    def test_what_is_not_known_is_said_to_be_so(self):
        self.assertIn("CPU=n/a", _lines.step_line(7, 0.5, 0.25, None, 0.125))

    def test_a_summary_without_losses(self):
        self.assertEqual(_lines.epoch_summary(2, None, None),
                         "\n" + "=" * 60 + "\nEpoch 2 Summary:\n" + "=" * 60)
