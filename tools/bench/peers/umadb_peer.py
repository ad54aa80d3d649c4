"""UmaDB through its own Python client, against a server that `tools/bench/compare` started.

usage: umadb_peer.py append|bulk --at URL --frames FILE --events N [--writers K | --batch B]

Events carry their stream as a tag. The server syncs before it answers; it commits requests that wait together.
"""
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


def main():
    work, words = read_words()
    events = new_events(read_frames(words["frames"], int(words["events"])))
    if work == "append":
        append_singly(words["at"], events, int(words["writers"]))
    else:
        append_in_batches(events, int(words["batch"]), Client(words["at"]).append)


main()
