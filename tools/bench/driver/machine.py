"""What the numbers were measured on."""
import os
import platform
import re
import subprocess
import time

from driver.running import BENCH


def first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return None
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0] if done.returncode == 0 and lines else None


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^model name\s*:\s*(.*)$", file.read(), re.MULTILINE)
    return found.group(1) if found else platform.machine()


def debian(package):
    """The newest version that is installed of a package, or of those that a pattern names."""
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}\\n", package], capture_output=True, text=True)
    found = [line.split()[1].split(":")[-1] for line in done.stdout.splitlines() if line.startswith("installed ")]
    return max((version for version in found if re.match(r"\d+\.\d", version)), default=None)


def pinned(package):
    """The exact version that a Swift package asks for."""
    found = re.search(r'exact: "([^"]+)"', package.read_text())
    return found.group(1) if found else None


def describe(scratch, python):
    """Processor, memory, kernel, file system of the scratch directory, and versions of all that took part."""
    filesystem = (first_line("stat", "-f", "-c", "%T", str(scratch)) or "unknown").replace("ext2/ext3", "ext4")
    versions = {
        "swift": first_line("swift", "--version"), "cc": first_line("cc", "--version"), "lmdb": debian("liblmdb-dev"),
        "sqlite": debian("libsqlite3-dev"), "xxhash": debian("libxxhash-dev"), "postgresql": debian("postgresql-*"),
        "redis": debian("redis-server"), "hiredis": debian("libhiredis-dev"), "grdb": pinned(BENCH / "peers" / "grdb" / "Package.swift"),
    }
    if python:
        for name in ["eventsourcing", "umadb", "apsw"]:
            versions[name] = first_line(str(python), "-c", f"import importlib.metadata as m; print(m.version('{name}'))")
    return {
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "processor": processor(), "processors": os.cpu_count(),
        "memoryGiB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1), "kernel": platform.release(),
        "filesystem": filesystem, "loadBefore": round(os.getloadavg()[0], 2),
        "versions": {k: v for k, v in versions.items() if v},
    }
