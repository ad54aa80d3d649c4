"""P11 to P16: other histories, sealed stores, small ones, builds, rows by their keys, and subscriptions."""
import json
import shutil
import subprocess

from driver import delays
from driver.builds import CHANGED, Builds
from driver.cases import Case, Entry, Target
from driver.families import FAMILIES, measure
from driver.families_sql import TABLES, grouping, upserting
from driver.histories import History
from driver.running import SCHEMAS, Failed, Missing, run
from driver.sealing import SealedStore
from driver.smallness import SmallStore

FLAT = "flat history"
# What is asked of ours where one goal has several cases.
HISTORIES = ("whole processes: `evstore replay` to the newest version, verified, flipped, durable, rows compared with a fold in Python;"
             " `evstore read` of all events at the newest version (up), and at version 1 where they were born at the newest (down)")
SMALL = ("`evstore replay`, and `evstore query` of a row by its key, whole processes: processor time, the middle of five; calls that make"
         " something durable, counted by strace")
BUILD = ("in a clone, packages fetched before: `swift build -c release`, `swift build --build-tests`, and that again after one more"
         f" function in `{CHANGED}`")


class Further:
    """What `Goals` has besides; needs its scene and sizes."""

    # --- P11

    def histories(self):
        count = self.sizes.histories
        for name in FAMILIES:
            unit = measure(name)
            for what in ("replay", "read up", "read down"):
                entries = [Entry("evstore", HISTORIES, lambda n=name, w=what, u=unit: self.history_rate(n, w, u))]
                targets = []
                if name != "flat":
                    entries.append(Entry(
                        FLAT, "the same of the history `flat`, in turn", lambda w=what, u=unit: self.history_rate("flat", w, u)))
                    targets.append(Target(f"at least half of the flat history's {unit} a second", FLAT, 0.5))
                if what == "replay" and name in TABLES:
                    entries.append(Entry(
                        "SQLite", "the same rows from the events as they were born, compared with the same fold, by INSERT … SELECT with"
                        " JSON functions that reads only what the rows need; WAL; the better of upserts and GROUP BY, by its own clock,"
                        " without the start of its process",
                        lambda n=name, u=unit: self.history_in_sqlite(n, u)))
                yield Case("P11", f"{what} of {name}, {count:,} events", f"{unit}/s", entries, targets)
            if name != "flat":
                # A wide history is gigabytes.
                shutil.rmtree(self.scene.directory / "histories" / name, ignore_errors=True)

    def history(self, name):
        """A history in its stores, with rows that are right."""
        def make():
            (self.scene.directory / "histories").mkdir(exist_ok=True)
            history = History(name, self.scene.directory / "histories" / name, self.scene.evstore(), self.sizes.histories)
            history.importing()
            history.replaying()
            history.check_rows()
            history.make_newest()
            return history

        return self.scene.once(("history", name), make)

    def history_rate(self, name, what, unit):
        history = self.history(name)
        work = {"replay": history.replaying, "read up": history.reading_up, "read down": history.reading_down}[what]
        processor, wall = work()
        return {"value": getattr(history, unit) / wall, "eventsPerSecond": history.events / wall, "processor": processor}

    def history_in_sqlite(self, name, unit):
        base = self.scene.once(("history in SQLite", name), lambda: HistoryInSQLite(self.scene, self.history(name)))
        seconds, sqlite = base.fold()
        return {"value": getattr(base.history, unit) / seconds, "eventsPerSecond": base.history.events / seconds, "sqlite": sqlite}

    # --- P12

    def sealing(self):
        count = self.sizes.sealed
        asked = {
            "clear": "nothing is sealed", "sealed": "every event sealed with a key of its own",
            "personal": f"two of six members personal besides, of {max(1, count // 200):,} persons",
            "personal, each another": f"the same of {count:,} persons",
        }

        def entries(what, *names):
            return [Entry(name, f"`evstore`, the whole process; {asked[name]}", lambda n=name: {"value": count / self.sealed(n, what)[1]})
                    for name in names]

        for what in ("import", "replay"):
            yield Case("P12", f"{what} of {count:,} events, sealed", "events/s", entries(what, "sealed", "clear"),
                       [Target("at least half of the clear rate", "clear", 0.5)], us="sealed")
            yield Case("P12", f"{what} of {count:,} events, sealed, with personal parts", "events/s",
                       entries(what, "personal", "personal, each another", "clear"),
                       [Target("at least a third of the clear rate", "clear", 1 / 3)], us="personal")
        asked = f"what `verify`, or a backup with nothing new, takes longer than with {max(1, count // 200):,} persons"
        for what, command in (("verify", "verify"), ("backup with nothing new", "backup again")):
            yield Case("P12", f"{what}, for {count:,} persons", "s", [
                Entry("evstore", asked, lambda c=command: {
                    "value": self.sealed("personal, each another", c)[1] - self.sealed("personal", c)[1]}),
            ], [Target("under 0.2 s", None, 0.2, least=False)])

    def sealed(self, name, what):
        def make():
            store = SealedStore(name, self.scene.path("sealed"), self.scene.evstore(), self.sizes.sealed)
            store.importing()
            store.replaying()
            return store

        store = self.scene.once(("sealed", name), make)
        if what == "import":
            return store.importing("another")
        if what == "backup again":
            store.backing_up()
            return store.backing_up_again()
        return {"replay": store.replaying, "verify": store.verifying}[what]()

    # --- P13

    def small(self):
        count = self.sizes.small
        def store():
            return self.scene.once("small", lambda: SmallStore(self.scene.path("small"), self.scene.evstore(), count))

        def middle(what, which):
            """Of five processes, in milliseconds: of the processor (0) or of the wall's clock (1)."""
            return {"value": sorted(store().take(what)[which] for _ in range(5))[2] * 1000}

        def syncs(what):
            found = store().syncs(what)
            if found is None:
                raise Missing("no strace; tools/bench/setup installs it")
            return {"value": found}

        for what, limit in (("replay", 50), ("query KEY", 15)):
            yield Case("P13", f"{what} on {count:,} events", "ms", [
                Entry("evstore", SMALL, lambda w=what: middle(w, 0)),
                Entry("by the clock", "the same by the wall's clock", lambda w=what: middle(w, 1)),
                Entry("a process", "processor time of `evstore --version`, which does nothing", lambda: middle("evstore --version", 0)),
            ], [Target(f"under {limit} ms", None, limit, least=False)])
        yield Case("P13", f"replay on {count:,} events, syncs", "syncs", [
            Entry("evstore", SMALL, lambda: syncs("replay")),
        ], [Target("at most 10", None, 10, least=False)], rounds_max=1)

    # --- P14

    def building(self):
        def builds():
            if not self.builds:
                raise Missing("left out: --builds measures it, which takes ten minutes")
            return self.scene.once("builds", lambda: Builds(self.scene.path("clone")))

        for what, limit, measure in (
            ("release, cold", 240, lambda: builds().cold("release")), ("debug with tests, cold", 300, lambda: builds().cold("debug")),
            ("debug with tests, incremental", 30, lambda: builds().again("debug")),
        ):
            yield Case("P14", f"build, {what}", "s", [Entry("evstore", BUILD, measure)],
                       [Target(f"under {limit} s", None, limit, least=False)], rounds_max=1)

    # --- P15

    def looking_up(self):
        keys, reads = self.sizes.streams // 10, self.sizes.lookups
        for readers in (1, 2):
            def measured(command, reader="--threads", k=readers):
                """A function that runs a driver, whose every read finds its row."""
                def measure():
                    result = run([*command(), "--count", reads, "--keys", keys, reader, k])
                    if result["rows"] != reads * k:
                        raise Failed(f"{result['rows']} rows were found, not {reads * k}")
                    return result | {"value": result["seconds"] / reads * 1e6 if k == 1 else result["reads"] / result["seconds"]}

                return measure

            entries = [
                Entry("evstore", "`EventStore.query(_:key:)` through the public API: a transaction each, a value of the caller's own",
                      measured(lambda: [self.scene.ours(), "rows", "--store", self.replayed()], "--readers")),
                Entry("SQLite", "SELECT of the five columns by a TEXT primary key, WITHOUT ROWID, prepared, mmap; looked at in place",
                      measured(lambda: [self.scene.peer("sqlite"), "rows", "--store", self.folded_in_sqlite()])),
                Entry("GRDB", "DatabasePool.read, a cached statement, fetchOne of a record by the same key in the same file",
                      measured(lambda: [self.scene.swift("peers/grdb", "grdb"), "rows", "--store", self.folded_in_sqlite()])),
                Entry("Redis", "GET of the same row's JSON over a Unix socket, hiredis in C, one at a time",
                      measured(lambda: [self.scene.peer("redis"), "rows", "--at", self.filled_redis()])),
            ]
            name = f"a row by its key, of {keys:,}"
            yield Case("P15", name if readers == 1 else f"{name}, {readers} readers at once", "µs" if readers == 1 else "reads/s", entries)

    def rows_of(self):
        return self.sizes.streams, self.sizes.streams // 10, "round"

    def replayed(self):
        """A store whose read model has the rows."""
        def make():
            store = self.scene.copy(self.scene.log(*self.rows_of())).path
            run([self.scene.ours(), "replay", "--to", 5, "--store", store, "--schemas", SCHEMAS])
            return store

        return self.scene.once("replayed", make)

    def folded_in_sqlite(self):
        def make():
            store = self.scene.peer_store("sqlite", "bulk", *self.rows_of())
            run([self.scene.peer("sqlite"), "grouped", "--store", store])
            return store

        return self.scene.once("folded in SQLite", make)

    def filled_redis(self):
        """Redis with our rows."""
        def make():
            server, lines = self.scene.server("redis"), self.scene.path("rows")
            command = [self.scene.evstore(), "query", "orders", "--json", "--store", self.replayed(), "--schemas", SCHEMAS]
            printed = subprocess.run([str(word) for word in command], capture_output=True, text=True)
            if printed.returncode:
                raise Failed(f"the rows were not printed: {printed.stderr.strip()[-300:]}")
            with open(lines, "w", encoding="utf-8") as file:
                for one in map(json.loads, printed.stdout.splitlines()):
                    file.write(f"{one['key']}\t{json.dumps(one['value'], separators=(',', ':'), ensure_ascii=False)}\n")
            run([self.scene.peer("redis"), "fill", "--at", server.socket, "--lines", lines])
            return server.socket

        return self.scene.once("filled Redis", make)

    # --- P16

    def delaying(self):
        count, rate = self.sizes.delays, 200
        found = {}
        who = {
            "evstore": ("a subscription through the public API in another process", self.delay_of_ours),
            "evstore, a consumer": ("`consume`, whose place is durable, in another process", lambda *of: self.delay_of_ours(*of, "consume")),
            "PostgreSQL": ("INSERT and NOTIFY in one statement; the listener waits on its socket, then SELECTs what is new",
                           self.delay_of_postgres),
            "UmaDB": ("`Client.subscribe` in another process, in Python as the writer is", self.delay_of_umadb),
        }

        def measured(name, since):
            """The first case measures, the second takes what was found by the way."""
            if since == "begins":
                found.setdefault(name, []).append(who[name][1](count, rate))
                return found[name][-1][since]
            if not found.get(name):
                raise Failed("there was no measurement")
            return found[name].pop(0)[since]

        cases = {"begins": "from an append's call to its event in another process", "ends": "the same from the append's return"}
        for since, words in cases.items():
            yield Case("P16", f"{words}, {count:,} at {rate} a second", "µs", [
                Entry(name, f"one writer; {asked}", lambda n=name, s=since: measured(n, s)) for name, (asked, _) in who.items()])

    def delay_of_ours(self, count, rate, way="listen"):
        known = 10
        with self.scene.store("told") as store:
            frames = ["--frames", self.scene.events(10_000)]
            run([self.scene.ours(), "append", "--store", store, "--schemas", SCHEMAS, *frames, "--events", known, "--writers", 1])
            return delays.measure(
                [self.scene.ours(), way, "--store", store, "--known", known, "--count", count],
                [self.scene.ours(), "publish", "--store", store, *frames, "--events", count, "--rate", rate])

    def delay_of_postgres(self, count, rate):
        words = ["--at", self.scene.server("postgres").conninfo]
        return delays.measure(
            [self.scene.peer("postgres"), "listen", *words, "--count", count],
            [self.scene.peer("postgres"), "publish", *words, "--frames", self.scene.events(10_000), "--events", count, "--rate", rate])

    def delay_of_umadb(self, count, rate):
        server = self.scene.server("umadb")
        server.restart()
        words = ["--frames", self.scene.events(10_000), "--events", count, "--rate", rate]
        return delays.measure(
            self.scene.python_peer("umadb", "listen", "--at", server.url, "--count", count),
            self.scene.python_peer("umadb", "publish", "--at", server.url, *words))


class HistoryInSQLite:
    """The events of a history in a table, and the two ways to make its rows, each checked when it is first gone."""

    def __init__(self, scene, history):
        self.scene, self.history, self.tables = scene, history, TABLES[history.name]
        self.base = history.directory / "events.sqlite"
        self.run("fill", "--lines", history.lines)
        self.programs = []
        for way in (upserting, grouping):
            path = history.directory / f"{way.__name__}.json"
            path.write_text(json.dumps(way(self.tables)))
            self.programs.append(path)
            self.run("fold", "--program", path)
            rows = self.run("rows", "--tables", ",".join(self.tables))
            for name, table in self.tables.items():
                history.compare(name, table.values(rows[name]), "SQLite")

    def run(self, work, *words):
        return run([self.scene.sql_python(), self.scene.peer_file("sqlite_history.py"), work, "--store", self.base, *words])

    def fold(self):
        """Seconds of the quicker way, and whose."""
        found = [self.run("fold", "--program", path) for path in self.programs]
        return min(each["seconds"] for each in found), found[0]["sqlite"]
