"""Whether each one that claims a durable append syncs for it: the same small work under strace."""
import re
import shutil
import subprocess

from driver.running import SCHEMAS, Failed, Missing, run

EVENTS = 200
# A descriptor that was opened with O_DSYNC or O_SYNC syncs at each write.
OPENED = re.compile(r"openat\(([^)]*)\)\s*=\s*(\d+)")
CALL = re.compile(r"(fdatasync|fsync|msync|pwrite64|pwritev2?|writev?|sync_file_range)\((\d+)?")


def count(trace):
    """How many system calls of a trace made something durable."""
    synced, syncing = 0, set()
    for line in trace.splitlines():
        if "resumed>" in line:
            continue
        opened = OPENED.search(line)
        if opened:
            (syncing.add if re.search("O_D?SYNC", opened.group(1)) else syncing.discard)(opened.group(2))
        found = CALL.search(line)
        if found and (found.group(1) in ("fdatasync", "fsync", "msync") or found.group(2) in syncing):
            synced += 1
    return synced


def traced(scene, command):
    """The syncs of a program and all its threads, and what it says of itself."""
    if shutil.which("strace") is None:
        raise Missing("no strace; tools/bench/setup installs it")
    log = scene.path("trace")
    calls = "trace=openat,fdatasync,fsync,msync,pwrite64,pwritev,pwritev2,write,writev"
    result = run(["strace", "-f", "-qq", "-s", "0", "-e", calls, "-o", log, *command])
    return count(log.read_text(errors="replace")), result


def attached(scene, pid, command):
    """The same of a server with all its processes, while a client works."""
    log = scene.path("trace")
    pids = [str(pid)] + subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    words = [w for one in pids for w in ("-p", one)]
    tracer = subprocess.Popen(["strace", "-f", "-qq", "-s", "0", "-e", "trace=openat,fdatasync,fsync,msync,pwrite64", "-o", str(log), *words],
                              stderr=subprocess.DEVNULL)
    try:
        subprocess.run(["sleep", "1"], check=True)
        result = run(command)
    finally:
        tracer.terminate()
        tracer.wait()
    return count(log.read_text(errors="replace")), result


def check(scene):
    """Prints, for each, commits and syncs; 1 where one has fewer syncs than commits."""
    frames = ["--frames", scene.events(EVENTS), "--events", EVENTS]

    def local(program, work, *more):
        return lambda: traced(scene, [program(), work, "--store", scene.path("durable"), *frames, *more])

    def postgres():
        server = scene.server("postgres")
        return attached(scene, server.process.pid, [scene.peer("postgres"), "append", "--at", server.conninfo, *frames, "--writers", 1])

    def umadb():
        server = scene.server("umadb")
        return attached(scene, server.process.pid, scene.python_peer("umadb", "append", "--at", server.url, *frames, "--writers", 1))

    def eventsourcing():
        return traced(scene, scene.python_peer("eventsourcing", "append", "--store", scene.path("durable"), *frames))

    works = {
        "evstore": local(scene.ours, "append", "--schemas", SCHEMAS, "--writers", 1),
        "raw file": local(lambda: scene.peer("rawfile"), "append"), "raw LMDB": local(lambda: scene.peer("rawlmdb"), "append"),
        "SQLite": local(lambda: scene.peer("sqlite"), "append"), "GRDB": local(lambda: scene.swift("peers/grdb", "grdb"), "append"),
        "PostgreSQL": postgres, "UmaDB": umadb, "eventsourcing": eventsourcing,
    }
    code = 0
    for who, work in works.items():
        try:
            syncs, result = work()
        except (Missing, Failed) as failure:
            print(f"{who:16} not checked: {failure}")
            continue
        durable = syncs >= result["commits"]
        code |= not durable
        print(f"{who:16} {result['commits']:6} commits {syncs:6} syncs   {'durable' if durable else 'NOT DURABLE'}")
    return code
