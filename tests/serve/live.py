"""Runs that go on while they are shown."""

import json
import os
import re
import signal
import threading
import time

from server import (TIMEOUT, Site, check, children_of, faults_of_children, equal, is_there, resident_kb,
                    wait_until)


def _ui_server(process):
    """The process of the page: the child of the watcher that has a session of its own."""
    found = lambda: [p for p in children_of(process.pid) if os.getsid(p) == p]
    return wait_until(found, "the server's process")[0]


def a_verdict_changes_before_ones_eyes(d):
    """Events announce the changes; the last one the final answer; then the server ends."""
    process, site = d.live(d.leaking(900, 3))
    server = _ui_server(process)
    wait_until(lambda: site.get("/runs/live.tide/").status == 200, "the page")
    seen, verdicts = [], []
    for event in site.events("/runs/live.tide/events"):
        document = site.get("/runs/live.tide/data.json").json
        seen.append(event)
        verdicts.append((document["answer"]["verdict"], document["finished"], document["live"]))
    equal(seen[-1], "end", "the last event", seen)
    check(seen.count("change") >= 2, "events", seen)
    check(verdicts[0] != verdicts[-1], "verdicts", verdicts)
    equal(verdicts[-1], ("leak", True, False), "the end", verdicts)
    equal(process.wait(TIMEOUT), 0, "status")
    wait_until(lambda: not is_there(server), "the end of the server")


def a_folder_shows_what_happens_in_it(d):
    """A new run appears, is live, and has its verdict at the end, without asking for the list."""
    d.put("a.tide", "short")
    server = d.serve("runs")
    events = iter(server.events("/events"))
    next(events)
    d.start([d.tidemark, "run", "--quiet", "-o", d.runs / "new.tide", "--", *d.leaking(700, 3)])
    states = []
    while not states or states[-1] != ("leak", False):
        equal(next(events), "change", "event")
        for run in server.get("/data.json").json["runs"]:
            if run["name"] == "new.tide":
                states.append((run.get("verdict"), run.get("live")))
    check(any(live for _, live in states), "it was never live", states)
    (d.runs / "new.tide").unlink()
    for _ in events:
        if len(server.get("/data.json").json["runs"]) == 1:
            return


def a_finished_run_has_no_news(d):
    """Its stream ends at once, so that nothing is kept open."""
    d.put("a.tide")
    server = d.serve("runs")
    server.get("/runs/a.tide/data.json")
    equal(list(server.events("/runs/a.tide/events")), ["end"], "events")


def nobody_who_looks_costs_nothing(d):
    """A server whose viewers have gone reads nothing."""
    d.put("a.tide")
    server = d.serve("runs")
    server.get("/data.json")
    for _ in range(3):
        events = server.events("/events")
        next(iter(events))
        events.close()
    time.sleep(1)
    wait_until(lambda: not children_of(server.pid), "the readers' end")
    before = faults_of_children(server.pid)
    check(before > 0, "no reader was counted")
    with server.connect():  # somebody who asks for nothing keeps the server's clock going
        time.sleep(2)
    equal(faults_of_children(server.pid), before, "page faults of readers")


def _said(errors):
    """Line by line, but for the page's own and for what depends on the time."""
    lines = [l for l in errors.splitlines() if b"live page: " not in l and b"is taken" not in l]
    return [re.sub(rb"[0-9.]+", b"N", l.partition(b": it was measured")[0]) for l in lines]


def the_job_is_as_without_a_page(d):
    """Output, exit status, signals and verdict."""
    script = "echo out; echo err >&2; sleep 0.5; exit 7"
    for end, status in ((script, 7), ("kill -TERM $$", -signal.SIGTERM), ("exit 0", 0)):
        plain, shown = (d.run(d.tidemark, "run", "--quiet", *ui, "-o", d.folder / ("x%d.tide" % i),
                              "--", "sh", "-c", end) for i, ui in enumerate(([], ["--ui"])))
        equal(shown.returncode, status, "status", shown.stderr)
        equal(plain.returncode, status, "status", plain.stderr)
        equal(shown.stdout, plain.stdout, "output")
        equal(_said(shown.stderr), _said(plain.stderr), "errors")
        for i in range(2):
            (d.folder / ("x%d.tide" % i)).unlink()


def its_output_ends_with_the_command(d):
    """The server has none of the command's pipes, however long it stays."""
    process, site = d.live(["sleep", "1"])
    server = _ui_server(process)
    wait_until(lambda: site.get("/runs/live.tide/").status == 200, "the page")
    for fd in ("0", "1", "2"):
        equal(os.readlink("/proc/%d/fd/%s" % (server, fd)), "/dev/null", "descriptor " + fd)
    site.get("/runs/live.tide/data.json")
    process.wait(TIMEOUT)
    check(is_there(server), "the server ended before its viewer had the end")


def a_killed_server_is_not_missed(d):
    """The watcher and its verdict go on."""
    process, site = d.live(d.leaking(700, 3), "--json", d.folder / "answer")
    os.kill(_ui_server(process), signal.SIGKILL)
    equal(process.wait(TIMEOUT), 0, "status")
    equal(json.loads((d.folder / "answer").read_text())["verdict"], "leak", "verdict")


def a_killed_watcher_is_noticed(d):
    """Those who look get the end of what was recorded; the server ends, and the job does not."""
    done = d.folder / "done"
    process, site = d.live(["sh", "-c", "sleep 3; echo x > %s" % done])
    server = _ui_server(process)
    wait_until(lambda: site.get("/runs/live.tide/").status == 200, "the page")
    events = iter(site.events("/runs/live.tide/events"))
    next(events)
    os.kill(process.pid, signal.SIGKILL)
    equal(list(events)[-1:], ["end"], "events")
    document = site.get("/runs/live.tide/data.json").json
    equal(document["finished"], False, "document")
    wait_until(lambda: not is_there(server), "the server's end")
    wait_until(done.exists, "the job's end")


def keys_of_the_terminal_are_not_for_the_server(d):
    """Ctrl-C ends the job, and the page shows its end."""
    process, site = d.live(["sleep", "60"])
    wait_until(lambda: site.get("/runs/live.tide/").status == 200, "the page")
    events = iter(site.events("/runs/live.tide/events"))
    next(events)
    os.killpg(process.pid, signal.SIGINT)
    equal(list(events)[-1], "end", "events")
    equal(site.get("/runs/live.tide/data.json").json["finished"], True, "finished")
    equal(process.wait(TIMEOUT), -signal.SIGINT, "status")


def watch_has_a_page_too(d):
    """Of a job that runs already."""
    job = d.start(["sleep", "60"])
    errors = d.folder / "errors"
    with open(errors, "wb") as file:
        watcher = d.start([d.tidemark, "watch", "--pid", job.pid, "--ui", "-o", d.runs / "w.tide"],
                          stderr=file)
    port = wait_until(lambda: errors.read_text().partition("127.0.0.1:")[2].partition("/")[0], "it")
    site = Site(int(port))
    wait_until(lambda: site.get("/runs/w.tide/data.json").status == 200, "the page")
    watcher.send_signal(signal.SIGTERM)
    equal(watcher.wait(TIMEOUT), 0, "status")


def a_page_without_a_run_file_is_an_error(d):
    """And a port that is taken is one before the command is started."""
    done = d.run(d.tidemark, "run", "--ui", "--no-store", "--", "touch", "ran")
    equal(done.returncode, 1, "status")
    check(b"--no-store" in done.stderr, "said", done.stderr)
    port = d.serve("runs").port
    done = d.run(d.tidemark, "run", "--ui=%d" % port, "--", "touch", "ran")
    equal(done.returncode, 1, "status")
    check(b"is taken" in done.stderr, "said", done.stderr)
    check(not (d.folder / "ran").exists(), "the command was started")


def ends_at_once(d):
    """By Ctrl-C and SIGTERM, with streams and requests open."""
    d.put("a.tide")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        server = d.serve("runs")
        events = server.events("/events")
        next(iter(events))
        with server.connect() as half:
            half.sendall(b"GET / HT")
            equal(server.end(number)[0], 0, "status")
        events.close()


def two_hundred_viewers(d):
    """All see the end of one run, computed for all of them at once; the watcher does not notice."""
    process, site = d.live(d.leaking(1200, 4))
    server = _ui_server(process)
    wait_until(lambda: site.get("/runs/live.tide/").status == 200, "the page")
    before, ended, failed = resident_kb(server), [], []
    threads = [threading.Thread(target=_view, args=(site, ended, failed)) for _ in range(200)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(ended) + len(failed) >= 200, "200 ends")
    for thread in threads:
        thread.join()
    check(not failed, "viewers failed", failed[:3])
    finals = {final for final, _ in ended}
    equal(len(finals), 1, "final documents")
    versions = set().union(*(v for _, v in ended))
    equal(process.wait(TIMEOUT), 0, "status")
    fetched = sum(len(v) for _, v in ended)
    return "%d documents served, %d computed; the server took %d KB more" % (
        fetched, len(versions), max(resident_kb(server), before) - before if is_there(server) else 0)


def _view(site, ended, failed):
    """A viewer as the page is one: fetches the document at every change."""
    versions, final = set(), None
    try:
        for _ in site.events("/runs/live.tide/events"):
            answer = site.get("/runs/live.tide/data.json")
            versions.add(answer.headers["ETag"])
            final = answer.headers["ETag"] if answer.json["finished"] else None
        ended.append((final, versions)) if final else failed.append("no final answer")
    except Exception as error:
        failed.append(repr(error))
