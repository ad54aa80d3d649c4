"""A Redis server of our own, on a Unix socket, that keeps everything in memory and writes nothing down."""
import shutil
import subprocess
import time

from driver.running import Missing, remove


class RedisServer:
    def __init__(self, scene):
        self.scene, self.process = scene, None

    def start(self):
        program = shutil.which("redis-server")
        if program is None:
            raise Missing("no redis-server; tools/bench/setup installs it")
        self.directory = self.scene.path("redis")
        self.directory.mkdir()
        self.socket = self.directory / "socket"
        settings = {"port": "0", "unixsocket": self.socket, "dir": self.directory, "save": "", "appendonly": "no"}
        words = [str(word) for name, value in settings.items() for word in (f"--{name}", value)]
        self.process = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            if self.socket.exists():
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        self.stop()
        raise Missing("Redis did not start")

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None
            remove(self.directory)
