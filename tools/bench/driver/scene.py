"""A comparison's scratch directory, its events, its programs and servers, each made when it is first asked for."""
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from driver.postgres import PostgresServer
from driver.redis import RedisServer
from driver.running import BENCH, ROOT, Missing, Failed, build_swift, compile_peer, remove, run, say
from driver.umadb import UmaDBServer

LIBRARIES = {
    "events": [], "rawfile": [], "rawlmdb": ["-llmdb"], "blocks": ["-llmdb"], "sqlite": ["-lsqlite3"], "redis": ["-lhiredis"],
    "postgres": ["-I/usr/include/postgresql", "-lpq"],
}
SERVERS = {"postgres": PostgresServer, "umadb": UmaDBServer, "redis": RedisServer}


class Scene:
    def __init__(self, scratch=None, keep=False, program=None, ours=None, packages=True, servers=True):
        self.directory = pathlib.Path(scratch or tempfile.mkdtemp(prefix="evstore-compare."))
        self.directory.mkdir(parents=True, exist_ok=True)
        self.keep = keep or scratch is not None
        self.given_program, self.given_ours, self.packages, self.servers = program, ours, packages, servers
        self.known, self.count, self.started = {}, 0, []

    def __enter__(self):
        # Servers and data go also where whoever waits has lost patience.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        return self

    def __exit__(self, *_):
        for server in self.started:
            server.stop()
        if not self.keep:
            shutil.rmtree(self.directory, ignore_errors=True)

    def once(self, key, make):
        """What `make` gave the first time, or why it could not."""
        if key not in self.known:
            try:
                self.known[key] = make()
            except (Missing, Failed) as failure:
                self.known[key] = Missing(str(failure))
        if isinstance(self.known[key], Missing):
            raise self.known[key]
        return self.known[key]

    def path(self, name):
        """A path that nothing is at."""
        while True:
            self.count += 1
            path = self.directory / f"{name}-{self.count}"
            if not path.exists():
                return path

    def store(self, name):
        """A path for a store that is taken away at the end of a `with`."""
        return Store(self.path(name))

    # --- programs

    def peer(self, name):
        return self.once(("peer", name), lambda: compile_peer(name, self.directory, *LIBRARIES[name]))

    def swift(self, package, product):
        def make():
            if not self.packages:
                raise Missing("left out by --no-packages")
            say(f"building {package} (release)")
            return build_swift(BENCH / package, product)

        return self.once(("swift", package), make)

    def ours(self):
        return pathlib.Path(self.given_ours).resolve() if self.given_ours else self.swift("ours", "ours")

    def evstore(self):
        def make():
            if self.given_program:
                return pathlib.Path(self.given_program).resolve()
            say("building evstore (release)")
            return build_swift(ROOT, "evstore", "--static-swift-stdlib")

        return self.once("evstore", make)

    def python(self):
        """A Python that has the peers' packages, which `tools/bench/setup` put there."""
        def make():
            if not self.packages:
                raise Missing("left out by --no-packages")
            python = BENCH / ".build" / "python" / "bin" / "python3"
            if not python.exists():
                raise Missing("no Python packages; tools/bench/setup installs them")
            return python

        return self.once("python", make)

    def python_peer(self, name, *arguments):
        return [self.python(), self.peer_file(f"{name}_peer.py"), *arguments]

    def sql_python(self):
        """A Python with the newest SQLite that is there: the standard library's, where there is no other."""
        try:
            return self.python()
        except Missing:
            return sys.executable

    def peer_file(self, name):
        return BENCH / "peers" / name

    # --- servers

    def server(self, kind):
        def make():
            if not self.servers:
                raise Missing("left out by --no-servers")
            server = SERVERS[kind](self)
            server.start()
            self.started.append(server)
            return server

        return self.once(("server", kind), make)

    # --- events and stores

    def events(self, count, streams=10_000, order="random", lines=False, first=0):
        """A file of events of the streams from `first` on; the same numbers give the same events."""
        kind = "lines" if lines else "frames"

        def make():
            path = self.directory / f"events-{count}-{streams}-{order}-{first}.{kind}"
            if not path.exists():
                run([self.peer("events"), "--events", count, "--streams", streams, "--from", first, "--order", order, f"--{kind}", path])
            return path

        return self.once((kind, count, streams, order, first), make)

    def log(self, count, streams=10_000, order="random"):
        """A store of ours with these events, born at version 1, that nobody changes."""
        def make():
            path = self.directory / f"store-{count}-{streams}-{order}"
            if path.exists():
                return path
            say(f"making a store of {count:,} events in {streams:,} streams")
            try:
                run([self.ours(), "bulk", "--store", path, "--schemas", BENCH / "orders", "--frames", self.events(count, streams, order),
                     "--events", count, "--batch", 10_000])
            except Missing:
                run([self.evstore(), "import", self.events(count, streams, order, lines=True), "--as", "v1", "--store", path,
                     "--schemas", BENCH / "orders"])
            if not path.exists():
                raise Failed(f"no store was made at {path}")
            return path

        return self.once(("log", count, streams, order), make)

    def copy(self, store):
        """A copy of a store that a measurement may change, written back to the disk."""
        copied = self.path("copy")
        subprocess.run(["cp", "-a", "--reflink=auto", str(store), str(copied)], check=True)
        subprocess.run(["sync", "-f", str(copied)], check=True)
        return Store(copied)

    def peer_store(self, peer, work, count, streams=10_000, order="random", **more):
        """A peer's store with these events that nobody changes."""
        def make():
            path = self.path(peer)
            say(f"filling {peer} with {count:,} events")
            words = [w for name, value in more.items() for w in (f"--{name}", value)]
            run([self.peer(peer), work, "--store", path, "--frames", self.events(count, streams, order), "--events", count, *words])
            return path

        return self.once(("store", peer, work, count, streams, order), make)


class Store:
    def __init__(self, path):
        self.path = path

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        remove(self.path)
