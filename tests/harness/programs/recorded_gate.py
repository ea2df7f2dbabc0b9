"""A gate that records and its auditor, as processes on loopback, with a folder for a cluster."""

import datetime as dt
import os
import signal
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from audit.clients.auditor import AuditorChannel
from certs.authority import KeyPair, LeafNames, Purpose, issue, make_authority, validity
from core.base.process_names import process_uri
from tests.harness.evidence import ROOT
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerProcess
from tests.harness.programs.status import ask, is_ready

PROGRAM: Final = Path(sys.executable).parent / "sallyport"
CLUSTER: Final = "loopback"
START_S: Final = 120.0
"""On a machine that does other things."""


class Certificates:
    """A CA, a serving pair for loopback, client pairs of gate and control, PEM, in a folder."""

    def __init__(self, folder: Path) -> None:
        """Make them."""
        self.folder = folder
        now = dt.datetime.now(dt.UTC)
        ca = make_authority("loopback", validity(now, dt.timedelta(days=1)))
        server = LeafNames(Purpose.SERVER, ("localhost", "127.0.0.1"))
        client = LeafNames(Purpose.CLIENT, uris=(process_uri(CLUSTER, "gate"),))
        asks = LeafNames(Purpose.CLIENT, uris=(process_uri(CLUSTER, "control"),))
        for name, names in (("server", server), ("client", client), ("control", asks)):
            self._write(name, issue(ca, names, validity(now, dt.timedelta(hours=12))))
        self.ca = folder / "ca.crt"
        self.ca.write_bytes(ca.certificate)

    def _write(self, name: str, pair: KeyPair) -> None:
        (self.folder / f"{name}.crt").write_bytes(pair.certificate)
        (self.folder / f"{name}.key").write_bytes(pair.key)

    def channel(self, port: int, name: str) -> AuditorChannel:
        """Return the way to an auditor with a pair's certificate: `client` or `control`."""
        certificate, key = (self.folder / f"{name}.{kind}" for kind in ("crt", "key"))
        return AuditorChannel(f"https://localhost:{port}", self.ca, certificate, key)

    def auditor(self, port: int, ledger: str) -> dict[str, str]:
        """Return the settings of an auditor."""
        return {
            "SALLYPORT_RECEIVE__PORT": str(port),
            "SALLYPORT_RECEIVE__CERT": str(self.folder / "server.crt"),
            "SALLYPORT_RECEIVE__KEY": str(self.folder / "server.key"),
            "SALLYPORT_RECEIVE__CLIENT_CA": str(self.ca),
            "SALLYPORT_LEDGER__URL": ledger,
        }

    def shipping(self, port: int, spool: Path) -> dict[str, str]:
        """Return the settings by which a gate records and ships."""
        return {
            "SALLYPORT_CLUSTER_ID": CLUSTER,
            "SALLYPORT_SPOOL__FOLDER": str(spool),
            "SALLYPORT_SHIPPING__URL": f"https://localhost:{port}",
            "SALLYPORT_SHIPPING__CA": str(self.ca),
            "SALLYPORT_SHIPPING__CERT": str(self.folder / "client.crt"),
            "SALLYPORT_SHIPPING__KEY": str(self.folder / "client.key"),
        }


class Recorded:
    """Both processes; each may be killed and started again, on the same ports and folders."""

    def __init__(self, folder: Path, cluster: Path = ROOT / "examples" / "cluster") -> None:
        """Prepare; nothing is started. `cluster` is a folder of YAML."""
        self.certificates = Certificates(folder)
        self.spool = folder / "spool"
        self.database = folder / "ledger.db"
        self.processes: dict[str, ServerProcess] = {}
        self._folder = folder
        self._cluster = cluster
        self.gate_port, self.auditor_port, *ports = free_ports(4)
        self._status = dict(zip(("gate", "auditor"), ports, strict=True))

    @property
    def url(self) -> str:
        """Where the gate answers reviews."""
        return f"https://127.0.0.1:{self.gate_port}/validate?timeout=10s"

    def start_auditor(self, logs: Path | None = None) -> None:
        """Start the auditor, and wait until it is ready; `logs` is a folder of exported logs."""
        settings = self.certificates.auditor(self.auditor_port, f"sqlite:///{self.database}")
        if logs is not None:
            settings |= {
                "SALLYPORT_CLUSTER_ID": CLUSTER,
                "SALLYPORT_WEIGHTS__FOLDER": str(logs),
                "SALLYPORT_WEIGHTS__POLL_EVERY": "1",
                "SALLYPORT_WEIGHTS__PATIENCE": "0",
            }
        self._start("auditor", [], settings)

    def start_gate(self, settings: Mapping[str, str] | None = None) -> None:
        """Start the gate, and wait until it is ready; `settings` come on top of its own."""
        folder = self.certificates.folder
        flags: list[str | Path] = ["--cluster", self._cluster, "--port", str(self.gate_port)]
        flags += ["--cert", folder / "server.crt", "--key", folder / "server.key"]
        shipping = self.certificates.shipping(self.auditor_port, self.spool)
        drain = {"SALLYPORT_LISTEN__DRAIN_SECONDS": "0"}
        self._start("gate", flags, shipping | drain | dict(settings or {}))

    def kill(self, name: str) -> None:
        """Kill a process by SIGKILL, and wait until it is gone."""
        process = self.processes.pop(name)
        os.kill(process.pid, signal.SIGKILL)
        process.stop()

    def stop(self) -> None:
        """End both, the gate first: it ships what is left."""
        for name in ("gate", "auditor"):
            if process := self.processes.pop(name, None):
                process.stop()

    def metrics_url(self, process: str) -> str:
        """Return where Prometheus reads a process's metrics."""
        return f"http://127.0.0.1:{self._status[process]}/metrics"

    def metric(self, process: str, name: str) -> float:
        """Return one sample of a process's `/metrics`, by its name with labels."""
        _, text = ask(self._status[process], "/metrics")
        return next(
            (float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name)),
            0.0,
        )

    def stored(self) -> set[str]:
        """Return the ids of the decisions in the ledger; each is there once, or this fails."""
        with closing(sqlite3.connect(self.database)) as connection:
            rows = connection.execute("select lower(hex(id)) from decisions").fetchall()
        ids = [row[0] for row in rows]
        assert len(ids) == len(set(ids)), "a decision is stored twice"
        return set(ids)

    def _start(self, name: str, flags: list[str | Path], environment: Mapping[str, str]) -> None:
        process = ServerProcess(
            name,
            [PROGRAM, name, *flags],
            self._folder / f"{name}.log",
            {"SALLYPORT_STATUS__PORT": str(self._status[name]), **environment},
        )
        self.processes[name] = process
        process.wait_until(lambda: is_ready(self._status[name]), START_S)
