#!/bin/bash
# tests/outputs/record.sh BUILD: records tests/cli/data/traced.tide.xz anew, a run of a program with
# one leaking line, traced from the start.
set -euo pipefail
build=$(realpath "$1")
data=$(realpath "$(dirname "$0")/../cli/data")
stage=/tmp/recorded # programs are recorded from here: no path of a machine is kept
rm -rf "$stage"
mkdir "$stage"
cp "$build/tests/workloads/leak_one_site" "$stage"
cd "$stage"
"$build/tidemark" run --quiet -o traced.tide --trace=65536 -- ./leak_one_site --steps 400 --step-ms 8 > /dev/null
python3 - traced.tide "$data/traced.tide.xz" << 'END'
import lzma
import sqlite3
import sys

with sqlite3.connect(sys.argv[1]) as file:
    file.executescript("UPDATE run SET host = NULL; VACUUM;")
with lzma.open(sys.argv[2], "wb", preset=9) as kept:
    kept.write(open(sys.argv[1], "rb").read())
END
