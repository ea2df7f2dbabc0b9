"""The gate as a process of its own, as it is run in a cluster."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.harness.programs.pki import WEBHOOK_CLIENT, Authority
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerProcess
from tests.harness.programs.status import ask, is_ready

START_TIMEOUT_S: Final = 120.0
PROGRAM: Final = Path(sys.executable).parent / "sallyport"


def _known(client_ca: str) -> dict[str, str]:
    """Return the settings by which kube-apiserver alone is answered."""
    return {
        "SALLYPORT_LISTEN__CLIENT_CA": client_ca,
        "SALLYPORT_LISTEN__CLIENT_NAMES": json.dumps([WEBHOOK_CLIENT]),
    }


class Gate:
    """A running `sallyport gate` beside an ApiServer."""

    def __init__(  # noqa: PLR0913 (each is one thing that a test varies)
        self,
        folder: Path,
        authority: Authority,
        kubeconfig: Path,
        environment: Mapping[str, str] | None = None,
        *,
        port: int | None = None,
        wait: bool = True,
        strangers: bool = False,
    ) -> None:
        """Start it, its log in `folder`, and (unless told not to) wait until it is ready.

        `environment` holds further settings (`SALLYPORT_…`); `port` is the webhooks', any that
        is free without it. It answers who has a certificate of the authority, as kube-apiserver
        shows one; with `strangers` everyone, as on AKS.

        Raises:
            ServerFailedError: with the tail of its log.
        """
        free, self._status_port = free_ports(2)
        self.port = port or free
        pair = authority.issue_loopback_server("gate")
        client_ca = str(authority.certificate_path)
        self._process = ServerProcess(
            "gate",
            [PROGRAM, "gate", "--kubeconfig", kubeconfig],
            folder / "gate.log",
            {
                "SALLYPORT_LISTEN__PORT": str(self.port),
                "SALLYPORT_LISTEN__CERT": str(pair.certificate),
                "SALLYPORT_LISTEN__KEY": str(pair.key),
                "SALLYPORT_LISTEN__DRAIN_SECONDS": "0",
                "SALLYPORT_STATUS__PORT": str(self._status_port),
                **({} if strangers else _known(client_ca)),
                **(environment or {}),
            },
        )
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until it answers; where it does not, end it.

        Raises:
            ServerFailedError: with the tail of its log.
        """
        try:
            self._process.wait_until(self.ready, START_TIMEOUT_S)
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @property
    def url(self) -> str:
        """Where kube-apiserver reaches the webhooks."""
        return f"https://127.0.0.1:{self.port}"

    def status(self, path: str) -> tuple[int, str]:
        """Return code and body of `/livez`, `/readyz` or `/metrics`."""
        return ask(self._status_port, path)

    def ready(self) -> bool:
        """Whether it says that it is ready."""
        return is_ready(self._status_port)

    def log_tail(self) -> str:
        """Return the last lines of its log."""
        return self._process.log_tail()

    def stop(self) -> None:
        """End it by SIGTERM, without waiting for endpoints to be taken out."""
        self._process.stop()
