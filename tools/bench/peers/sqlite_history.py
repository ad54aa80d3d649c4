"""SQLite as a store of one history's events, whose rows are made by statements that it is given. All the work is SQLite's own.

usage: sqlite_history.py fill --store FILE --lines FILE
       sqlite_history.py fold --store FILE --program FILE
       sqlite_history.py rows --store FILE --tables NAME,…

The newest SQLite that this Python has: that of the package apsw, which brings its own, else that of the standard library.
"""
import json
import time

from frames import read_words

try:
    import apsw
except ImportError:
    import sqlite3


def connect(path):
    base = apsw.Connection(path) if "apsw" in globals() else sqlite3.connect(path, isolation_level=None)
    for setting in ("journal_mode=WAL", "synchronous=FULL", "cache_size=-262144", "temp_store=MEMORY", "mmap_size=17179869184"):
        base.execute(f"PRAGMA {setting}").fetchall()
    return base


def born(path):
    revisions = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)
            revision = revisions[one["stream"]] = revisions.get(one["stream"], -1) + 1
            yield one["stream"], revision, one["type"], json.dumps(one["data"], separators=(",", ":"), ensure_ascii=False)


def fill(base, lines):
    base.execute(
        "CREATE TABLE events (position INTEGER PRIMARY KEY, stream TEXT NOT NULL, revision INTEGER NOT NULL, type TEXT NOT NULL,"
        " time INTEGER NOT NULL DEFAULT (unixepoch()), payload TEXT NOT NULL, UNIQUE (stream, revision))")
    base.execute("BEGIN")
    base.executemany("INSERT INTO events (stream, revision, type, payload) VALUES (?, ?, ?, ?)", born(lines))
    base.execute("COMMIT")
    return {"events": base.execute("SELECT count(*) FROM events").fetchall()[0][0]}


def fold(base, program):
    """Tables of an earlier fold are taken away before the clock runs."""
    for (name,) in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'events'").fetchall():
        base.execute(f'DROP TABLE "{name}"')
    for statement in program["before"]:
        base.execute(statement)
    version = base.execute("SELECT sqlite_version()").fetchall()[0][0]
    timed = program["timed"]
    if tuple(map(int, version.split("."))) < (3, 51):
        # Parts as they are parsed, and not as text, come with 3.51.
        timed = [statement.replace("jsonb_each", "json_each") for statement in timed]
    begin = time.perf_counter()
    base.execute("BEGIN")
    for statement in timed:
        base.execute(statement)
    base.execute("COMMIT")
    return {"seconds": time.perf_counter() - begin, "sqlite": version}


def main():
    work, words = read_words()
    base = connect(words["store"])
    if work == "fill":
        result = fill(base, words["lines"])
    elif work == "fold":
        with open(words["program"], encoding="utf-8") as file:
            result = fold(base, json.load(file))
    else:
        result = {name: base.execute(f'SELECT * FROM "{name}"').fetchall() for name in words["tables"].split(",")}
    base.close()
    print(json.dumps(result))


main()
