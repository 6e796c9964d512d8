"""What is at which address."""

import contextlib
import json
import os
import sqlite3

from server import check, equal, wait_until


def _change(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute(statement)
        db.commit()


def lists_runs_with_their_verdicts(d):
    """The folder's runs and those below it, the newest first; what cannot be read says why."""
    d.put("a.tide")
    d.put("deep/b.tide", "short")
    whole = d.put("cut.tide").read_bytes()
    (d.runs / "cut.tide").write_bytes(whole[:30000])
    _change(d.put("newer.tide"), "PRAGMA user_version = 99")
    server = d.serve("runs")
    runs = {r["name"]: r for r in server.get("/data.json").json["runs"]}
    equal(set(runs), {"a.tide", "deep/b.tide", "cut.tide", "newer.tide"}, "names")
    equal(runs["a.tide"]["verdict"], "leak", "verdict")
    check(runs["a.tide"]["summary"].startswith("LEAK (low): "), "summary", runs)
    equal(runs["a.tide"]["live"], False, "live")
    equal(runs["deep/b.tide"]["command"], "sleep 0.3", "command")
    check("damaged" in runs["cut.tide"]["error"], "damaged", runs)
    check("newer" in runs["newer.tide"]["error"], "newer", runs)
    page = server.get("/runs/cut.tide/")
    equal(page.status, 422, "status")
    check(page.body.startswith(b"cut.tide: damaged"), "page", page.body)


def shows_what_is_in_the_folder_alone(d):
    """No links, no hidden files, nothing that is not a regular file, nothing four levels down."""
    d.put("a.tide")
    outside = d.folder / "outside"
    outside.mkdir()
    os.link(d.put("gone.tide"), outside / "secret.tide")
    (d.runs / "gone.tide").unlink()
    (d.runs / "link.tide").symlink_to(outside / "secret.tide")
    (d.runs / "folder").symlink_to(outside)
    (d.runs / ".hidden.tide").symlink_to(outside / "secret.tide")
    (d.runs / "notes.txt").write_text("none")
    os.mkfifo(d.runs / "pipe.tide")
    deep = d.runs / "1" / "2" / "3" / "4"
    deep.mkdir(parents=True)
    os.link(d.runs / "a.tide", deep / "far.tide")
    os.link(d.runs / "a.tide", deep.parent / "near.tide")
    server = d.serve("runs")
    equal([r["name"] for r in server.get("/data.json").json["runs"]],
          ["1/2/3/near.tide", "a.tide"], "names")
    for path in ("link.tide", "folder/secret.tide", "../outside/secret.tide", "pipe.tide",
                 "..%2foutside%2fsecret.tide", "%2e%2e/outside/secret.tide",
                 "1/2/3/4/far.tide", ".hidden.tide", "notes.txt", "a.tide%00"):
        for part in ("/data.json", "/", ""):
            equal(server.get("/runs/" + path + part).status, 404, "status of " + path + part)


def a_run_that_becomes_a_link_is_not_followed(d):
    """What was listed as a file and is replaced by a link is not read."""
    path = d.put("a.tide")
    server = d.serve("runs")
    equal(server.get("/runs/a.tide/answer.json").status, 200, "status")
    path.unlink()
    path.symlink_to(d.recorded["short"])
    wait_until(lambda: server.get("/runs/a.tide/answer.json").status == 404, "the end of the file")


def every_part_of_a_run(d):
    """Page, document, answer, span, script and style."""
    d.put("a.tide")
    server = d.serve("runs")
    page = server.get("/runs/a.tide/")
    equal(page.status, 200, "status")
    check(b'src="../../page.js"' in page.body, "script", page.body)
    for path, kind in (("/page.js", "text/javascript"), ("/page.css", "text/css")):
        check(server.get(path).headers["Content-Type"].startswith(kind), path)
    document = server.get("/runs/a.tide/data.json").json
    equal((document["page"], document["finished"], document["live"]), ("run", True, False), "document")
    shown = d.run(d.tidemark, "show", "--json", d.runs / "a.tide").stdout
    equal(server.get("/runs/a.tide/answer.json").json, json.loads(shown), "answer")
    curve = max(document["curves"], key=lambda c: c["samples"])["id"]
    span = server.get("/runs/a.tide/span.json?series=%d&from=0&to=1&points=20" % curve)
    check(1 <= len(span.json["t"]) <= 20, "span", span.body)
    equal(server.get("/runs/a.tide/span.json?series=99999&from=0&to=1&points=20").status, 404, "none")
    equal(server.get("/runs/a.tide/span.json?series=x").status, 400, "no span")


def a_run_without_an_answer_is_judged(d):
    """A run file whose watcher was killed: not live, judged from what was recorded."""
    path = d.put("a.tide")
    _change(path, "DELETE FROM answer")
    os.utime(path, (1e9, 1e9))
    server = d.serve("runs")
    document = server.get("/runs/a.tide/data.json").json
    equal((document["finished"], document["live"]), (False, False), "document")
    equal(document["answer"]["verdict"], "leak", "verdict")
    equal(server.get("/runs/a.tide/answer.json").json["verdict"], "leak", "answer")
    wait_until(lambda: server.get("/data.json").json["runs"][0].get("verdict") == "leak", "the list")


def many_runs_without_an_answer_get_their_verdicts(d):
    """One after the other, without being asked for."""
    for i in range(30):
        _change(d.put("%d.tide" % i), "DELETE FROM answer")
    server = d.serve("runs")
    seen = []
    for _ in server.events("/events"):
        runs = server.get("/data.json").json["runs"]
        equal(len(runs), 30, "runs")
        seen.append(sum("verdict" in run for run in runs))
        if seen[-1] == 30:
            break
    return "verdicts seen: %s" % seen


def one_run_file_leads_to_its_page(d):
    """With one run there is nothing to choose; with several, files of one name have numbers."""
    d.put("a.tide")
    d.put("b/a.tide")
    one = d.serve("runs/a.tide").get("/")
    equal((one.status, one.headers["Location"]), (303, "/runs/a.tide/"), "redirection")
    several = d.serve("runs/a.tide", "runs/b/a.tide")
    equal(sorted(r["href"] for r in several.get("/data.json").json["runs"]),
          ["runs/a.tide-2/", "runs/a.tide/"], "addresses")
    equal(several.get("/runs/a.tide-2/data.json").status, 200, "status")


def odd_names_have_addresses(d):
    """Names with blanks, markup, percent signs and bytes that are no text."""
    names = ["a b.tide", "<img src=x onerror=alert(1)>.tide", "50%.tide", "q?x=#y.tide",
             "quote'\".tide", "\u00fc.tide", "data.json/events.tide"]
    for name in names:
        d.put(name, "short")
    os.link(d.runs / "a b.tide", os.fsencode(str(d.runs)) + b"/\xff\xfe.tide")
    server = d.serve("runs")
    runs = server.get("/data.json").json["runs"]
    equal(len(runs), len(names) + 1, "runs", runs)
    for run in runs:
        page = server.get("/" + run["href"])
        equal(page.status, 200, run["href"])
        check(b"<img src=x" not in page.body, "markup in the page", page.body)
        equal(server.get("/" + run["href"] + "data.json").json["page"], "run", run["href"])
        equal(server.get("/" + run["href"].rstrip("/")).headers["Location"],
              run["href"].split("/")[-2] + "/", "redirection")


def nothing_is_sent_twice(d):
    """An ETag answers with 304; HEAD has the headers alone; nothing may be kept by a proxy."""
    d.put("a.tide")
    server = d.serve("runs")
    for path in ("/", "/page.js", "/data.json", "/runs/a.tide/", "/runs/a.tide/data.json"):
        first = server.get(path)
        again = server.get(path, If_None_Match=first.headers["ETag"])
        equal((again.status, again.body), (304, b""), path)
        head = server.get(path, "HEAD")
        equal((head.status, head.body), (200, b""), path)
        equal(head.headers["Content-Length"], str(len(first.body)), path)
        equal(first.headers["Cache-Control"], "private, no-cache", path)


def every_answer_is_closed_to_other_sites(d):
    """Policy, nosniff, no referrer, same origin: also on errors."""
    d.put("a.tide")
    server = d.serve("runs")
    for path in ("/", "/data.json", "/runs/a.tide/", "/nothing", "/../x", "/healthz", "/page.js"):
        headers = server.get(path).headers
        policy = headers["Content-Security-Policy"]
        check("default-src 'none'" in policy and "frame-ancestors 'none'" in policy, path, policy)
        check("unsafe" not in policy, path, policy)
        equal(headers["X-Content-Type-Options"], "nosniff", path)
        equal(headers["Referrer-Policy"], "no-referrer", path)
        equal(headers["Cross-Origin-Resource-Policy"], "same-origin", path)
        check("Access-Control-Allow-Origin" not in headers, path)


def an_empty_folder_is_an_empty_list(d):
    """And a folder that is removed is said, not the end."""
    server = d.serve("runs")
    equal(server.get("/data.json").json["runs"], [], "runs")
    d.runs.rmdir()
    note = lambda: server.get("/data.json").json.get("note", "")
    wait_until(lambda: "cannot be read" in note(), "the note")
