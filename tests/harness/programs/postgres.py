"""A real PostgreSQL server on loopback, as durable as a real one: fsync is on."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import psycopg

from tests.harness.programs.availability import skip_or_fail
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerFailedError, ServerProcess
from tests.tools.postgres import PostgresPrograms, provide_postgres
from tests.tools.provide import CannotProvideError

START_TIMEOUT_S: Final = 60.0
ATTEMPTS: Final = 5

UNPRIVILEGED: Final = "nobody"
"""Who runs it where the tests run as root: initdb and postgres refuse to be root."""

SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "on",
    "jit": "off",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
}


def require_postgres() -> PostgresPrograms:
    """Return the server's programs; without them skip the test aloud, or in CI fail it."""
    try:
        return provide_postgres()
    except CannotProvideError as error:
        skip_or_fail(error)


class Postgres:
    """A running server with a user `sallyport`, who may do everything and has a password."""

    def __init__(self, programs: PostgresPrograms) -> None:
        """Make a server in a new folder and start it.

        Raises:
            ServerFailedError: it did not come up; the message has its log's tail.
        """
        self._user = UNPRIVILEGED if os.geteuid() == 0 else None
        # Not in pytest's folder, which another user cannot enter.
        self._folder = Path(tempfile.mkdtemp(prefix="sallyport-postgres-"))
        self._programs = self._reachable(programs)
        self.password = secrets.token_hex(16)
        self._initialise()
        self.start()

    def start(self, port: int = 0) -> None:
        """Start it, on this port or any that is free, and wait until it answers."""
        for attempt in range(1, ATTEMPTS + 1):
            self.port = port or free_ports(1)[0]
            settings = {**SETTINGS, "port": str(self.port)}
            self._server = ServerProcess(
                "postgres",
                [
                    self._programs.folder / "postgres",
                    f"-D{self._folder / 'database'}",
                    *(f"-c{name}={value}" for name, value in settings.items()),
                ],
                self._folder / "postgres.log",
                self._programs.environment,
                user=self._user,
            )
            try:
                self._server.wait_until(self._ready, START_TIMEOUT_S)
            except ServerFailedError as error:
                # Another program took the port, or what was killed is not all gone yet.
                known = ("Address already in use", "shared memory block")
                if attempt == ATTEMPTS or not any(words in str(error) for words in known):
                    self.stop()
                    raise
            else:
                return

    def url(self, database: str = "postgres") -> str:
        """Return the URL of a database, with the password."""
        return f"postgresql+psycopg://sallyport:{self.password}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Make an empty database and return its name."""
        name = f"test_{secrets.token_hex(4)}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return name

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        with self.connect() as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    def connect(self, database: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
        """Connect by hand; each statement is its own transaction."""
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user="sallyport",
            password=self.password,
            dbname=database,
            autocommit=True,
        )

    def serve_tls(self, certificate: bytes, key: bytes) -> None:
        """Answer with TLS too, by this certificate, from now on and after a restart."""
        for name, content in (("server.crt", certificate), ("server.key", key)):
            file = self._folder / name
            file.write_bytes(content)
            file.chmod(0o600)
            if self._user:
                account = pwd.getpwnam(self._user)
                os.chown(file, account.pw_uid, account.pw_gid)
        with self.connect() as admin:
            admin.execute(f"ALTER SYSTEM SET ssl_cert_file = '{self._folder}/server.crt'".encode())
            admin.execute(f"ALTER SYSTEM SET ssl_key_file = '{self._folder}/server.key'".encode())
            admin.execute(b"ALTER SYSTEM SET ssl = on")
            admin.execute(b"SELECT pg_reload_conf()")
        self._server.wait_until(self._has_tls, START_TIMEOUT_S)

    def crash(self) -> None:
        """Kill it, as a power cut would: nothing is written out before it ends.

        Its processes too: one that has not noticed yet answers its client once more.
        """
        leader = self._server.pid
        children = Path(f"/proc/{leader}/task/{leader}/children").read_text().split()
        os.kill(leader, signal.SIGKILL)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        self._server.stop()

    def stop(self) -> None:
        """End it, whoever is connected, and remove its folder."""
        if self._server.alive:
            os.kill(self._server.pid, signal.SIGINT)  # "Fast": it does not wait for clients.
        self._server.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def log_tail(self) -> str:
        """Return the last lines of its log."""
        return self._server.log_tail()

    def _reachable(self, programs: PostgresPrograms) -> PostgresPrograms:
        """Copy programs that were unpacked where the server's user may not look."""
        where = programs.folder
        if self._user is None or all(folder.stat().st_mode & 0o1 for folder in where.parents):
            return programs
        if programs.root is None:
            return programs
        root = self._folder / "programs"
        shutil.copytree(programs.root, root, symlinks=True)
        return PostgresPrograms(root / where.relative_to(programs.root), root)

    def _initialise(self) -> None:
        if self._user:
            account = pwd.getpwnam(self._user)
            os.chown(self._folder, account.pw_uid, account.pw_gid)
        self._folder.chmod(0o755)
        password = self._folder / "password"
        password.write_text(self.password)
        options: Mapping[str, str] = {
            "pgdata": str(self._folder / "database"),
            "username": "sallyport",
            "auth": "scram-sha-256",
            "pwfile": str(password),
            "encoding": "UTF8",
            "locale": "C",
        }
        subprocess.run(
            [
                self._programs.folder / "initdb",
                *(f"--{name}={value}" for name, value in options.items()),
            ],
            cwd=self._folder,
            env={**os.environ, **self._programs.environment},
            user=self._user,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        password.unlink()

    def _has_tls(self) -> bool:
        with suppress(psycopg.OperationalError):
            psycopg.connect(f"{self.url().replace('+psycopg', '')}?sslmode=require").close()
            return True
        return False

    def _ready(self) -> bool:
        with suppress(psycopg.OperationalError):
            self.connect().close()
            return True
        return False
