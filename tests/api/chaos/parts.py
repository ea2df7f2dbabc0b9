"""What a node does for Sallyport's Pods: Secrets are mounted, and what ends is started again."""

import base64
import http.client
import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.harness.fakes.secret_volume import SecretVolume
from tests.harness.programs.apiserver import ADMIN, ApiServer
from tests.harness.programs.gate import PROGRAM
from tests.harness.programs.helm import NAMESPACE
from tests.harness.programs.process import ServerProcess
from tests.harness.programs.status import ask, is_ready

LOOK_S: Final = 1.0
"""How often it looks. A kubelet starts at once what ended first, and brings Secrets' changes
within two minutes."""


@dataclass
class Part:
    """One process that is to run."""

    name: str
    command: tuple[str | Path, ...]
    folder: Path
    status_port: int
    environment: dict[str, str] = field(default_factory=dict)
    needs: tuple[SecretVolume, ...] = ()
    """It waits in ContainerCreating for these."""
    process: ServerProcess | None = None

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process is not None and self.process.alive

    def ready(self) -> bool:
        """Whether it says that it is ready."""
        return self.alive and is_ready(self.status_port)

    def leads(self) -> bool:
        """Whether it says that it leads."""
        return self.metric("sallyport_leader") == 1

    def metric(self, name: str) -> float:
        """Return the value of a metric without labels; 0 where it is not to be had."""
        with suppress(OSError, http.client.HTTPException):
            for line in ask(self.status_port, "/metrics")[1].splitlines():
                if line.startswith(f"{name} "):
                    return float(line.rpartition(" ")[2])
        return 0.0

    def start(self) -> None:
        """Start it, its log in its folder."""
        settings = {"SALLYPORT_STATUS__PORT": str(self.status_port), **self.environment}
        log = self.folder / f"{self.name}.log"
        self.process = ServerProcess(self.name, [PROGRAM, *self.command], log, settings)

    def log(self) -> str:
        """Return the log of all its processes."""
        path = self.folder / f"{self.name}.log"
        return path.read_text(errors="replace") if path.exists() else ""


class Kubelet:
    """A thread that mounts Secrets and keeps parts running, but for those that are held down."""

    def __init__(self, server: ApiServer) -> None:
        self.held: set[str] = set()
        """Names of what is not started again for now."""
        self.parts: list[Part] = []
        self._server = server
        self._volumes: dict[str, list[SecretVolume]] = {}
        self._others: list[Callable[[], None]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kubelet", daemon=True)

    def mounts(self, secret: str, folder: Path) -> SecretVolume:
        """Bring a Secret's content into a folder from now on, whenever there is one."""
        volume = SecretVolume(folder)
        self._volumes.setdefault(secret, []).append(volume)
        return volume

    def also(self, work: Callable[[], None]) -> None:
        """Do this too at each look."""
        self._others.append(work)

    def start(self) -> None:
        """Begin. What it starts ends with its thread."""
        self._thread.start()

    def stop(self) -> None:
        """End every part."""
        self._over.set()
        self._thread.join(30)
        for part in self.parts:
            if part.process is not None:
                part.process.stop()

    def _run(self) -> None:
        while not self._over.is_set():
            for secret, volumes in list(self._volumes.items()):
                content = self.secret(secret)
                for volume in volumes if content else ():
                    volume.put(content)
            for part in list(self.parts):
                mounted = all((volume / "tls.crt").exists() for volume in part.needs)
                if not part.alive and part.name not in self.held and mounted:
                    part.start()
            for work in list(self._others):
                work()
            self._over.wait(LOOK_S)

    def secret(self, name: str) -> Mapping[str, bytes]:
        """Return a Secret's content; nothing where it is not to be had: then the files stay."""
        status, body = self.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/{name}")
        if status != http.HTTPStatus.OK:
            return {}
        data = json.loads(body).get("data") or {}
        return {key: base64.b64decode(value) for key, value in data.items()}

    def get(self, path: str) -> tuple[int, bytes]:
        """Ask kube-apiserver; the status is 0 where it does not answer."""
        return request(self._server, "GET", path)


def request(
    server: ApiServer, method: str, path: str, body: object = None, timeout_s: float = 5.0
) -> tuple[int, bytes]:
    """Ask kube-apiserver as its administrator; the status is 0 where it does not answer."""
    connection = http.client.HTTPSConnection(
        "127.0.0.1", server.port, timeout=timeout_s, context=server.ssl_context
    )
    patch = "application/merge-patch+json"
    headers = {
        "Authorization": f"Bearer {ADMIN.token}",
        "Content-Type": patch if method == "PATCH" else "application/json",
    }
    try:
        connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def wait_until(true: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait; fail with `what` when it takes longer."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not after {seconds:g} s: {what}"
        time.sleep(0.1)
