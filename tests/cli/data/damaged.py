"""damaged.py FROM TO TABLE: a copy of a run file in which the first page of a table is overwritten."""
import os
import shutil
import sqlite3
import sys

shutil.copyfile(sys.argv[1], sys.argv[2])
os.chmod(sys.argv[2], 0o600)
db = sqlite3.connect(sys.argv[2])
size = db.execute("PRAGMA page_size").fetchone()[0]
page = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", sys.argv[3:]).fetchone()[0]
db.close()
with open(sys.argv[2], "r+b") as f:
    f.seek((page - 1) * size)
    f.write(b"\xff" * size)
