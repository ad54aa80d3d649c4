"""Programs: how they are built, run and measured."""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

BENCH = pathlib.Path(__file__).resolve().parent.parent
ROOT = BENCH.parent.parent
SCHEMAS = BENCH / "orders"
SCHEMAS_AT_ONCE = BENCH / "orders-at-once"


class Missing(Exception):
    """Something that a measurement needs is not there; the text says what, and how to get it."""


class Failed(Exception):
    """A program ended with an error."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(arguments, **more):
    """What a program printed as JSON (its last line), with its wall seconds and its peak memory in MiB."""
    arguments = [str(a) for a in arguments]
    begin = time.monotonic()
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    output, errors = process.communicate()
    wall = time.monotonic() - begin
    if process.returncode != 0:
        raise Failed(f"{' '.join(arguments)}: {errors.decode(errors='replace').strip()[-600:]}")
    lines = output.decode().strip().splitlines()
    try:
        result = json.loads(output if len(lines) > 1 and lines[0] == "{" else lines[-1]) if lines else {}
    except ValueError:
        result = {}
    if not isinstance(result, dict):
        result = {"value": result}
    return result | {"wall": wall}


def run_measured(arguments, **more):
    """The same, with the peak memory of the process in MiB: `peakMiB` as the kernel counts it, with the pages of mapped files, which it
    takes back at will; `ownMiB` without them, looked at every 5 ms."""
    arguments = [str(a) for a in arguments]
    begin = time.monotonic()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(arguments, stdout=output, stderr=errors, **more)
        own = 0
        while True:
            own = max(own, own_memory(process.pid))
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.005)
        wall = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            raise Failed(f"{' '.join(arguments)}: {errors.read().decode(errors='replace').strip()[-600:]}")
        text = output.read()
    result = json.loads(text) if text.lstrip().startswith(b"{") else {}
    return result | {"wall": wall, "peakMiB": usage.ru_maxrss / 1024, "ownMiB": own / 1024}


def timed(arguments, output=subprocess.DEVNULL):
    """A program's processor seconds and wall seconds."""
    arguments = [str(a) for a in arguments]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(arguments, stdout=output, stderr=subprocess.PIPE)
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise Failed(f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr.decode(errors='replace').strip()[-600:]}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall


def own_memory(pid):
    """Anonymous pages of a process in KiB; 0 where it has just ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("RssAnon:")), 0)
    except (FileNotFoundError, ProcessLookupError):
        return 0


def size(path):
    """Bytes that a file or the files of a directory take on the disk."""
    path = pathlib.Path(path)
    files = [path] if path.is_file() else [f for f in path.rglob("*") if f.is_file()]
    return sum(f.stat().st_blocks * 512 for f in files)


def remove(path):
    path = pathlib.Path(path)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        for file in path.parent.glob(path.name + "*"):
            file.unlink()


def compile_peer(name, into, *libraries):
    """The path of a peer's driver, compiled from `peers/NAME.c`."""
    return compile_c(name, pathlib.Path(into) / name, *libraries, "-lpthread")


def compile_library(name, into):
    """The path of a library that is loaded before a program."""
    return compile_c(name, pathlib.Path(into) / f"{name}.so", "-shared", "-fPIC")


def compile_c(name, made, *options):
    source = BENCH / "peers" / f"{name}.c"
    compiler = shutil.which("cc") or shutil.which("clang")
    if compiler is None:
        raise Missing("no C compiler; tools/bench/setup installs one")
    newest = max(f.stat().st_mtime for f in [source, BENCH / "peers" / "common.h"])
    if made.exists() and made.stat().st_mtime > newest:
        return made
    command = [compiler, "-O3", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", made, source, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Missing(f"peers/{name}.c does not compile (tools/bench/setup installs its library): {done.stderr.strip()[-300:]}")
    return made


def build_swift(package, product, *options):
    """The path of a release program of a Swift package."""
    command = ["swift", "build", "-c", "release", "--package-path", package, "--product", product, *options]
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Missing(f"{product} does not build: {done.stdout.strip()[-600:]}")
    command = ["swift", "build", "-c", "release", "--package-path", str(package), "--show-bin-path"]
    return pathlib.Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()) / product
