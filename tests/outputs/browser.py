"""A real browser without a window: Chromium, driven through a pipe by its DevTools protocol."""
import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60  # seconds; a browser that starts beside other tests takes its time


def program():
    """None: there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One page. `said` has what its console and its uncaught exceptions said."""

    def __init__(self, write, read):
        self.write, self.read = write, read
        self.rest, self.number, self.session = b"", 0, None
        self.said, self.events = [], []

    def open(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    # ---- messages ----

    def message(self):
        """The next one; each ends with a NUL."""
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            if not select.select([self.read], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.read, 1 << 20)
            if not piece:
                raise EOFError("the browser ended")
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def note(self, message):
        method, about = message.get("method"), message.get("params", {})
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            self.said.append(json.dumps(about["exceptionDetails"])[:2000])
        elif method == "Runtime.consoleAPICalled":
            self.said.append("console: " + json.dumps(about["args"])[:2000])
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.said.append(json.dumps(about["entry"])[:2000])
        elif method == "Page.javascriptDialogOpening":
            self.said.append("dialog: " + about["message"])
            self.send("Page.handleJavaScriptDialog", accept=False)

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write, data):]
        return self.number

    def call(self, method, **parameters):
        number = self.send(method, **parameters)
        while True:
            message = self.message()
            if message.get("id") != number:
                self.note(message)
            elif "error" in message:
                raise RuntimeError("%s: %s" % (method, message["error"]))
            else:
                return message["result"]

    # ---- what a person does ----

    def look(self, width, height=900, scheme="light", scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def visit(self, where):
        """A path or a URL."""
        self.events.clear()
        url = where if ":" in str(where) else "file://" + os.path.abspath(where)
        self.call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self.events:
            self.note(self.message())

    def run(self, script):
        """The value of an expression of JavaScript; of a promise, what it becomes."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y,
                  **({} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}))

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y)

    def press(self, key):
        text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def picture(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


@contextlib.contextmanager
def page():
    """A page of a browser of its own, which ends with the block."""
    to_browser, from_browser = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--disable-dev-shm-usage", "--hide-scrollbars", "--allow-file-access-from-files",
                   "--remote-debugging-pipe", "--user-data-dir=" + profile, "about:blank"]

        # The browser reads what it is told from descriptor 3 and answers on 4.
        def place():
            ends = os.dup(to_browser[0]), os.dup(from_browser[1])
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        browser = subprocess.Popen(command, preexec_fn=place, close_fds=False, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        os.close(to_browser[0])
        os.close(from_browser[1])
        try:
            one = Page(to_browser[1], from_browser[0])
            one.open()
            yield one
        finally:
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait()
            os.close(to_browser[1])
            os.close(from_browser[0])
