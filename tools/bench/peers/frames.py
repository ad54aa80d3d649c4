"""What the drivers in Python share: words, events, and what is said of appends."""
import json
import struct
import sys
import time


def read_words():
    """WORK and a dictionary of `--name value`."""
    words = sys.argv[2:]
    return sys.argv[1], {name.removeprefix("--"): value for name, value in zip(words[::2], words[1::2])}


def read_frames(path, limit):
    """(stream, payload) of each event."""
    with open(path, "rb") as file:
        for _ in range(limit):
            head = file.read(8)
            if len(head) < 8:
                return
            stream, size = struct.unpack("<II", head)
            yield stream, file.read(size)


def append_in_batches(events, batch, send):
    """Sends some at a time, and says how long each took."""
    times, begin = [], time.perf_counter()
    for start in range(0, len(events), batch):
        asked = time.perf_counter()
        send(events[start : start + batch])
        times.append(time.perf_counter() - asked)
    say_appends(len(events), len(times), time.perf_counter() - begin, times)


def say_appends(events, commits, seconds, times):
    times = sorted(t * 1e6 for t in times)
    print(json.dumps({
        "events": events, "commits": commits, "seconds": seconds, "p50": times[len(times) // 2], "p99": times[len(times) * 99 // 100],
        "max": times[-1],
    }))
