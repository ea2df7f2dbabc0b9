"""A real kube-controller-manager beside the tests' kube-apiserver, with a few controllers."""

import http.client
import ssl
from pathlib import Path
from typing import Final

from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerFailedError, ServerProcess
from tests.tools.provide import provide

START_TIMEOUT_S: Final = 60.0
ATTEMPTS: Final = 3


class ControllerManager:
    """A running kube-controller-manager; each controller has its own service account.

    So Pods are created by `system:serviceaccount:kube-system:job-controller` and such, with
    what the ClusterRole `system:controller:job-controller` allows, as on a whole cluster.
    """

    def __init__(self, folder: Path, apiserver: ApiServer, *controllers: str) -> None:
        """Start it with these controllers, such as `job-controller`, and wait until it is ready.

        `folder` must be empty; a log lies there. Names: k8s.io/kubernetes
        cmd/kube-controller-manager/names.

        Raises:
            ServerFailedError: it did not come up; the message has its log's tail.
            tests.tools.provide.CannotProvideError: the program is missing.
        """
        self._folder = folder
        self._apiserver = apiserver
        self._ssl_context = ssl.create_default_context(
            cafile=str(apiserver.authority.certificate_path)
        )
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._start(controllers)
            except ServerFailedError as error:
                # Another program may have taken the port since it was found free.
                if "address already in use" not in str(error) or attempt == ATTEMPTS:
                    raise
            else:
                return

    def log_tail(self) -> str:
        """Return the tail of its log."""
        return self._process.log_tail()

    def stop(self) -> None:
        """End the program; what it made stays."""
        self._process.stop()

    def _start(self, controllers: tuple[str, ...]) -> None:
        (self._port,) = free_ports(1)
        self._process = ServerProcess(
            "kube-controller-manager",
            [provide("kube-controller-manager"), *self._flags(controllers)],
            self._folder / "kube-controller-manager.log",
        )
        try:
            self._process.wait_until(self._ready, START_TIMEOUT_S)
        except ServerFailedError:
            self.stop()
            raise

    def _flags(self, controllers: tuple[str, ...]) -> list[str]:
        serving = self._apiserver.authority.issue_loopback_server("kube-controller-manager")
        return [
            f"--kubeconfig={self._apiserver.kubeconfig()}",
            f"--controllers={','.join(controllers)}",
            "--use-service-account-credentials",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            # The default of 20 requests a second is for clusters that others use too.
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
            # It looks at a new autoscaler only after this time.
            "--horizontal-pod-autoscaler-sync-period=1s",
        ]

    def _ready(self) -> bool:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=5, context=self._ssl_context
        )
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
