"""A headless Chromium, driven through its own driver (W3C WebDriver) with the standard library alone."""
import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

# Seconds that a busy machine with a slow disk may take for what a quiet one does at once.
PATIENCE = 120

TAB, LEFT = "\ue004", "\ue012"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def missing():
    """What is not installed; None where all is."""
    for name in ("chromium", "chromedriver"):
        if shutil.which(name) is None:
            return name
    return None


class Browser:
    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.profile = tempfile.mkdtemp(prefix="evstore-browser.")
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={self.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={self.profile}", "--lang=en"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        wanted = {
            "browserName": "chrome", "timeouts": {"script": PATIENCE * 1000}, "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": arguments, "binary": shutil.which("chromium")},
        }
        self.session = None
        end = time.monotonic() + PATIENCE
        while self.session is None:
            try:
                self.session = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
            except (urllib.error.URLError, ConnectionError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._send("DELETE", f"/session/{self.session}")
        finally:
            self.driver.terminate()
            self.driver.wait()
            shutil.rmtree(self.profile, ignore_errors=True)

    def _send(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {json.load(error)['value']['message'][:300]}") from None

    def _do(self, path, body=None):
        return self._send("POST", f"/session/{self.session}/{path}", body or {})

    def open(self, address):
        self._do("url", {"url": address})

    def address(self):
        return self._send("GET", f"/session/{self.session}/url")

    def run(self, script, *arguments):
        return self._do("execute/sync", {"script": script, "args": list(arguments)})

    def resize(self, width, height=900):
        """The size of what the page gets, where the window can be as small as that."""
        self._do("goog/cdp/execute", {
            "cmd": "Emulation.setDeviceMetricsOverride",
            "params": {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}})

    def scheme(self, name):
        features = [{"name": "prefers-color-scheme", "value": name}]
        self._do("goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}})

    def scripts(self, are_on):
        self._do("goog/cdp/execute", {"cmd": "Emulation.setScriptExecutionDisabled", "params": {"value": not are_on}})

    def picture(self, path):
        shot = self._do("goog/cdp/execute", {"cmd": "Page.captureScreenshot", "params": {"captureBeyondViewport": False}})
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def complaints(self):
        """What the page wrote to the console since the last time, refusals of its policy included."""
        return [entry["message"] for entry in self._do("se/log", {"type": "browser"}) if entry["level"] in ("SEVERE", "WARNING")]

    def key(self, text):
        self._do("actions", {"actions": [{"type": "key", "id": "keys", "actions": [
            {"type": "keyDown", "value": text}, {"type": "keyUp", "value": text}]}]})

    def click(self, selector):
        found = self._do("element", {"using": "css selector", "value": selector})
        self._do(f"element/{found[ELEMENT]}/click")

    def submit(self, selector):
        """Clicks, and waits for the document that comes of it: the driver may return before the form is sent, and opening
        another page then would call it off."""
        self.run("window.isBefore = true")
        self.click(selector)
        end = time.monotonic() + PATIENCE
        while self.run("return window.isBefore === true || document.readyState !== 'complete'"):
            if time.monotonic() > end:
                raise RuntimeError(f"a click on {selector} leads nowhere")
            time.sleep(0.02)
