"""hostile.py FROM TO: a copy of a run file in which every text ends with what no terminal should
get: a right-to-left override, an escape sequence, a zero-width space."""
import json
import os
import shutil
import sqlite3
import sys

BAD = "\u202e\x1b[2J\u200b"
TEXTS = {
    "run": ["command", "title", "host", "limit_source"],
    "process": ["role", "command", "why"],
    "series": ["kind", "device", "name"],
    "event": ["what", "text"],
}


# Words of a kept report, of which there are so many: with another it would be refused.
WORDS = {
    ("answer", "verdict"), ("answer", "severity"), ("answer", "pattern"), ("patterns", "pattern"),
    ("info", "unit"), ("info", "clock"), ("series", "part"), ("phases", "name"),
    ("rows", "role"), ("total", "role"),
}


def spoil(value, keep=(), path=("", "")):
    if isinstance(value, str):
        return value if value == "inf" or path in keep else value + BAD
    if isinstance(value, list):
        return [spoil(v, keep, path) for v in value]
    if isinstance(value, dict):
        return {k: spoil(v, keep, (path[1], k)) for k, v in value.items()}
    return value


shutil.copyfile(sys.argv[1], sys.argv[2])
os.chmod(sys.argv[2], 0o600)
db = sqlite3.connect(sys.argv[2], isolation_level=None)
answer, report = db.execute("SELECT json, report FROM answer").fetchone()
# Not even JSON: the control characters stand in it as they are.
raw = json.dumps(spoil(json.loads(answer)), ensure_ascii=False).replace("\\u001b", "\x1b")
db.execute(
    "UPDATE answer SET json = ?, report = ?",
    (raw, json.dumps(spoil(json.loads(report), WORDS), ensure_ascii=False)),
)
for table, columns in TEXTS.items():
    for column in columns:
        db.execute(f"UPDATE {table} SET {column} = {column} || ?", (BAD,))
