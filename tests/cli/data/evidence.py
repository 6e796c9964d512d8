"""evidence.py RUN.tide: gives a recorded run of leak_heap the evidence that a Python job would have.

A list gains 400 items a second of 500 bytes less than the process grows by; its heap is all in use.
"""
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1])
db.executescript("""
CREATE TABLE IF NOT EXISTS look (process, seconds, anon, heap_used, heap_free, data);
CREATE TABLE IF NOT EXISTS census (process, searched, origin, text);
""")
process, series = db.execute(
    "SELECT process, id FROM series WHERE kind = 'host.anon' AND process IS NOT NULL").fetchone()
rows = db.execute("SELECT seconds, value FROM sample WHERE series = ? ORDER BY seconds",
                  (series,)).fetchall()
looks = rows[:: max(1, len(rows) // 20)]
for seconds, anon in looks:
    db.execute("INSERT INTO look (process, seconds, anon, heap_used, heap_free, data) VALUES (?,?,?,?,?,?)",
               (process, seconds, anon, anon - 1e6, 1000, anon + 1e6))
points = [(s, a) for s, a in looks[::3]]
text = "tidemark census 2\ncensus\t9\t%d\t5000\t1\t9\n" % (looks[-1][0] * 1e9)
text += "growing\t1\tcontainer\t500\t0\t\t" + " ".join(
    "%d:%d" % (s * 1e9, (a - looks[0][1]) * 0.9 / 500) for s, a in points) + "\n"
text += "what\t1\tlist\tlist\nitem\t1\tbytes\tbytes\n"
text += "holder\t1\t1\tlocal\tkept\ttrain\t/job/train.py\t3\naddition\t1\t7\n"
db.execute("INSERT INTO census VALUES (?,1,0,?)", (process, text))
db.commit()
