"""How long an event takes from its writer to another process that waits for it, by the clock that both share."""
import json
import subprocess
import tempfile
import time

from driver.running import Failed, run

# Who is told of nothing for so long is told no more.
PATIENCE = 60


def measure(listening, publishing):
    """Microseconds from each append's call, and from its return, to the moment when the listener had the event.

    Either program says positions and moments in nanoseconds; the listener says before that it is ready."""
    with tempfile.TemporaryFile() as errors:
        listener = subprocess.Popen([str(word) for word in listening], stdout=subprocess.PIPE, stderr=errors)
        try:
            ready = listener.stdout.readline()
            # It is about to wait.
            time.sleep(0.3)
            told = run(publishing) if b"ready" in ready else None
            heard = listener.communicate(timeout=PATIENCE)[0]
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{listening[0]} was not told of all events within {PATIENCE} s") from late
        finally:
            if listener.poll() is None:
                listener.kill()
                listener.wait()
            listener.stdout.close()
        if told is None or listener.returncode:
            errors.seek(0)
            raise Failed(f"{listening[0]} did not listen: {errors.read().decode(errors='replace').strip()[-300:]}")
    heard = json.loads(heard.splitlines()[-1])
    moments = dict(zip(heard["positions"], heard["moments"]))
    if missed := [position for position in told["positions"] if position not in moments]:
        raise Failed(f"{listening[0]} was not told of {len(missed)} events, the first at {missed[0]}")
    return {since: spread([moments[position] - moment for position, moment in zip(told["positions"], told[since])])
            for since in ("begins", "ends")}


def spread(nanoseconds):
    times = sorted(each / 1000 for each in nanoseconds)
    return {"value": times[len(times) // 2], "p99": times[len(times) * 99 // 100], "max": times[-1]}
