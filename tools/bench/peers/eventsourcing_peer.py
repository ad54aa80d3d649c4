"""The Python library eventsourcing on SQLite, through its recorder: what its own applications do for every save.

usage: eventsourcing_peer.py append|bulk|replay --store FILE --frames FILE --events N [--batch B]

The recorder's connections are in WAL mode; synchronous=FULL is asked for, so that a commit is on the disk.
`replay` selects all notifications, decodes each state from JSON, takes it through four upcast functions as the library's
`class_version` does, and folds it into a dictionary.
"""
import datetime
import json
import sys
import time
import uuid

from frames import append_in_batches, read_frames, read_words
from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteConnectionPool, SQLiteDatastore


def upcast_v1_v2(state):
    dollars, cents = state.pop("total").split(".")
    state["totalCents"] = int(dollars) * 100 + int(cents)
    state["currency"] = "USD"


def upcast_v2_v3(state):
    first, _, last = state.pop("customer").partition(" ")
    state["name"] = {"first": first, "last": last} if last else {"first": first}
    state["placedAt"] = datetime.datetime.fromtimestamp(state["placedAt"], datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def upcast_v3_v4(state):
    if "email" in state:
        state["contact"] = {"emails": [state.pop("email")]}


def upcast_v4_v5(state):
    state["total"] = {"amount": state.pop("totalCents"), "currency": state.pop("currency")}


UPCASTS = [upcast_v1_v2, upcast_v2_v3, upcast_v3_v4, upcast_v4_v5]


def new_recorder(path):
    datastore = SQLiteDatastore(path)
    recorder = SQLiteApplicationRecorder(datastore)
    recorder.create_table()
    return datastore, recorder


def require_full(datastore):
    """SQLite's own default; said here so that nothing else is measured."""
    with datastore.transaction(commit=False) as cursor:
        cursor.execute("PRAGMA synchronous")
        if cursor.fetchone()[0] != 2:
            sys.exit("eventsourcing: the connection is not synchronous=FULL")
        cursor.execute("PRAGMA journal_mode")
        if cursor.fetchone()[0] != "wal":
            sys.exit("eventsourcing: the connection is not in WAL mode")


def stored(frames):
    revisions, streams, events = {}, {}, []
    for stream, payload in frames:
        revision = revisions[stream] = revisions.get(stream, 0) + 1
        name = streams.setdefault(stream, uuid.uuid5(uuid.NAMESPACE_URL, f"order-{stream:07d}"))
        events.append(StoredEvent(originator_id=name, originator_version=revision, topic="orders:OrderPlaced", state=payload))
    return events


def replay(recorder, count):
    orders, seen, begin = {}, 0, time.perf_counter()
    while seen < count:
        for notification in recorder.select_notifications(start=seen + 1, limit=10_000):
            state = json.loads(notification.state)
            for upcast in UPCASTS:
                upcast(state)
            row = orders.setdefault(state["id"], {"orders": 0})
            row["first"], row["last"] = state["name"]["first"], state["name"].get("last")
            row["cents"], row["placedAt"] = state["total"]["amount"], state["placedAt"]
            row["orders"] += 1
            seen += 1
    seconds = time.perf_counter() - begin
    cents = sum(row["cents"] for row in orders.values())
    print(json.dumps({"rows": len(orders), "events": sum(r["orders"] for r in orders.values()), "cents": cents, "seconds": seconds}))


def main():
    work, words = read_words()
    datastore, recorder = new_recorder(words["store"])
    require_full(datastore)
    events = stored(read_frames(words["frames"], int(words["events"])))
    if work == "replay":
        for start in range(0, len(events), 10_000):
            recorder.insert_events(events[start : start + 10_000])
        replay(recorder, len(events))
    else:
        append_in_batches(events, 1 if work == "append" else int(words["batch"]), recorder.insert_events)
    datastore.close()


main()
