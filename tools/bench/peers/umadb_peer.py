"""UmaDB through its own Python client, against a server that `tools/bench/compare` started.

usage: umadb_peer.py append|bulk --at URL --frames FILE --events N [--writers K | --batch B]
       umadb_peer.py listen --at URL --count N
       umadb_peer.py publish --at URL --frames FILE --events N --rate R

Events carry their stream as a tag. The server syncs before it answers; it commits requests that wait together. `listen` subscribes to
all events, and says when it got which.
"""
import json
import threading
import time

from frames import append_in_batches, read_frames, read_words, say_appends
from umadb import Client, Event


def new_events(frames):
    return [Event(event_type="OrderPlaced", data=payload, tags=[f"order-{stream:07d}"]) for stream, payload in frames]


def append_singly(url, events, writers):
    """Threads: the client waits for the server without Python's lock."""
    times = [[] for _ in range(writers)]
    ready = threading.Barrier(writers + 1)

    def write(writer):
        client = Client(url)
        client.head()
        ready.wait()
        for event in events[writer::writers]:
            asked = time.perf_counter()
            client.append([event])
            times[writer].append(time.perf_counter() - asked)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(writers)]
    for thread in threads:
        thread.start()
    ready.wait()
    begin = time.perf_counter()
    for thread in threads:
        thread.join()
    # How many requests the server made one commit of is not said.
    say_appends(len(events), len(events), time.perf_counter() - begin, [t for each in times for t in each])


def listen(client, count):
    client.append([Event(event_type="Begun", data=b"{}", tags=[])])
    events = iter(client.subscribe())
    next(events)
    print(json.dumps({"ready": True}), flush=True)
    positions, moments = [], []
    for _ in range(count):
        positions.append(next(events).position)
        moments.append(time.monotonic_ns())
    print(json.dumps({"positions": positions, "moments": moments}), flush=True)


def publish(client, events, rate):
    positions, begins, ends = [], [], []
    client.head()
    start = time.monotonic()
    for number, event in enumerate(events):
        time.sleep(max(0, start + number / rate - time.monotonic()))
        begins.append(time.monotonic_ns())
        positions.append(client.append([event]))
        ends.append(time.monotonic_ns())
    print(json.dumps({"positions": positions, "begins": begins, "ends": ends}))


def main():
    work, words = read_words()
    if work == "listen":
        return listen(Client(words["at"]), int(words["count"]))
    events = new_events(read_frames(words["frames"], int(words["events"])))
    if work == "append":
        append_singly(words["at"], events, int(words["writers"]))
    elif work == "publish":
        publish(Client(words["at"]), events, int(words["rate"]))
    else:
        append_in_batches(events, int(words["batch"]), Client(words["at"]).append)


main()
