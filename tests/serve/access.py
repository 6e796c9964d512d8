"""Who may ask."""

import os
import socket
import subprocess
import sys

from server import TIMEOUT, Skipped, check, equal, wait_until

TOKEN = "0123456789abcdef-secret"


def _token_file(d, mode=0o600, text=TOKEN + "\n"):
    path = d.folder / "token"
    path.write_text(text)
    path.chmod(mode)
    return path


def host_and_origin_have_to_be_ours(d):
    """A page of another site gets nothing, under whatever name it reaches this server."""
    server = d.serve("runs")
    for host in ("127.0.0.1", "localhost:1", "[::1]", socket.gethostname()):
        equal(server.get("/", Host=host).status, 200, host)
    for host in ("evil.com", "localhost.evil.com", "127.0.0.1.evil.com:8433", "a@127.0.0.1", ""):
        equal(server.get("/data.json", Host=host).status, 421, host)
    equal(server.get("/", Origin="http://127.0.0.1:%d" % server.port).status, 200, "own origin")
    for origin in ("http://evil.com", "null", "http://127.0.0.1:1", "file://"):
        equal(server.get("/data.json", Origin=origin).status, 403, origin)
    check(b"400" in server.raw(b"GET / HTTP/1.1\r\n\r\n").split(b"\r\n")[0], "no host")


def get_and_head_alone(d):
    """Other methods, and requests with a body, are refused."""
    server = d.serve("runs")
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get"):
        answer = server.get("/", method)
        equal(answer.status, 405, method)
        equal(answer.headers["Allow"], "GET, HEAD", method)
    equal(server.get("/", Content_Length="5").status, 413, "body")
    equal(server.get("/", Transfer_Encoding="chunked").status, 501, "body")


def other_users_get_nothing(d):
    """Without a token the server is for its user's processes: run files are for their owner alone."""
    if os.getuid() != 0:
        raise Skipped("needs root, to become nobody")
    d.put("a.tide")
    server = d.serve("runs")
    script = ("import http.client, sys\n"
              "c = http.client.HTTPConnection('127.0.0.1', %d)  # connects again when it is closed\n"
              "for p in sys.argv[1:]: c.request('GET', p); a = c.getresponse(); a.read(); print(a.status)\n")
    paths = ["/", "/data.json", "/runs/a.tide/data.json", "/events", "/page.js", "/healthz"]
    done = subprocess.run([sys.executable, "-c", script % server.port, *paths], user=65534, group=65534,
                          extra_groups=[], capture_output=True, text=True, cwd="/")
    equal(done.stdout.split(), ["403"] * 5 + ["200"], "status for nobody", done.stderr)
    equal(server.get("/data.json").status, 200, "status for the user")


def a_token_is_required_of_everybody(d):
    """By header, or once in the address, for a session that scripts cannot read."""
    d.put("a.tide")
    server = d.serve("runs", "--token-file", _token_file(d))
    for path in ("/", "/data.json", "/runs/a.tide/", "/runs/a.tide/data.json", "/page.js", "/events",
                 "/nothing", "/?token=wrong-wrong-wrong", "/?token="):
        answer = server.get(path)
        equal((answer.status, answer.headers["WWW-Authenticate"]), (401, "Bearer"), path)
        check(TOKEN.encode() not in answer.body, path)
    equal(server.get("/healthz").status, 200, "health")
    equal(server.get("/data.json", Authorization="Bearer " + TOKEN).status, 200, "header")
    equal(server.get("/data.json", Authorization="Bearer " + TOKEN[:-1]).status, 401, "header")
    answer = server.get("/runs/a.tide/?token=" + TOKEN)
    equal((answer.status, answer.headers["Location"]), (303, "/runs/a.tide/"), "exchange")
    equal(server.get("/../x?token=" + TOKEN).headers["Location"], "/", "no place to go to")
    equal(server.get("//evil.com/?token=" + TOKEN).headers["Location"], "/", "no other site")
    cookie = answer.headers["Set-Cookie"]
    check("HttpOnly" in cookie and "SameSite=Strict" in cookie and TOKEN not in cookie, cookie)
    session = cookie.split(";")[0]
    equal(server.get("/runs/a.tide/data.json", Cookie=session).status, 200, "session")
    equal(server.get("/data.json", Cookie=session[:-1]).status, 401, "cut session")
    events = server.events("/events", Cookie=session)
    equal((events.status, next(iter(events))), (200, "change"), "events")
    events.close()


def token_files_are_checked(d):
    """Not for others, one line, long enough; and elsewhere there is no server without one."""
    serve = [d.tidemark, "serve", "runs", "--listen", "0.0.0.0"]
    done = d.run(*serve)
    equal(done.returncode, 1, "status")
    check(b"--token-file" in done.stderr, "said", done.stderr)
    for mode, text, word in ((0o644, TOKEN, b"'chmod 600'"), (0o600, "short", b"16"),
                             (0o600, "two\nlines-of-a-token", b"one line"), (0o600, "", b"16")):
        done = d.run(*serve, "--token-file", _token_file(d, mode, text))
        equal(done.returncode, 1, "status", text)
        check(word in done.stderr, "said", done.stderr)


def listens_elsewhere_with_a_token(d):
    """At every address of the machine, under its name."""
    server = d.serve("runs", "--listen", "0.0.0.0", "--token-file", _token_file(d))
    check(socket.gethostname() in server.address, server.address)
    equal(server.get("/", Authorization="Bearer " + TOKEN).status, 200, "status")
    equal(server.get("/", Authorization="Bearer " + TOKEN, Host="evil.com").status, 421, "status")


def a_browser_is_opened(d):
    """--open passes the address on; without xdg-open it says so, and serves."""
    opener, opened = d.folder / "xdg-open", d.folder / "opened"
    opener.write_text("#!/bin/sh\necho \"$@\" > %s.new; mv %s.new %s\n" % ((opened,) * 3))
    opener.chmod(0o755)
    server = d.serve("runs", "--open", env={**os.environ, "PATH": "%s:/bin:/usr/bin" % d.folder})
    wait_until(opened.exists, "the browser")
    equal(opened.read_text().strip(), server.address, "address")
    opener.unlink()
    server = d.serve("runs", "--open", env={**os.environ, "PATH": str(d.folder)})
    check(server.is_well(), "healthz")
    check("no xdg-open here" in server.end()[1], "said")


def listens_at_ipv6_with_a_token(d):
    """The address is in brackets, and Host too."""
    if not os.path.exists("/proc/net/if_inet6"):
        raise Skipped("there is no IPv6 here")
    server = d.serve("runs", "--listen", "::1", "--token-file", _token_file(d))
    equal(server.address, "http://[::1]:%d/" % server.port, "address")
    with socket.create_connection(("::1", server.port), TIMEOUT) as s:
        s.sendall(b"GET / HTTP/1.0\r\nHost: [::1]:1\r\nAuthorization: Bearer %s\r\n\r\n" % TOKEN.encode())
        equal(s.recv(12), b"HTTP/1.1 200", "status")


def the_usual_port_may_be_taken(d):
    """Then another one is taken, and said; a port that was asked for is taken or nothing."""
    servers = [d.serve("runs") for _ in range(2)]
    check(servers[0].port != servers[1].port, "ports")
    status, said = servers[1].end()
    check("port 8433 is taken, so the page is at port %d" % servers[1].port in said, "said", said)
    done = d.run(d.tidemark, "serve", "runs", "--port", servers[0].port)
    equal(done.returncode, 1, "status")
    check(b"is taken" in done.stderr and not done.stdout, "said", done.stderr)
