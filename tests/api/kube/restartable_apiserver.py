"""A kube-apiserver of a test's own that can be stopped and started over the same etcd."""

from pathlib import Path

from tests.harness.programs.apiserver import START_TIMEOUT_S, ApiServer
from tests.harness.programs.process import ServerProcess


class RestartableServer(ApiServer):
    """As ApiServer; etcd stays while kube-apiserver is away."""

    def __init__(self, folder: Path) -> None:
        """Start both."""
        super().__init__(folder)
        command = self._kube_apiserver._process.args  # noqa: SLF001 -- kept nowhere else
        assert isinstance(command, list)
        self._command = command

    def stop_kube_apiserver(self) -> None:
        """End kube-apiserver alone."""
        self._kube_apiserver.stop()

    def start_kube_apiserver(self) -> None:
        """Start it again on the same port; returns once it is ready."""
        log = self.folder / "kube-apiserver.log"
        self._kube_apiserver = ServerProcess("kube-apiserver", self._command, log)
        self._kube_apiserver.wait_until(self._ready, START_TIMEOUT_S)
