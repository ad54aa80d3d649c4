"""A PostgreSQL server of our own: a private data directory, a Unix socket, everything durable."""
import glob
import os
import pathlib
import pwd
import shutil
import subprocess

from driver.running import Missing

# What a machine of this kind is usually given; fsync, synchronous_commit and full_page_writes stay on.
SETTINGS = {
    "listen_addresses": "", "max_connections": 300, "shared_buffers": "1GB", "work_mem": "256MB", "max_wal_size": "8GB",
    "maintenance_work_mem": "256MB", "checkpoint_timeout": "30min", "jit": "off", "logging_collector": "off",
}


class PostgresServer:
    def __init__(self, scene):
        self.scene, self.process = scene, None

    def start(self):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        if not found:
            raise Missing("no PostgreSQL server; tools/bench/setup installs it")
        self.programs = pathlib.Path(found[-1]).parent
        self.directory = self.scene.path("postgres")
        self.directory.mkdir()
        self.user = self.unprivileged()
        if self.user:
            os.chown(self.directory, self.user.pw_uid, self.user.pw_gid)
            # The server must be able to reach its directory.
            self.scene.directory.chmod(0o711)
        self.run("initdb", "--pgdata", self.directory / "data", "--username", "bench", "--auth", "trust", "--encoding", "UTF8", "--locale", "C")
        words = [w for name, value in SETTINGS.items() for w in ("-c", f"{name}={value}")]
        self.process = subprocess.Popen(
            [str(self.programs / "postgres"), "-D", str(self.directory / "data"), "-k", str(self.directory), *words],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.identity())
        ready = [str(self.programs / "pg_isready"), "-h", str(self.directory), "-U", "bench", "-t", "1"]
        for _ in range(100):
            if subprocess.run(ready, capture_output=True).returncode == 0:
                return
            if self.process.poll() is not None:
                break
            subprocess.run(["sleep", "0.1"], check=True)
        self.stop()
        raise Missing("PostgreSQL did not start")

    @property
    def conninfo(self):
        return f"host={self.directory} user=bench dbname=postgres"

    def unprivileged(self):
        """The server refuses to run as root."""
        if os.geteuid() != 0:
            return None
        for name in ["postgres", "nobody"]:
            try:
                return pwd.getpwnam(name)
            except KeyError:
                continue
        raise Missing("no user but root to run PostgreSQL as")

    def identity(self):
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}

    def run(self, program, *arguments):
        done = subprocess.run(
            [str(self.programs / program), *[str(a) for a in arguments]], capture_output=True, text=True, cwd=self.directory,
            **self.identity())
        if done.returncode != 0:
            raise Missing(f"{program}: {done.stderr.strip()[-300:]}")

    def stop(self):
        if self.process:
            self.process.send_signal(2)  # fast shutdown
            self.process.wait()
            self.process = None
        if self.directory.exists():
            shutil.rmtree(self.directory, ignore_errors=True)
