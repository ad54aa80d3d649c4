"""Stores that the program makes and works on as whole processes, and what each work took."""
import pathlib
import shutil
import subprocess

from driver.running import Failed, timed


class Stores:
    """A directory of stores, of which one can be another's copy."""

    def __init__(self, name, directory, program):
        self.name, self.directory, self.program, self.takes = name, pathlib.Path(directory), program, {}
        # What stands behind every command.
        self.words = ["--progress", "none"]
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)

    def command(self, store, *arguments):
        return [str(word) for word in (self.program, "--store", self.directory / store, *self.words, *arguments)]

    def run(self, what, *arguments, store="store"):
        """Processor and wall seconds of the program; kept under a name."""
        taken = timed(self.command(store, *arguments))
        self.takes.setdefault(what, []).append(taken)
        return taken

    def output(self, *arguments, store="store", to=None):
        """What the program printed, where it did not print into a file."""
        done = subprocess.run(self.command(store, *arguments), stdout=to or subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise Failed(f"{self.name}: evstore {' '.join(map(str, arguments))}: exit {done.returncode}: {done.stderr.decode()[-600:]}")
        return (done.stdout or b"").decode()

    def remove(self, *names):
        for name in names:
            shutil.rmtree(self.directory / name, ignore_errors=True)

    def copy(self, store, name):
        """A copy that is on the disk, so that nobody's sync has to write it."""
        self.remove(name)
        subprocess.run(["cp", "-a", "--reflink=auto", str(self.directory / store), str(self.directory / name)], check=True)
        subprocess.run(["sync", "-f", str(self.directory / name)], check=True)

    def middle(self, what):
        takes = sorted(self.takes[what])
        return takes[len(takes) // 2]
