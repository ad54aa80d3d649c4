"""How long the product takes to build, in a clone of what is committed, with the packages that it needs already fetched."""
import shutil
import subprocess
import time

from driver.running import ROOT, Failed, Missing, say

# Where a line more is what an incremental build has to build.
CHANGED = "Sources/Evstore/EventStore+Read.swift"
KINDS = {
    "release": ["-c", "release", "--product", "evstore"], "static": ["-c", "release", "--product", "evstore", "--static-swift-stdlib"],
    "debug": ["--build-tests"]}


class Builds:
    def __init__(self, clone):
        if shutil.which("swift") is None:
            raise Missing("no swift")
        self.clone = clone
        self.changes = 0
        self.run("git", "clone", "--quiet", "--no-hardlinks", ROOT, self.clone)

    def run(self, *command, at=None):
        command = [str(word) for word in command]
        done = subprocess.run(command, cwd=at, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise Failed(f"{' '.join(command)}: {done.stdout.strip()[-600:]}")

    def build(self, kind):
        say(f"building a clone ({kind})")
        begin = time.monotonic()
        self.run("swift", "build", "--scratch-path", f".build-{kind}", *KINDS[kind], at=self.clone)
        return {"value": time.monotonic() - begin}

    def cold(self, kind):
        shutil.rmtree(self.clone / f".build-{kind}", ignore_errors=True)
        self.run("swift", "package", "--scratch-path", f".build-{kind}", "resolve", at=self.clone)
        return self.build(kind)

    def again(self, kind):
        """After a build of all: one more function in one file."""
        if not (self.clone / f".build-{kind}").exists():
            self.cold(kind)
        self.changes += 1
        with open(self.clone / CHANGED, "a", encoding="utf-8") as file:
            file.write(f"\nprivate func changed{self.changes}() -> Int {{ {self.changes} }}\n")
        return self.build(kind)
