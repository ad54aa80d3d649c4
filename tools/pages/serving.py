#!/usr/bin/env python3
"""Serves a store as systemd and Prometheus would have it, and says what is not as promised.

  tools/pages/serving.py PROGRAM     where there is a `prometheus`, it scrapes, too
"""
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Seconds that a busy machine with a slow disk may take for what a quiet one does at once.
PATIENCE = 120

VERSION = """\
evstore: 1
version: 1
events:
  NoteTaken:
    stream: "note-{/id}"
    required: [id]
    properties:
      id: {type: string}
"""
PROJECTIONS = "evstore: 1\nprojections:\n  notes:\n    - since: 1\n      key: /id\n      on:\n        NoteTaken: {set: {/id: /id}}\n"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


class Check:
    def __init__(self, program, directory):
        self.program, self.directory, self.failures = program, pathlib.Path(directory), []
        schemas = self.directory / "schemas"
        schemas.mkdir()
        (schemas / "v1.yaml").write_text(VERSION)
        (schemas / "projections.yaml").write_text(PROJECTIONS)
        self.store = self.directory / "store"
        self.evstore("init", "--schemas", schemas)
        for number in range(3):
            self.evstore("append", f"note-{number}", "NoteTaken", json.dumps({"id": str(number)}))

    def evstore(self, *arguments):
        return subprocess.run([self.program, *map(str, arguments), "--store", self.store], check=True, capture_output=True, text=True).stdout

    def expect(self, holds, what):
        if not holds:
            self.failures.append(what)
            print("FAILED  " + what)

    def start(self, *arguments, command="serve", store=None, **environment):
        process = subprocess.Popen(
            [self.program, command, "--store", store or self.store, *map(str, arguments)], stderr=subprocess.PIPE, text=True,
            env={**os.environ, **environment})
        for line in process.stderr:
            if "?token=" in line:
                self.token = line.strip().partition("?token=")[2]
            if line.startswith("serving"):
                return process, line.split()[1].rstrip(";")
        raise RuntimeError(f"it does not serve: {process.wait()}")

    def end(self, process, what, is_told=False):
        # A second signal would end it at once.
        if not is_told:
            process.terminate()
        # Whatever it is doing on a slow disk ends first.
        code = process.wait(PATIENCE)
        said = process.stderr.read()
        self.expect(code == 0, f"{what}: SIGTERM ended it with {code}: {said[-300:]}")
        self.expect("note: " not in said and "warning" not in said, f"{what}: SIGTERM made it say {said[-300:]}")

    def get(self, base, path, **headers):
        try:
            with urllib.request.urlopen(urllib.request.Request(base + path, headers=headers), timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def until(self, seconds, holds):
        end = time.monotonic() + seconds
        while not (found := holds()) and time.monotonic() < end:
            time.sleep(0.1)
        return found

    def ended_while_busy(self):
        """SIGTERM is no trouble to anything that goes on beside: nothing is said of it."""
        for number in range(6):
            process, _ = self.start("--listen", "127.0.0.1:0")
            writer = subprocess.Popen(
                [self.program, "import", "-", "--as", "v1", "--store", self.store], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            for event in range(400):
                line = {"stream": f"note-{number}-{event}", "type": "NoteTaken", "data": {"id": f"{number}-{event}"}}
                writer.stdin.write((json.dumps(line) + "\n").encode())
            writer.stdin.close()
            time.sleep(0.05 * number)
            self.end(process, "while events come")
            writer.wait()

    def doors(self):
        """Who has no token learns nothing, and whoever hears the cookie or is asked beside it has no token."""
        consumed = subprocess.run(
            [self.program, "consume", "secret-mailer", "--once", "--attempts", "1", "--store", self.store, "--", "false"], capture_output=True)
        process, base = self.start("--listen", "127.0.0.1:0", "--page")
        token = self.token
        _, said = self.get(base, "/healthz")
        self.expect("complaint: parked\n" in said and "secret-mailer" not in said, f"/healthz says to everybody {said}, after {consumed}")
        _, said = self.get(base, "/healthz", Authorization=f"Bearer {token}")
        self.expect("secret-mailer has parked" in said, f"/healthz says to who has the token {said}")
        self.expect(self.get(base, "/", Authorization=f"Bearer {token}")[0] == 200, "a program with the token is not let in")

        def ask(host, path, **headers):
            connection = http.client.HTTPConnection(base.removeprefix("http://"), timeout=PATIENCE)
            connection.request("GET", path, headers={"Host": host, **headers})
            answer = connection.getresponse()
            answer.read()
            connection.close()
            return answer

        there = ask(base.removeprefix("http://"), f"/?token={token}")
        own = there.headers["Location"].removeprefix("http://").partition("/")[0]
        self.expect(".localhost:" in own and there.headers["Set-Cookie"] is None, f"the token leads to {own}, {there.headers}")
        cookie = ask(own, f"/?token={token}").headers["Set-Cookie"].partition(";")[0]
        self.expect(token not in cookie, "the cookie is the token")
        for host, sent, status in (
            (own, cookie, 200), (own, cookie + "0", 401), (own, "evstore=" + token, 401), (base.removeprefix("http://"), cookie, 401),
            ("evstore-store-0000000000000000.localhost", cookie, 403), ("127.0.0.1:1@example.org", "", 403), ("localhost:", "", 403),
        ):
            found = ask(host, "/", Cookie=sent).status
            self.expect(found == status, f"a cookie at {host} gets {found}, not {status}")
        for lines in ("Host: localhost\r\nHost: localhost", "Accept: */*", "Host: localhost\r\nContent-Length: 3\r\nContent-Length: 4",
                      "Host: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked"):
            with socket.create_connection(("127.0.0.1", int(base.rsplit(":", 1)[1])), PATIENCE) as connection:
                connection.sendall(f"GET /healthz HTTP/1.1\r\n{lines}\r\n\r\n".encode())
                found = connection.makefile().readline()
            self.expect(" 400 " in found, f"{lines!r} gets {found!r}")
        # A client that closes its side behind its request is answered; one that closes it within the request is let go.
        for sent, status in (("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", " 200 "), ("GET /healthz HTTP/1.1\r\nHost:", "")):
            with socket.create_connection(("127.0.0.1", int(base.rsplit(":", 1)[1])), PATIENCE) as connection:
                connection.sendall(sent.encode())
                connection.shutdown(socket.SHUT_WR)
                began, found = time.monotonic(), connection.makefile().readline()
            self.expect(status in found and time.monotonic() - began < 10, f"a half-closed {sent!r} gets {found!r}")
        self.end(process, "doors")
        again, base = self.start("--listen", own.rpartition(":")[2], "--page")
        self.expect(ask(own, "/", Cookie=cookie).status != 200, "a session goes on with another start of the server")
        self.end(again, "doors")

    def replay_elsewhere(self):
        """A replay of the command line is seen while it runs, on the page and by Prometheus."""
        schemas, store = self.directory / "two-schemas", self.directory / "two"
        schemas.mkdir()
        (schemas / "v1.yaml").write_text(VERSION)
        (schemas / "v2.yaml").write_text(
            VERSION.replace("version: 1", "version: 2\nupcast: [{on: NoteTaken, do: [{add: {path: /by, from: $metadata/by}}]}]")
            + "      by: {type: string}\n")
        (schemas / "projections.yaml").write_text(PROJECTIONS)
        common = ["--store", store, "--schemas", schemas]
        lines = "".join(json.dumps({"stream": f"note-{n}", "type": "NoteTaken", "data": {"id": f"{n}"}}) + "\n" for n in range(100_000))
        subprocess.run([self.program, "init", "--at", "v1", *common], check=True, capture_output=True)
        subprocess.run([self.program, "import", "-", "--as", "v1", *common], input=lines.encode(), check=True, capture_output=True)
        process, base = self.start("--listen", "127.0.0.1:0", "--page", store=store)
        self.expect(self.until(PATIENCE, lambda: self.get(base, "/readyz")[0] == 200), "it does not build the read models of its live version")
        replay = subprocess.Popen([self.program, "replay", "--to", "v2", *common], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        text = self.until(PATIENCE, lambda: replay.poll() is None and "evstore_progress_ratio" in (found := self.get(base, "/metrics")[1]) and found)
        replay.send_signal(signal.SIGSTOP)
        self.expect(text, "the metrics tell nothing of a replay of the command line")
        _, page = self.get(base, "/migration", Authorization=f"Bearer {self.token}")
        self.expect("Under way" in page and "replay to v2" in page, "the page tells nothing of a replay of the command line")
        replay.send_signal(signal.SIGCONT)
        self.expect(replay.wait(PATIENCE) == 0, f"the replay ended with {replay.returncode}")
        self.expect("evstore_progress_ratio" not in self.get(base, "/metrics")[1], "the metrics tell of a replay that has ended")
        self.expect("Under way" not in self.get(base, "/migration", Authorization=f"Bearer {self.token}")[1], "the page goes on telling of it")
        self.end(process, "replay elsewhere")

    def replaced(self):
        """Who asks a service whose store was moved away is sent elsewhere, whatever lies there now."""
        store = self.directory / "moved"
        shutil.copytree(self.store, store)
        process, base = self.start("--listen", "127.0.0.1:0", store=store)
        self.expect(self.get(base, "/healthz")[0] == 200, "a copy that nobody else has open is not healthy")
        store.rename(self.directory / "elsewhere")
        shutil.copytree(self.store, store)
        for path in ("/healthz", "/readyz"):
            found = self.until(PATIENCE, lambda: self.get(base, path)[0] == 503 and self.get(base, path))
            self.expect(found and "replaced" in found[1], f"{path} of a store whose path is another's says {found or self.get(base, path)}")
        process.terminate()
        process.wait(PATIENCE)

    def readiness(self):
        # What only looks builds nothing.
        process, base = self.start("--listen", "127.0.0.1:0", command="inspect")
        status, text = self.get(base, "/readyz")
        self.expect((status, text) == (503, "notes is not built\n"), f"a read model that is not built: {status} {text}")
        self.end(process, "inspect")
        process, base = self.start("--listen", "127.0.0.1:0")
        self.expect(self.get(base, "/healthz")[0] == 200, "a store that can be read is not healthy")
        self.expect(self.until(PATIENCE, lambda: self.get(base, "/readyz")[0] == 200), "it builds no read model, and is never ready")
        self.expect(self.get(base, "/")[0] == 404, "there is a page without --page")
        self.end(process, "readiness")

    def crowd(self):
        """Two hundred clients at once, some of which say nothing: the others are answered, and nothing is left over."""
        process, base = self.start("--listen", "127.0.0.1:0")
        port = int(base.rsplit(":", 1)[1])
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
        for connection in idle[::2]:
            connection.sendall(b"GET /healthz HT")
        time.sleep(0.3)
        for connection in idle:
            connection.close()
        self.expect(self.until(PATIENCE, lambda: self.answers(base)), "it does not answer after two hundred clients")
        for request in (b"\r\n\r\n", b"GET\r\n\r\n", b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n" + b"x" * 200_000,
                        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50, b"\x16\x03\x01" + bytes(500)):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                try:
                    connection.sendall(request)
                    connection.shutdown(socket.SHUT_WR)
                    connection.settimeout(PATIENCE)
                    while connection.recv(65_536):
                        pass
                except OSError:
                    pass
        self.expect(self.answers(base), "it does not answer after what is no HTTP")
        # A slow sender has a deadline for its whole request, however often it sends a byte.
        with socket.create_connection(("127.0.0.1", port)) as slow:
            slow.settimeout(0.5)
            begin, is_open = time.monotonic(), True
            while is_open and time.monotonic() - begin < PATIENCE:
                try:
                    slow.sendall(b"G")
                    is_open = slow.recv(100) != b""
                except TimeoutError:
                    pass
                except OSError:
                    is_open = False
            self.expect(not is_open, "one that sends a byte now and then keeps its connection")
        self.end(process, "crowd")

    def answers(self, base):
        try:
            return self.get(base, "/healthz")[0] == 200
        except OSError:
            return False

    def systemd(self):
        """READY, STATUS, WATCHDOG in time, and STOPPING, each a datagram as sd_notify(3) has it."""
        path = str(self.directory / "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind(path)
            listener.settimeout(PATIENCE)
            process, _ = self.start("--listen", "127.0.0.1:0", NOTIFY_SOCKET=path, WATCHDOG_USEC="400000")
            heard, beats = [], 0
            while beats < 3:
                heard += listener.recv(4_096).decode().split("\n")
                beats = heard.count("WATCHDOG=1")
            self.expect("READY=1" in heard and any(line.startswith("STATUS=serving") for line in heard), f"systemd heard {heard}")
            # A sign that can't be sent does not end them.
            os.rename(path, path + ".away")
            time.sleep(0.5)
            os.rename(path + ".away", path)
            listener.setblocking(False)
            while self.is_waiting(listener):
                pass
            listener.settimeout(PATIENCE)
            # On a busy machine three signs may take longer, but not each time.
            took = 3 * 0.4
            for _ in range(20):
                if took >= 3 * 0.4:
                    begin = time.monotonic()
                    for _ in range(3):
                        while "WATCHDOG=1" not in listener.recv(4_096).decode():
                            pass
                    took = time.monotonic() - begin
            self.expect(took < 3 * 0.4, "three signs of life took longer than systemd waits for them")
            process.terminate()
            heard = [listener.recv(4_096).decode()]
            while "STOPPING=1" not in heard[-1]:
                heard.append(listener.recv(4_096).decode())
            self.end(process, "systemd", is_told=True)
        # One who does not read what he is told keeps nobody from ending.
        path = str(self.directory / "silent")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as silent:
            silent.bind(path)
            process, _ = self.start("--listen", "127.0.0.1:0", NOTIFY_SOCKET=path, WATCHDOG_USEC="20000")
            time.sleep(1)
            process.terminate()
            code = process.wait(PATIENCE)
            self.expect(code == 0, f"SIGTERM ended it with {code} where nobody reads what systemd is told")

    def is_waiting(self, listener):
        try:
            return listener.recv(4_096)
        except BlockingIOError:
            return None

    def socket(self):
        path = str(self.directory / "status.sock")
        for _ in range(2):
            process, base = self.start("--listen", f"unix:{path}", "--page")
            self.expect(stat.S_IMODE(os.stat(path).st_mode) == 0o660, "others may open the socket")
            connection = UnixConnection(path)
            connection.request("GET", "/")
            answer = connection.getresponse()
            self.expect(answer.status == 200 and b"<h1>Overview" in answer.read(), f"the page on a socket: {answer.status}")
            connection.close()
            # The second run finds the socket of one that was killed.
            process.kill()
            process.wait()
        process, _ = self.start("--listen", f"unix:{path}")
        second = subprocess.run(
            [self.program, "serve", "--store", self.store, "--listen", f"unix:{path}"], capture_output=True, text=True, timeout=PATIENCE)
        self.expect(second.returncode == 2 and "another program" in second.stderr, f"two listen on one path: {second.stderr}")
        self.expect(os.path.exists(path), "the second has taken the socket of the first away")
        self.end(process, "socket")
        self.expect(not os.path.exists(path), "its socket is left behind")
        # Somebody has taken its name away, and another one has it now.
        first, _ = self.start("--listen", f"unix:{path}")
        os.unlink(path)
        second, _ = self.start("--listen", f"unix:{path}")
        self.end(first, "a socket whose name is another's")
        self.expect(os.path.exists(path), "it has taken away the socket of another server")
        second.kill()
        second.wait()
        # Of many that find one abandoned, one has it.
        many = [subprocess.Popen([self.program, "serve", "--store", self.store, "--listen", f"unix:{path}"],
                                 stderr=subprocess.PIPE, text=True) for _ in range(6)]
        self.until(PATIENCE, lambda: sum(server.poll() is None for server in many) == 1)
        alive = [server for server in many if server.poll() is None]
        self.expect(len(alive) == 1, f"{len(alive)} of six servers listen on one path")
        for server in alive:
            server.terminate()
            server.wait(PATIENCE)
        (self.directory / "file").write_text("mine")
        refused = subprocess.run(
            [self.program, "serve", "--store", self.store, "--listen", f"unix:{self.directory}/file"], capture_output=True, text=True)
        self.expect(refused.returncode != 0 and (self.directory / "file").read_text() == "mine", "a file was taken for a socket of its own")

    def schedule(self):
        backups = self.directory / "backups"
        process, base = self.start(
            "--listen", "127.0.0.1:0", "--backup", backups, "--backup-every", "1s", "--keep", "2", "--drill-every", "1s")
        end = time.monotonic() + PATIENCE
        text = ""
        while time.monotonic() < end and not ("evstore_last_drill_passed 1" in text and "evstore_last_backup_age_seconds" in text):
            time.sleep(0.05)
            # Also before the first backup, and while one is made.
            status, text = self.get(base, "/metrics")
            self.expect(status == 200, f"/metrics answers {status}: {text}")
        self.expect('evstore_disk_bytes{part="log"}' in text, "the size of the log is not told")
        # Those of appends are another program's, those of a cluster log a node's, and progress is seen in `replay_elsewhere`.
        table = (ROOT / "Sources/Evstore/Evstore.docc/Serving.md").read_text().split("\n")
        for name in [line.split("`")[1] for line in table if line.startswith("| `evstore_") and "| gauge |" in line]:
            self.expect(f"\n{name}" in text or "_cluster_" in name or "_progress_" in name, f"/metrics has no {name}, which is documented")
        if promtool := shutil.which("promtool"):
            found = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True)
            self.expect(found.returncode == 0 and not found.stdout + found.stderr, f"promtool says {found.stdout}{found.stderr}")
        else:
            print("SKIPPED  a check of the metrics: there is no promtool")
        self.expect("evstore_last_drill_passed 1" in text, "no drill was made")
        self.expect("evstore_last_backup_age_seconds" in text, "no backup was made")
        self.end(process, "schedule")
        self.expect(not self.evstore("verify", "--deep").startswith("NOT"), "the store is not sound after it")

    def hung(self):
        """A directory of backups that hangs keeps nobody from an answer, and the service neither from its start nor from its end."""
        library, flag, backups = self.directory / "hung.so", self.directory / "hangs", self.directory / "copies"
        subprocess.run(["clang", "-shared", "-fPIC", "-o", library, ROOT / "tools/pages/hung.c", "-ldl"], check=True)
        hung = {"LD_PRELOAD": str(library), "HUNG": str(backups), "HUNG_WHILE": str(flag)}
        self.evstore("backup", backups)
        for every in ("1h", "1s"):
            process, base = self.start("--listen", "127.0.0.1:0", "--page", "--backup", backups, "--backup-every", every, **hung)
            token = {"Authorization": f"Bearer {self.token}"}
            self.expect("not answered" not in self.get(base, "/", **token)[1], "the directory does not answer before it hangs")
            flag.touch()
            for path in ("/", "/storage"):
                found = self.until(PATIENCE, lambda: "not answered since" in self.get(base, path, **token)[1])
                self.expect(found, f"{path} does not say that the directory of backups hangs")
            self.expect("<td" in self.get(base, "/storage", **token)[1], "the backups that were found before are not shown")
            self.expect("evstore_last_backup_age_seconds" in self.get(base, "/metrics")[1], "the age of the newest backup is not told")
            self.end(process, f"where a backup every {every} hangs")
            flag.unlink()
        # It hangs from the beginning on.
        flag.touch()
        process, base = self.start("--listen", "127.0.0.1:0", "--page", "--backup", backups, "--backup-every", "1h", **hung)
        status, text = self.get(base, "/", Authorization=f"Bearer {self.token}")
        self.expect(status == 200 and "not known" in text, f"the page says {status} where no look at the backups has ended")
        self.expect(self.get(base, "/metrics")[0] == 200, "the metrics wait for the directory of backups")
        process.terminate()
        code, said = process.wait(PATIENCE), process.stderr.read()
        self.expect(code == 0, f"SIGTERM ended it with {code} where the directory of backups has hung from the beginning on")
        self.expect("note: backup has failed" in said and "no answer since" in said, f"the schedule says {said}")
        flag.unlink()

    def prometheus(self):
        program = shutil.which("prometheus")
        if program is None:
            return print("SKIPPED  a scrape: there is no prometheus")
        process, base = self.start("--listen", "127.0.0.1:0")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        config = self.directory / "prometheus.yml"
        target = base.removeprefix("http://")
        config.write_text(
            f"scrape_configs:\n  - job_name: evstore\n    scrape_interval: 1s\n    static_configs:\n      - targets: ['{target}']\n")
        scraper = subprocess.Popen(
            [program, f"--config.file={config}", f"--storage.tsdb.path={self.directory}/tsdb", f"--web.listen-address=127.0.0.1:{port}"],
            stderr=subprocess.DEVNULL)
        try:
            end, found = time.monotonic() + PATIENCE, {}
            while time.monotonic() < end and found.get("evstore_position") != "3":
                time.sleep(0.5)
                for name in ("evstore_position", "evstore_read_model_rows", "up"):
                    try:
                        answer = json.loads(self.get(f"http://127.0.0.1:{port}", f"/api/v1/query?query={name}")[1])
                        found |= {name: series["value"][1] for series in answer["data"]["result"]}
                    except (OSError, ValueError):
                        pass
            self.expect(found.get("evstore_position") == "3" and found.get("up") == "1", f"Prometheus found {found}")
            self.expect(found.get("evstore_read_model_rows") == "3", f"Prometheus found {found}")
        finally:
            scraper.terminate()
            scraper.wait()
        self.end(process, "prometheus")

    def mistakes(self):
        token = self.directory / "token"
        token.write_text("short\n")
        token.chmod(0o600)
        open_token = self.directory / "open-token"
        open_token.write_text("a" * 32)
        open_token.chmod(0o644)
        for arguments in (
            ["--listen", "0.0.0.0:80"], ["--listen", "example.org:80"], ["--backup-every", "1h"], ["--drill-every", "soon"],
            ["--keep", "1"], ["--allow-changes"], ["--page", "--token-file", token], ["--page", "--token-file", open_token],
        ):
            ended = subprocess.run(
                [self.program, "serve", "--store", self.store, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE)
            self.expect(ended.returncode == 2, f"{arguments} ended with {ended.returncode}: {ended.stderr}")


def main():
    with tempfile.TemporaryDirectory(prefix="evstore-serving.") as directory:
        check = Check(os.path.abspath(sys.argv[1]), directory)
        for part in (check.readiness, check.crowd, check.systemd, check.socket, check.prometheus, check.doors, check.schedule,
                     check.hung, check.ended_while_busy, check.replaced, check.replay_elsewhere,
                     check.mistakes):
            part()
            print(f"{part.__name__} done")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
