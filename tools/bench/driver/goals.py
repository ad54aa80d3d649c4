"""P1 to P17: who does what, and what is asked of ours. The figures' meaning stands in `tools/bench/README.md`.

P11 to P16 are in `further.py`, P17 in `clusters.py`."""
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from driver.cases import Case, Entry, Target
from driver.clusters import Clustering
from driver.further import Further
from driver.running import SCHEMAS, SCHEMAS_AT_ONCE, Failed, Missing, compile_library, run, run_measured, size

WRITERS = [1, 4, 16, 64, 256]
QUICK_WRITERS = [1, 4]
PROCESS_WRITERS = [1, 4]
PAYLOAD = 200


@dataclasses.dataclass
class Sizes:
    """How much each goal is measured on."""
    appends: dict
    clusters: dict
    slow_appends: int
    bulk: int
    scan: int
    replays: list
    streams: int
    rollback_tail: int
    open: int
    singles: int = 50_000
    versions_times: int = 900_000
    peer_replay: int = 1_000_000
    histories: int = 200_000
    sealed: int = 200_000
    small: int = 5_000
    lookups: int = 100_000
    delays: int = 2_000
    catching: int = 400_000


FULL = Sizes(
    appends={1: 8_000, 4: 24_000, 16: 80_000, 64: 200_000, 256: 200_000},
    clusters={1: 4_000, 4: 12_000, 16: 40_000, 64: 80_000, 256: 80_000}, slow_appends=8_000, bulk=1_000_000, scan=1_000_000,
    replays=[1_000_000, 10_000_000], streams=1_000_000, rollback_tail=100_000, open=10_000_000)
QUICK = Sizes(
    appends={1: 300, 16: 2_000, 64: 4_000}, clusters={1: 300, 16: 1_600}, slow_appends=300, bulk=20_000, scan=20_000, replays=[20_000], streams=20_000,
    rollback_tail=2_000, open=20_000, singles=300, versions_times=90_000, peer_replay=20_000, histories=3_000,
    sealed=3_000, small=1_000, lookups=5_000, delays=200, catching=1_600)


class Goals(Further, Clustering):
    def __init__(self, scene, sizes, builds=False):
        self.scene, self.sizes, self.builds, self.peaks = scene, sizes, builds, {}

    def all(self):
        return {
            "P1": self.appending, "P2": self.bulk, "P3": self.scanning, "P4": self.upcasting, "P5": self.replaying,
            "P6": self.rolling_back, "P7": self.flipping, "P8": self.opening, "P9": self.storing, "P10": self.streams,
            "P11": self.histories, "P12": self.sealing, "P13": self.small, "P14": self.building, "P15": self.looking_up,
            "P16": self.delaying, "P17": self.clustering,
        }

    # --- shared

    def drive(self, program, work, name, events, *more, streams=10_000, frames=True):
        """Runs a driver that fills a new store and says events and seconds; gives events a second."""
        with self.scene.store(name) as store:
            given = ["--frames", self.scene.events(events, streams), "--events", events] if frames else []
            result = run([program, work, "--store", store, *given, *more])
            return result | {"value": result["events"] / result["seconds"], "bytesOnDisk": size(store)}

    def ours(self, work, name, events, *more):
        return self.drive(self.scene.ours(), work, name, events, "--schemas", SCHEMAS, *more)

    def postgres(self, work, events, *more):
        server = self.scene.server("postgres")
        result = run([self.scene.peer("postgres"), work, "--at", server.conninfo, "--frames", self.scene.events(events), "--events", events,
                      *more])
        return result | {"value": result["events"] / result["seconds"]}

    def umadb(self, work, events, *more):
        server = self.scene.server("umadb")
        server.restart()
        result = run(self.scene.python_peer("umadb", work, "--at", server.url, "--frames", self.scene.events(events), "--events", events, *more))
        return result | {"value": result["events"] / result["seconds"], "bytesOnDisk": size(server.directory)}

    def eventsourcing(self, work, events, *more):
        with self.scene.store("eventsourcing") as store:
            words = ["--store", store, "--frames", self.scene.events(events), "--events", events, *more]
            result = run(self.scene.python_peer("eventsourcing", work, *words))
            return result | {"value": result["events"] / result["seconds"]}

    # --- P1

    def appending(self):
        for writers in WRITERS:
            if writers not in self.sizes.appends:
                continue
            count = self.sizes.appends[writers]
            few = min(count, self.sizes.slow_appends * (1 if writers == 1 else 2))
            k = ["--writers", writers]
            yield Case("P1", f"durable append, {writers} writer{'s' if writers > 1 else ''}", "events/s", [
                Entry("evstore", f"{writers} tasks, one event an append through the public API; validated at version 1",
                      lambda: self.ours("append", "ours", count, *k)),
                Entry("raw file", "write and fdatasync, writers share commits", lambda: self.drive(self.scene.peer("rawfile"), "append", "raw", count, *k)),
                Entry("raw LMDB", "one entry an event, no index, writers share commits",
                      lambda: self.drive(self.scene.peer("rawlmdb"), "append", "lmdb", count, *k)),
                Entry("SQLite", "WAL, synchronous=FULL, UNIQUE(stream, revision), prepared, writers share transactions",
                      lambda: self.drive(self.scene.peer("sqlite"), "append", "sqlite", count, *k)),
                Entry("SQLite, a transaction each", "the same, a transaction for every event",
                      lambda: self.drive(self.scene.peer("sqlite"), "each", "sqlite", few, *k)),
                Entry("GRDB", "DatabasePool, WAL, synchronous=FULL, cached statements, tasks share transactions",
                      lambda: self.drive(self.scene.swift("peers/grdb", "grdb"), "append", "grdb", count, *k)),
                Entry("PostgreSQL", "a connection each over a Unix socket, prepared INSERT into the usual event table, synchronous_commit=on",
                      lambda: self.postgres("append", max(few, count // 4), *k)),
                Entry("UmaDB", "its server, a client each in Python threads, one event a request",
                      lambda: self.umadb("append", max(few, count // 8), *k)),
            ] + ([Entry("eventsourcing", "Python, SQLiteApplicationRecorder.insert_events, WAL, synchronous=FULL, one event a call",
                        lambda: self.eventsourcing("append", few))] if writers == 1 else []), [
                Target("at least 0.65 of the raw file", "raw file", 0.65), Target("ahead of SQLite", "SQLite", 1),
                Target("ahead of GRDB", "GRDB", 1),
            ])
        for writers in QUICK_WRITERS:
            count, k = self.sizes.appends[1] * writers, ["--writers", writers]
            yield Case("P1", f"the same on a quick disk, {writers} writer{'s' if writers > 1 else ''}", "events/s", [
                Entry("evstore", "in memory, where a sync takes 60 µs",
                      lambda: self.on_quick_disk(self.scene.ours(), count, *k, "--schemas", SCHEMAS)),
                Entry("raw file", "the same", lambda: self.on_quick_disk(self.scene.peer("rawfile"), count, *k)),
                Entry("SQLite", "the same", lambda: self.on_quick_disk(self.scene.peer("sqlite"), count, *k)),
            ], [Target("at least 0.8 of the raw file", "raw file", 0.8), Target("ahead of SQLite", "SQLite", 1)])

        for writers in PROCESS_WRITERS:
            count, k = self.sizes.appends[1] * writers, ["--writers", writers]
            of_each = f"of {writers} writer{'s' if writers > 1 else ''} each"
            yield Case("P1", f"durable append, 2 processes {of_each}", "events/s", [
                Entry("evstore", "one store, each process its own streams",
                      lambda: self.in_two_processes(self.scene.ours(), "ours", count, *k, "--schemas", SCHEMAS)),
                Entry("SQLite", "the same; a process that finds the base locked asks again after 20 µs",
                      lambda: self.in_two_processes(self.scene.peer("sqlite"), "sqlite", count, *k)),
            ], [Target("ahead of SQLite", "SQLite", 1)])

    def in_two_processes(self, program, name, events, *more):
        """Two processes append at once to a store that a third one has made; the events of both by the time of the slower one."""
        with self.scene.store(name) as store:
            def begun(part, count):
                frames = self.scene.events(events, first=part * 10_000)
                words = [program, "append", "--store", store, "--frames", frames, "--events", count, *more]
                return subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

            def said(process):
                output, errors = process.communicate()
                if process.returncode != 0:
                    raise Failed(errors.decode(errors="replace").strip()[-600:])
                return json.loads(output)

            said(begun(2, 1))
            both = [said(process) for process in [begun(0, events), begun(1, events)]]
            return {"value": sum(one["events"] for one in both) / max(one["seconds"] for one in both),
                    **{word: max(one[word] for one in both) for word in ("p50", "p99", "max")}}

    def on_quick_disk(self, program, events, *more):
        """A file system in memory, with a library that makes each sync take 60 µs."""
        memory = pathlib.Path("/dev/shm")
        if not os.access(memory, os.W_OK):
            raise Missing(f"no file system in memory at {memory}")
        environment = os.environ | {"LD_PRELOAD": str(self.scene.once("quicksync", lambda: compile_library("quicksync", self.scene.directory)))}
        with tempfile.TemporaryDirectory(prefix="evstore-compare.", dir=memory) as directory:
            words = ["--store", pathlib.Path(directory) / "store", "--frames", self.scene.events(events), "--events", events, *more]
            result = run([program, "append", *words], env=environment)
            return result | {"value": result["events"] / result["seconds"]}

    # --- P2

    def bulk(self):
        count, batch = self.sizes.bulk, ["--batch", 10_000 if self.sizes.bulk >= 100_000 else 2_000]
        yield Case("P2", f"{batch[1]:,} events an append", "events/s", [
            Entry("evstore", "one task, validated at version 1, through the public API", lambda: self.ours("bulk", "ours", count, *batch)),
            Entry("evstore import", "the program, from a file of JSON lines, which it checks whole before it appends",
                  lambda: self.importing(count)),
            Entry("raw file", "write and fdatasync", lambda: self.drive(self.scene.peer("rawfile"), "bulk", "raw", count, *batch)),
            Entry("raw LMDB", "one entry an event, a transaction an append, no index",
                  lambda: self.drive(self.scene.peer("rawlmdb"), "bulk", "lmdb", count, *batch)),
            Entry("SQLite", "WAL, synchronous=FULL, UNIQUE(stream, revision), prepared, a transaction an append",
                  lambda: self.drive(self.scene.peer("sqlite"), "bulk", "sqlite", min(count, 300_000), *batch)),
            Entry("GRDB", "the same through DatabasePool", lambda: self.drive(
                self.scene.swift("peers/grdb", "grdb"), "bulk", "grdb", min(count, 300_000), *batch)),
            Entry("PostgreSQL", "COPY into the usual event table, a transaction an append",
                  lambda: self.postgres("bulk", min(count, 300_000), *batch)),
            Entry("UmaDB", "1,000 events a request (what one of its requests can hold), one client",
                  lambda: self.umadb("bulk", min(count, 300_000), "--batch", 1_000)),
            Entry("eventsourcing", "insert_events of as many", lambda: self.eventsourcing("bulk", min(count, 100_000), *batch)),
        ], [Target("at least 1.0 of raw LMDB", "raw LMDB", 1), Target("at least 10 times SQLite", "SQLite", 10)])

    def importing(self, count):
        with self.scene.store("imported") as store:
            lines = self.scene.events(count, lines=True)
            result = run([self.scene.evstore(), "import", lines, "--as", "v1", "--store", store, "--schemas", SCHEMAS])
            if not (store / "log").exists():
                raise Failed("nothing was imported")
            return {"value": count / result["wall"], "bytesOnDisk": size(store)}

    # --- P3

    def scanning(self):
        count = self.sizes.scan

        def rate(arguments):
            result = run(arguments)
            if result["events"] != count:
                raise Failed(f"{result['events']} events were scanned, not {count}")
            return result | {"value": result["events"] / result["seconds"]}

        def verify():
            result = run([self.scene.evstore(), "verify", "--store", self.scene.log(count)])
            return {"value": count / result["wall"]}

        yield Case("P3", f"scan of {count:,} events", "events/s", [
            Entry("evstore", "the log's scan as a replay uses it: every block's checksum, every record's header",
                  lambda: rate([self.scene.ours(), "scan", "--store", self.scene.log(count)])),
            Entry("evstore readAll", "through the public API: an owned value for every event",
                  lambda: rate([self.scene.ours(), "read", "--store", self.scene.log(count), "--times", 1])),
            Entry("evstore verify", "the program: checksums, hash chain, positions", verify),
            Entry("C blocks", "blocks of about 120 events in LMDB, a header and XXH3 each",
                  lambda: rate([self.scene.peer("blocks"), "scan", "--store", self.scene.peer_store("blocks", "fill", count)])),
            Entry("raw LMDB", "one entry an event, no checksum", lambda: rate(
                [self.scene.peer("rawlmdb"), "scan", "--store", self.scene.peer_store("rawlmdb", "bulk", count)])),
            Entry("SQLite", "SELECT … ORDER BY position, no checksum, mmap", lambda: rate(
                [self.scene.peer("sqlite"), "scan", "--store", self.scene.peer_store("sqlite", "bulk", count)])),
        ], [Target("at least 0.8 of the C blocks", "C blocks", 0.8)])

    # --- P4

    def upcasting(self):
        def taken(name, schemas=SCHEMAS):
            def measured():
                result = run([self.scene.ours(), "upcast", "--schemas", schemas, "--frames", self.scene.events(10_000), "--times",
                              self.sizes.versions_times, "--only", name])
                return {"value": result[name]}

            return measured

        entries = [Entry("evstore", "one event of 200 bytes from version 1 to 5, nine changes, whole image", taken("v5"))]
        entries += [Entry(f"to v{version}", f"the same to version {version}, with the changes up to there", taken(f"v{version}"))
                    for version in (4, 3, 2)]
        entries += [
            Entry("in one step", "the same nine changes, all in one version (tools/bench/orders-at-once)", taken("v2", SCHEMAS_AT_ONCE)),
            Entry("scan of the bytes", "one strict pass over the text that keeps nothing", taken("scan")),
            Entry("members", "one pass that notes the top-level members", taken("members")),
        ]
        yield Case("P4", "v1 to v5 of one event", "ns", entries, [
            Target("at most 2 times the scan of its bytes", "scan of the bytes", 2, least=False),
            Target("four versions cost what one does, within a tenth", "in one step", 1.1, least=False),
        ])

    # --- P5, P7: a replay, with the pause of its flip

    def replaying(self):
        peers = self.sizes.peer_replay
        for count in self.sizes.replays:
            keys = min(1_000_000, max(count // 10, 1_000))
            targets = [Target("at least 4 M events/s", None, 4e6), Target("at least 20 times SQLite", "SQLite", 20),
                       Target("at least 20 times PostgreSQL", "PostgreSQL", 20)]
            entries = [Entry("evstore", f"`evstore replay --to v5`, {keys:,} rows, the whole process; four upcasts, verified, flipped, durable",
                             lambda c=count, k=keys: self.replay(c, k))]
            if count == self.sizes.replays[0]:
                entries += self.replaying_peers(peers, min(keys, peers // 10))
            yield Case("P5", f"replay of {count:,} events", "events/s", entries, targets if len(entries) > 1 else targets[:1])
            yield Case("P5", f"peak memory of a replay of {count:,} events", "MiB", [
                Entry("evstore", "memory of the program's own (anonymous pages), the largest of the rounds", lambda c=count: self.peak(c, 0)),
                Entry("with the map", "the resident set, with the pages of the mapped log that the kernel keeps as long as it likes",
                      lambda c=count: self.peak(c, 1)),
            ], [Target("under 512 MiB", None, 512, least=False)], rounds_max=1)

    def replaying_peers(self, count, keys):
        def sqlite(work):
            filled = self.scene.peer_store("sqlite", "bulk", count, keys)
            result = run([self.scene.peer("sqlite"), work, "--store", filled])
            return result | {"value": result["events"] / result["seconds"]}

        def best():
            return max(sqlite("replay"), sqlite("grouped"), key=lambda r: r["value"])

        def postgres():
            server = self.scene.server("postgres")
            result = run([self.scene.peer("postgres"), "replay", "--at", server.conninfo, "--frames", self.scene.events(count, keys)])
            return result | {"value": result["events"] / result["seconds"]}

        def python():
            with self.scene.store("eventsourcing") as store:
                few = min(count, 200_000)
                result = run(self.scene.python_peer(
                    "eventsourcing", "replay", "--store", store, "--frames", self.scene.events(few, keys), "--events", few))
                return result | {"value": result["events"] / result["seconds"]}

        return [
            Entry("SQLite", "INSERT … SELECT with JSON functions that reads only what the fold needs; the better of upserts and GROUP BY", best),
            Entry("SQLite, version by version", "the same with the whole payload of each version made in turn", lambda: sqlite("chain")),
            Entry("PostgreSQL", "INSERT … SELECT DISTINCT ON over jsonb, reading only what the fold needs", postgres),
            Entry("eventsourcing", "Python: stored events decoded, four upcast functions, folded into a dictionary", python),
        ]

    def replay(self, count, keys, during=None):
        log = self.scene.log(count, keys)
        with self.scene.copy(log) as store:
            result = run_measured([self.scene.evstore(), "replay", "--to", "v5", "--store", store, "--schemas", SCHEMAS, "--json"])
            if result["events"] != count or result["quarantined"] != 0:
                raise Failed(f"the replay took {result['events']} events, not {count}")
            self.peaks.setdefault(count, []).append((result["ownMiB"], result["peakMiB"]))
            return {"value": count / result["wall"], "inside": result["eventsPerSecond"], "peakMiB": result["peakMiB"], "ownMiB": result["ownMiB"],
                    "pause": result["flipPauseMilliseconds"], "readModelBytes": size(store / "generations")}

    def peak(self, count, which):
        """Of the replays that were timed just before."""
        if count not in self.peaks:
            raise Failed("there was no replay")
        return {"value": max(each[which] for each in self.peaks[count])}

    def flipping(self):
        count = self.sizes.replays[0]
        yield Case("P7", f"writers wait for the flip, 4 of them, {count:,} events", "ms", [
            Entry("evstore", "`evstore replay --to v5` while four tasks append", lambda: self.flip(count)),
        ], [Target("under 5 ms", None, 5, least=False)])

    def flip(self, count):
        log = self.scene.log(count, min(1_000_000, max(count // 10, 1_000)))
        with self.scene.copy(log) as store:
            with Trickle(self.scene, store) as writing:
                result = run([self.scene.evstore(), "replay", "--to", "v5", "--store", store, "--schemas", SCHEMAS, "--json"])
                writing.check()
            return {"value": result["flipPauseMilliseconds"]}

    # --- P6

    def rolling_back(self):
        count, tail = self.sizes.replays[-1], self.sizes.rollback_tail
        yield Case("P6", f"rollback, no tail, {count:,} events", "ms", [
            Entry("evstore", "`evstore rollback`, by its own clock", lambda: self.rollback(count, 0)),
        ], [Target("under 10 ms", None, 10, least=False)])
        first = self.sizes.replays[0]
        yield Case("P6", f"rollback over a tail of {tail:,}", "events/s", [
            Entry("evstore", "the tail followed by the older read model", lambda: self.rollback(first, tail)),
            Entry("replay", "the rate of a replay of the whole log", lambda: self.replay(first, min(1_000_000, max(first // 10, 1_000)))),
        ], [Target("at the rate of a replay", "replay", 1)])

    def rollback(self, count, tail):
        evstore, keys = self.scene.evstore(), min(1_000_000, max(count // 10, 1_000))
        with self.scene.copy(self.scene.log(count, keys)) as store:
            at = ["--store", store, "--schemas", SCHEMAS]
            run([evstore, "replay", "--to", "v1", *at])
            run([evstore, "replay", "--to", "v5", *at])
            if tail:
                run([evstore, "import", self.scene.events(tail, keys, lines=True), "--as", "v1", "--again", *at])
            result = run([evstore, "rollback", "--json", *at])
            if result["tail"] != tail:
                raise Failed(f"the rollback followed {result['tail']} events, not {tail}")
            value = tail / result["seconds"] if tail else result["seconds"] * 1000
            return {"value": value, "process": result["wall"]}

    # --- P8

    def opening(self):
        count = self.sizes.open

        def opened(killed):
            with self.scene.copy(self.scene.log(count, min(1_000_000, max(count // 10, 1_000)))) as store:
                ours = self.scene.ours()
                if killed:
                    with Trickle(self.scene, store) as writing:
                        time.sleep(1)
                        writing.check()
                else:
                    run([ours, "open", "--store", store])
                return {"value": run([ours, "open", "--store", store])["seconds"] * 1000}

        for killed, limit in ((False, 20), (True, 200)):
            yield Case("P8", f"open {count:,} events after {'kill -9' if killed else 'a clean close'}", "ms", [
                Entry("evstore", "`EventStore.open` in a new process", lambda k=killed: opened(k)),
            ], [Target(f"under {limit} ms", None, limit, least=False)])

    # --- P9

    def storing(self):
        full, single = self.sizes.bulk, self.sizes.singles

        def beside(path, count):
            return {"value": size(path) / count - PAYLOAD}

        def peer(name, work, count, *more):
            with self.scene.store(name) as store:
                run([self.scene.peer(name), work, "--store", store, "--frames", self.scene.events(count), "--events", count, *more])
                return beside(store, count)

        def postgres():
            few = min(full, 300_000)
            self.postgres("bulk", few, "--batch", 10_000)
            taken = run([self.scene.peer("postgres"), "size", "--at", self.scene.server("postgres").conninfo])["bytes"]
            return {"value": taken / few - PAYLOAD}

        def umadb():
            return {"value": self.umadb("bulk", full, "--batch", 1_000)["bytesOnDisk"] / full - PAYLOAD}

        def ours_singly():
            with self.scene.store("ours") as store:
                run([self.scene.ours(), "append", "--store", store, "--schemas", SCHEMAS, "--frames", self.scene.events(single), "--events",
                     single, "--writers", 1])
                return beside(store / "log", single)

        yield Case("P9", f"bytes beside the payload, full blocks, {full:,} events", "bytes", [
            Entry("evstore", "the directory `log`", lambda: beside(self.scene.log(full) / "log", full)),
            Entry("raw LMDB", "the whole store", lambda: peer("rawlmdb", "bulk", full)),
            Entry("SQLite", "the table and its index, after a checkpoint", lambda: beside(self.scene.peer_store("sqlite", "bulk", full), full)),
            Entry("PostgreSQL", "the table and its indexes", postgres), Entry("UmaDB", "the whole store, with what it fills with zeros ahead", umadb),
        ], [Target("at most 110", None, 110, least=False)], rounds_max=1)
        yield Case("P9", f"bytes beside the payload, an event a commit, {single:,} events", "bytes", [
            Entry("evstore", "the directory `log`, with `log/ahead`", ours_singly),
        ], [Target("at most 220", None, 220, least=False)], rounds_max=1)

    # --- P10

    def streams(self):
        count = self.sizes.streams
        streams, reads = count // 10, min(count // 10, 50_000)

        def rate(arguments, events):
            result = run([str(a) for a in arguments])
            if result["events"] != events:
                raise Failed(f"{result['events']} events were read, not {events}")
            return result | {"value": result["seconds"] / result["reads"] * 1e6}

        of = ["--count", reads, "--streams", streams]
        yield Case("P10", f"a stream of 10 events, of {streams:,} streams", "µs", [
            Entry("evstore", "`EventStore.read` of a stream drawn by chance", lambda: rate(
                [self.scene.ours(), "streams", "--store", self.scene.log(count, streams, "round"), *of], reads * 10)),
            Entry("SQLite", "SELECT … WHERE stream = ? ORDER BY revision, prepared, mmap", lambda: rate(
                [self.scene.peer("sqlite"), "streams", "--store", self.scene.peer_store("sqlite", "bulk", count, streams, "round"), *of],
                reads * 10)),
        ], [Target("at most half of SQLite's time", "SQLite", 0.5, least=False)])
        tails = ["--count", min(count, 20_000), "--stream", 0]
        yield Case("P10", f"the last 10 of a stream of {count:,}", "µs", [
            Entry("evstore", "`EventStore.read` backwards, 10 events", lambda: rate(
                [self.scene.ours(), "tail", "--store", self.scene.log(count, 1, "round"), *tails], tails[1] * 10)),
            Entry("evstore, short stream", "a stream of 10 events from its beginning", lambda: rate(
                [self.scene.ours(), "streams", "--store", self.scene.log(count, streams, "round"), *of], reads * 10)),
            Entry("SQLite", "SELECT … ORDER BY revision DESC LIMIT 10", lambda: rate(
                [self.scene.peer("sqlite"), "tail", "--store", self.scene.peer_store("sqlite", "bulk", count, 1, "round"), *tails],
                tails[1] * 10)),
        ], [Target("within 3 times of a short stream", "evstore, short stream", 3, least=False)])


class Trickle:
    """Four tasks of a process of its own that append until it is killed, as a power cut would."""

    def __init__(self, scene, store):
        self.command = [scene.ours(), "trickle", "--store", store, "--frames", scene.events(10_000), "--writers", 4]

    def __enter__(self):
        self.process = subprocess.Popen([str(c) for c in self.command], stdout=subprocess.PIPE)
        self.process.stdout.readline()
        return self

    def check(self):
        if self.process.poll() is not None:
            raise Failed("the process that appends has ended")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
