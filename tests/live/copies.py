"""Data workers: what they copy of their parent, with real DataLoaders; and what is advised."""

import functools
import json
import re
import subprocess
import sys

from bench import Skipped, check, equal, load_json, python

# A dataset of 300,000 objects, or of as many in one array; a worker that hoards what it made.
PROGRAM = """
import sys, time
import numpy as np, torch
from torch.utils.data import DataLoader, Dataset, Subset
how, workers, steps, method = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
N = 300000
class Files(Dataset):
    def __init__(self):
        rows = (("train/%09d.jpg" % i, i) for i in range(N))
        if how == "dicts":
            self.samples = [{"path": path, "label": label} for path, label in rows]
        elif how in ("tuples", "wrapped"):
            self.samples = list(rows)
        else:
            self.samples = np.arange(N * 4)
        self.kept = []
    def __len__(self):
        return N
    def __getitem__(self, i):
        if how == "dicts":
            sample = self.samples[i]
            return sample["label"] + len(sample["path"])
        if how == "tuples" or how == "wrapped":
            path, label = self.samples[i]
            return label + len(path)
        if how == "leaks":
            self.kept.append(bytearray(8192))
        return int(self.samples[i])
def train():
    dataset = Files()
    if how == "wrapped":
        dataset = Subset(dataset, np.arange(N))
    more = {"multiprocessing_context": method} if workers else {}
    sampler = torch.utils.data.RandomSampler(dataset, True, 256 * steps)
    loader = DataLoader(dataset, batch_size=256, sampler=sampler, num_workers=workers, **more)
    for i, batch in enumerate(loader, 1):
        print("step", i, flush=True)
        time.sleep(0.003)
if __name__ == "__main__":
    train()
"""

TOLD = r"data workers? of trainer \d+ (?:has|have) copied"


@functools.lru_cache(None)
def _has_torch():
    return subprocess.run(python("import torch")).returncode == 0


def _watched(b, how, workers=2, steps=700, method="fork"):
    """(the answer, what was said, the run file)."""
    if not _has_torch():
        raise Skipped("no torch")
    program, file = b.folder / "program.py", b.folder / "run.tide"
    program.write_text(PROGRAM)
    answer = b.folder / "answer.json"
    command = [sys.executable, program, how, workers, steps, method]
    done = b.run(b.under([str(c) for c in command], "--json", answer, "-o", file))
    equal(done.returncode, 0, "status", done.stderr.decode())
    return load_json(answer.read_text()), done.stderr.decode(), file


def _advice(b, file, *options):
    done = b.run([str(b.tidemark), "advise", str(file), "--json", *options])
    equal(done.returncode, 0, "status of advise", done.stderr.decode())
    return json.loads(done.stdout)


def _notes(answer):
    return [n for n in answer["notes"] if re.search(TOLD, n)]


def _is_told(b, how, type_name, least, most):
    answer, said, file = _watched(b, how)
    equal(answer["verdict"], "no_leak", "verdict", said)
    (note,) = _notes(answer)
    check("Files.samples, a %s with about" % type_name in note, "the attribute", note)
    check("no leak" in note and "self.samples: one array for each field" in note,
          "the end and the fix", note)
    check(re.search("(?m)^tidemark: 2 " + TOLD, said), "told as it happens", said)
    copies = _advice(b, file)["copies"]
    equal((copies["workers"], copies["attribute"]), (2, "samples"), "whose", copies)
    check(least < copies["each"] / 2**20 < most, "copied by each", copies)
    check(copies["each"] < copies["inherited"], "more than it had", copies)
    return note, file


def a_list_of_dicts_is_copied(b):
    """By each worker, as measured; the report, the run file and advise name the attribute."""
    note, file = _is_told(b, "dicts", "list", 40, 75)
    shown = b.run([str(b.tidemark), "show", str(file), "--json"]).stdout.decode()
    check(note in load_json(shown)["notes"], "show", shown)


def a_list_of_tuples_is_copied(b):
    """The same of tuples, whose texts and numbers are objects of their own."""
    _is_told(b, "tuples", "list", 40, 75)


def a_dataset_inside_another_is_found(b):
    """Through torch's Subset."""
    _is_told(b, "wrapped", "list", 40, 75)


def one_array_is_shared(b):
    """The same numbers as one array: nothing is told, and nothing is to be changed."""
    answer, said, file = _watched(b, "array")
    equal((answer["verdict"], _notes(answer)), ("no_leak", []), "answer", said)
    check(not re.search(TOLD, said), "told", said)
    advice = _advice(b, file)
    check("copies" not in advice and advice["settings"] == [], "advice", advice)


def without_workers_nothing_is_told(b):
    """The list is there, and nobody forks."""
    answer, said, file = _watched(b, "tuples", workers=0)
    equal(_notes(answer), [], "notes", said)
    check("copies" not in _advice(b, file), "advice")


def a_worker_that_leaks_leaks(b):
    """What it hoards itself is no copy of anything."""
    answer, said, file = _watched(b, "leaks", steps=900)
    equal(answer["verdict"], "leak", "verdict", said)
    roles = {s["process"]["role"] for s in answer["series"] if s["verdict"] == "leak"
             and "process" in s}
    equal((roles, _notes(answer)), ({"data worker"}, []), "who leaks", said)
    (host,) = _advice(b, file)["memory"]
    check(host["verdict"] == "leak" and "minimum" not in host, "advice", host)
    check("lasts_until_step" in host, "how long it lasts", host)


def spawned_workers_have_copies_of_their_own(b):
    """From the start, and of all they were given."""
    answer, said, _ = _watched(b, "tuples", method="spawn")
    notes = [n for n in answer["notes"] if "were spawned, not forked" in n]
    check(len(notes) == 1 and "Files.samples" in notes[0], "note", answer["notes"], said)
