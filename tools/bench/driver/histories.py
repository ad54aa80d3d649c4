"""What is done with a history of `families.py`: imported, replayed, read up and down, its rows compared with what they have to be."""
import itertools
import json

from driver.families import FAMILIES, generate
from driver.running import Failed, say
from driver.stores import Stores

WORKS = ("import", "replay", "up", "down")


def write_schemas(directory, versions, models):
    directory.mkdir()
    for number, version in enumerate(versions, 1):
        (directory / f"v{number}.yaml").write_text(json.dumps({"evstore": 1, "version": number, **version}))
    (directory / "projections.yaml").write_text(json.dumps({"evstore": 1, "projections": models}))
    return directory


class History(Stores):
    """The files of a history, and the stores that are made of them."""

    def __init__(self, name, directory, program, events, seed=1):
        super().__init__(name, directory, program)
        self.family = FAMILIES[name]()
        self.newest = len(self.family.versions)
        self.words += ["--schemas", write_schemas(directory / "schemas", self.family.versions, self.family.models)]
        self.rows = {model: {} for model in self.family.models}
        self.bytes = self.events = 0
        self.lines = directory / "events.jsonl"
        with open(self.lines, "w") as lines:
            for stream, kind, data in generate(self.family, events, seed):
                payload = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
                lines.write(f'{{"stream":{json.dumps(stream)},"type":"{kind}","data":{payload}}}\n')
                self.bytes += len(payload.encode())
                self.events += 1
                for model, fold in self.family.folds.items():
                    fold(self.rows[model], stream, kind, data, self.events)

    # --- works, each giving processor and wall seconds

    def importing(self):
        self.remove("store")
        return self.run("import", "import", self.lines, "--as", "v1")

    def replaying(self):
        """On a copy, so that what was imported can be replayed again."""
        self.copy("store", "replayed")
        return self.run("replay", "replay", "--to", f"v{self.newest}", "--yes", store="replayed")

    def reading_up(self):
        return self.run("up", "read", "--at", f"v{self.newest}", store="replayed")

    def reading_down(self):
        return self.run("down", "read", "--at", "v1", store="newest")

    # --- what has to be

    def check_rows(self):
        for model, expected in self.rows.items():
            lines = self.output("query", model, "--json", store="replayed")
            self.compare(model, {one["key"]: one["value"] for one in map(json.loads, lines.splitlines())})
        say(f"{self.name}: {sum(map(len, self.rows.values()))} rows are right")

    def compare(self, model, rows, whose="evstore"):
        expected = self.rows[model]
        if rows != expected:
            key = next(key for key in [*expected, *rows] if rows.get(key) != expected.get(key))
            raise Failed(f"{self.name}: {model} of {whose} at {key} is {rows.get(key)}, and not {expected.get(key)}")

    def make_newest(self):
        """The same events born at the newest version, which come down as they were born at the first one."""
        self.remove("newest")
        newest = self.directory / "newest.jsonl"
        with open(newest, "wb") as file:
            self.output("export", "--at", f"v{self.newest}", store="replayed", to=file)
        self.output("import", newest, "--as", f"v{self.newest}", store="newest")
        if not self.family.returns:
            return
        count = 0
        for own, other in itertools.zip_longest(self.born("replayed"), self.born("newest")):
            count += 1
            if own != other:
                raise Failed(f"{self.name}: event {count} comes down as {other}, and not {own}")
        say(f"{self.name}: {count} events come down as they were")

    def born(self, store):
        for one in map(json.loads, self.output("export", "--at", "v1", store=store).splitlines()):
            yield one["stream"], one["type"], one["data"]

    def figures(self):
        middle = {what: dict(zip(("processor", "wall"), self.middle(what))) for what in self.takes}
        return {"events": self.events, "bytes": self.bytes, **middle}
