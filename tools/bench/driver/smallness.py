"""A small store, and whole processes that do something with it."""
import json
import re
import shutil
import subprocess

from driver.families import generate
from driver.histories import History
from driver.running import timed

SYNCS = "fsync,fdatasync,msync,sync_file_range,syncfs"


class SmallStore(History):
    """The flat history with few events: imported, and (for what is asked of rows) replayed."""

    def __init__(self, directory, program, events=5_000, seed=1):
        super().__init__("flat", directory, program, events, seed)
        self.importing()
        self.replaying()
        self.check_rows()
        model = next(iter(self.rows))
        stream, kind, data = next(generate(self.family, 1, seed))
        # name: which store, and what is asked of it.
        self.works = {
            "evstore --version": (None, ["--version"]),
            "replay": ("store", ["replay", "--to", f"v{self.newest}", "--yes"]),
            "append": ("store", ["append", stream, kind, json.dumps(data), "--at", "v1"]),
            "query KEY": ("replayed", ["query", model, next(iter(self.rows[model]))]),
            "status": ("replayed", ["status"]), "verify": ("replayed", ["verify"]),
        }

    def prepared(self, what):
        """The command of a work, on a copy of its own."""
        store, arguments = self.works[what]
        if store is None:
            return [self.program, *arguments]
        self.copy(store, "copy")
        return self.command("copy", *arguments)

    def take(self, what):
        """Processor and wall seconds."""
        return timed(self.prepared(what))

    def syncs(self, what):
        """How many a run makes; None where strace is not installed, or nothing could be synced."""
        if shutil.which("strace") is None or self.works[what][0] is None:
            return None
        done = subprocess.run(["strace", "-f", "-e", f"trace={SYNCS}", *self.prepared(what)], capture_output=True, text=True)
        return len(re.findall(r"^(?:\[pid +\d+\] )?(?:" + SYNCS.replace(",", "|") + r")\(", done.stderr, re.MULTILINE))
