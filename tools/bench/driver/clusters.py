"""P17: a cluster log beside a plain table of events, on the same server of PostgreSQL."""
import concurrent.futures

from driver.cases import Case, Entry, Target
from driver.running import SCHEMAS, Failed, run

TABLE = "PostgreSQL, a plain table"
WHOLE = "one event a commit, as many callers as writers; each node a process of its own on this machine"


class Clustering:
    """What `Goals` has of it; needs its scene and sizes."""
    # How many cluster logs were made.
    clusters = 0

    def clustering(self):
        for writers, events in self.sizes.clusters.items():
            for nodes in (1, 3):
                if writers < 4 and nodes > 1:
                    continue
                words = f"{writers} {'writer' if writers == 1 else 'writers'}, {'one node' if nodes == 1 else f'{nodes} nodes'}"
                yield Case("P17", words, "events/s", [
                    Entry("evstore", WHOLE, lambda n=nodes, w=writers, e=events: self.cluster_rate(n, w, e)),
                    Entry(TABLE, "a connection a writer, a transaction an event",
                          lambda w=writers, e=events: self.postgres("append", e, "--writers", w)),
                ], [Target("ahead of it", TABLE, 1)] if writers >= 16 else [])
        count = self.sizes.catching
        yield Case("P17", f"a new node takes in {count:,} events, 64 writers' commits", "events/s", [
            Entry("evstore", "`evstore join` of a log on the same machine, indexes and the check of everything included",
                  lambda: self.joining(count)),
            Entry("evstore, bulk", "10,000 events an append into a store of one machine", lambda: self.ours(
                "bulk", "ours", count, "--batch", 10_000)),
        ], [Target("at its rate", "evstore, bulk", 1)])

    def cluster(self, nodes):
        """A cluster log of its own on the server, and its nodes."""
        self.clusters += 1
        name = f"bench{self.clusters}"
        log = ["--log", self.scene.server("postgres").conninfo, "--name", name]
        run([self.scene.ours(), "cluster", *log, "--schemas", SCHEMAS])
        stores = [self.scene.path("node") for _ in range(nodes)]
        for number, store in enumerate(stores):
            run([self.scene.ours(), "join", *log, "--node", f"n{number}", "--store", store])
        return log, stores

    def cluster_rate(self, nodes, writers, events):
        _, stores = self.cluster(nodes)
        return self.append_to(stores, writers, events)

    def append_to(self, stores, writers, events):
        each = max(writers // len(stores), 1)
        words = ["--frames", self.scene.events(events), "--events", events, "--writers", each, "--parts", len(stores)]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            running = [pool.submit(run, [self.scene.ours(), "node", "--store", store, *words, "--part", part])
                       for part, store in enumerate(stores)]
            results = [one.result() for one in running]
        if sum(one["events"] for one in results) != events:
            raise Failed("not all events were appended")
        return {"value": events / max(one["seconds"] for one in results)}

    def joining(self, count):
        log, stores = self.cluster(1)
        self.append_to(stores, 64, count)
        result = run([self.scene.ours(), "join", *log, "--node", "late", "--store", self.scene.path("node")])
        if result["events"] < count:
            raise Failed(f"the new node has {result['events']} events")
        return {"value": result["events"] / result["seconds"]}
