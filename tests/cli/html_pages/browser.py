# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium over its debugging pipe, with nothing but Python's own library."""

import base64
import json
import os
import shutil
import subprocess
import tempfile


def program():
    """Chromium's path, or None where it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """A browser with one tab. Problems that pages report are kept in `problems`, requests in `requests`."""

    def __init__(self):
        self.profile = tempfile.mkdtemp()
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()

        def inherit():
            os.dup2(to_browser, 63)
            os.dup2(from_browser, 64)
            os.dup2(63, 3)
            os.dup2(64, 4)

        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
                 "--disable-dev-shm-usage", "--hide-scrollbars", "--disable-background-networking",
                 "--user-data-dir=" + self.profile]
        # pylint: disable-next=subprocess-popen-preexec-fn
        self.process = subprocess.Popen([program(), *flags], preexec_fn=inherit, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.number = 0
        self.problems = []
        self.requests = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.input, 1 << 20)
            if not piece:
                raise RuntimeError("the browser ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def _note(self, message):
        method, given = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning"):
            self.problems.append(str([one.get("value") for one in given["args"]]))
        elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.problems.append(given["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])

    def call(self, method, **given):
        """The answer to a command of the protocol."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": given}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    def wait_for(self, method):
        """The next event of that name."""
        while True:
            message = self._message()
            self._note(message)
            if message.get("method") == method:
                return message["params"]

    def show(self, width=1280, height=900, scheme="light", phone=False, paper=False):
        """The window's size, whether it is light or dark, and whether it stands for paper."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.call("Emulation.setEmulatedMedia", media="print" if paper else "",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, file):
        """Loads a file of this machine and lets it draw."""
        self.call("Page.navigate", url="file://" + os.path.abspath(file))
        self.wait_for("Page.loadEventFired")
        self.settle()

    def settle(self):
        """Waits until what was asked for is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))")

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "error"))
        return answer["result"].get("value")

    def key(self, name, text=None):
        """Presses a key."""
        codes = {"Enter": 13, "Tab": 9, " ": 32, "ArrowRight": 39, "ArrowLeft": 37, "Escape": 27, "+": 187, "0": 48}
        given = {"key": name, "windowsVirtualKeyCode": codes[name]}
        typed = text or {"Enter": "\r", " ": " ", "+": "+", "0": "0"}.get(name)
        self.call("Input.dispatchKeyEvent", type="keyDown", **given, **({"text": typed} if typed else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **given)
        self.settle()

    def pointer(self, kind, x, y, **more):
        """mouseMoved, mousePressed or mouseReleased at a place of the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self.settle()

    def pdf(self):
        """The page on paper of A4, as browsers print it unless asked for backgrounds."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True,
                                          paperWidth=8.27, paperHeight=11.69)["data"])

    def picture(self, file):
        """The whole page as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        with open(file, "wb") as out:
            out.write(base64.b64decode(shot["data"]))
