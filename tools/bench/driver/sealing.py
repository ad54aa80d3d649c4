"""Stores of the same events in the clear, sealed, and sealed with personal parts, and what is done with them."""
import json
import random

from driver.histories import write_schemas
from driver.stores import Stores

WORDS = "the quick brown fox jumps over the lazy dog while nobody is looking at the old mill by the river".split()
PERSONAL = {"name", "mail"}
# name: whether sealed, whether members are personal, how many persons there are, as a part of the events.
STORES = {
    "clear": (False, True, 200), "sealed": (True, False, 200), "personal": (True, True, 200), "personal, each another": (True, True, 1),
}


def versions(is_personal):
    def member(name, **shape):
        return {**shape, **({"personal": True} if is_personal and name in PERSONAL else {})}

    def visited(amount):
        names = ["id", "name", "mail", "note", "at"]
        properties = {name: member(name, type="integer" if name == "at" else "string") for name in names} | amount
        return {"Visited": {"stream": "person-{/id}", "required": [*names, *amount], "properties": properties}}

    v1 = {"events": visited({"total": {"type": "string"}})}
    v2 = {"events": visited({"cents": {"type": "integer"}, "country": {"type": "string"}}),
          "upcast": [{"on": "Visited", "do": [
              {"move": {"from": "/total", "path": "/cents"}},
              {"convert": {"path": "/cents", "to": "integer", "using": {"decimal": {"scale": 2}}}},
              {"add": {"path": "/country", "value": "LI"}}]}]}
    return [v1, v2]


MODELS = {"visits": [
    {"since": 1, "key": "/id", "on": {"Visited": {"set": {"/note": "/note", "/at": "/at"}, "add": {"/visits": {"value": 1}}}}}]}


def lines(events, persons, seed):
    rng = random.Random(seed)
    for number in range(events):
        person = rng.randrange(persons) if persons < events else number
        data = {"id": f"{person:07d}", "name": f"Person {person}", "mail": f"person{person}@example.org",
                "note": " ".join(rng.choice(WORDS) for _ in range(12)), "at": 1_600_000_000 + number,
                "total": f"{rng.randrange(100_000) / 100:.2f}"}
        yield json.dumps({"stream": f"person-{person:07d}", "type": "Visited", "data": data}, separators=(",", ":")) + "\n"


class SealedStore(Stores):
    def __init__(self, name, directory, program, events, seed=1):
        super().__init__(name, directory / name.replace(", ", "-").replace(" ", "-"), program)
        is_sealed, is_personal, each = STORES[name]
        self.events = events
        self.schemas = write_schemas(self.directory / "schemas", versions(is_personal), MODELS)
        self.lines = self.directory / "events.jsonl"
        self.lines.write_text("".join(lines(events, max(1, events // each), seed)))
        if is_sealed:
            key = self.directory / "key"
            key.touch(0o600)
            key.write_text(f"{random.Random(seed).getrandbits(256):064x}\n")
            self.words += ["--key-file", key]

    # --- works, each giving processor and wall seconds

    def importing(self, store="store"):
        self.remove(store)
        self.run("init", "init", "--schemas", self.schemas, store=store)
        return self.run("import", "import", self.lines, "--as", "v1", store=store)

    def replaying(self):
        """On a copy, so that what was imported can be replayed again."""
        self.copy("store", "replayed")
        return self.run("replay", "replay", "--to", "v2", "--yes", store="replayed")

    def exporting(self):
        return self.run("export", "export", store="replayed")

    def verifying(self, *deep):
        return self.run(" ".join(["verify", *deep]), "verify", *deep, store="replayed")

    def backing_up(self):
        self.remove("copies")
        return self.run("backup", "backup", self.directory / "copies", store="replayed")

    def backing_up_again(self):
        """With nothing new."""
        return self.run("backup again", "backup", self.directory / "copies", store="replayed")

    def measure(self):
        self.importing()
        self.replaying()
        self.exporting()
        self.verifying()
        self.verifying("--deep")
        self.backing_up()
        self.backing_up_again()
