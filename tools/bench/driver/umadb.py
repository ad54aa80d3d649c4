"""UmaDB's server on a socket of its own, with its data in the scratch directory."""
import socket
import subprocess
import time

from driver.running import Missing, remove


class UmaDBServer:
    def __init__(self, scene):
        self.scene, self.process, self.directory = scene, None, None

    def start(self):
        self.program = self.scene.python().parent / "umadb"
        if not self.program.exists():
            raise Missing("no umadb; tools/bench/setup installs it")
        self.restart()

    def restart(self):
        """An empty database."""
        self.stop()
        self.directory = self.scene.path("umadb")
        self.directory.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [str(self.program), "--listen", f"127.0.0.1:{self.port}", "--db-path", str(self.directory)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise Missing("umadb's server did not begin to listen")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None
            remove(self.directory)
