"""A real etcd and kube-apiserver on loopback, with RBAC and Pod Security in force."""

import http.client
import json
import secrets
import shutil
import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from core.base.whole_files import write_whole
from tests.harness.programs.availability import require
from tests.harness.programs.pki import WEBHOOK_CLIENT, Authority, KeyPair, new_key, write_key
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerFailedError, ServerProcess
from tests.tools.provide import provide

START_TIMEOUT_S: Final = 120.0
ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class User:
    """Someone whom kube-apiserver knows by a token. `system:authenticated` is implied."""

    name: str
    groups: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)


ADMIN: Final = User("admin", ("system:masters",))
TEST_USERS: Final = (
    User("alice", ("researchers",)),
    User("bob", ("researchers",)),
    User("gate"),
)
"""Users without any right of their own. Anyone else: `Client.as_user` (impersonation)."""


class ApiServer:
    """A running etcd and kube-apiserver, and what is needed to talk to them.

    All admission plugins that Kubernetes enables by default are enabled: PodSecurity, so
    that `pod-security.kubernetes.io/enforce` on a namespace works, and ServiceAccount, for
    which `Client.create_namespace` makes the `default` service account that a controller
    would make on a whole cluster. No controller runs: the ClusterRoles `admin`, `edit` and
    `view`, which one fills, are empty (bind `system:aggregate-to-view` and such instead), and
    what is deleted leaves its dependents behind. To webhooks it shows a certificate, as a cluster
    can whose kube-apiserver reads an AdmissionConfiguration.
    """

    def __init__(
        self,
        folder: Path,
        users: Iterable[User] = TEST_USERS,
        environment: Mapping[str, str] | None = None,
        flags: Iterable[str] = (),
        *,
        program: str = "kube-apiserver",
    ) -> None:
        """Start both in `folder`, which must be empty, and wait until they are ready.

        `environment` and `flags` are added to kube-apiserver's own; `program` is another minor's.

        Raises:
            ServerFailedError: one did not come up; the message has its log's tail.
            tests.tools.provide.CannotProvideError: a program is missing.
        """
        self.folder = folder
        self.authority = Authority(folder)
        self._environment = dict(environment or {})
        self._flags = tuple(flags)
        self._program = program
        self._users = {user.name: user for user in (ADMIN, *users)}
        self._serving = self.authority.issue_loopback_server("kube-apiserver")
        self.webhook_client = self.authority.issue_client(
            WEBHOOK_CLIENT, "spiffe://cluster/apiserver"
        )
        self._write_inputs()
        self.ssl_context = ssl.create_default_context(cafile=str(self.authority.certificate_path))
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._start()
            except ServerFailedError as error:
                # Another program may have taken a port since it was found free.
                if "address already in use" not in str(error) or attempt == ATTEMPTS:
                    raise
            else:
                return

    @property
    def url(self) -> str:
        """The server's URL."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def etcd_pid(self) -> int:
        """The process of etcd, for who stops it for a while."""
        return self._etcd.pid

    def user(self, name: str = ADMIN.name) -> User:
        """Return a user that the server was started with."""
        return self._users[name]

    def kubeconfig(self, name: str = ADMIN.name) -> Path:
        """Write a kubeconfig file for a user and return its path."""
        return self.kubeconfig_for_token(name, self.user(name).token)

    def kubeconfig_for_token(self, name: str, token: str) -> Path:
        """Write a kubeconfig file for a bearer token, such as a service account's."""
        path = self.folder / f"{name}.kubeconfig"
        cluster = {
            "server": self.url,
            "certificate-authority": str(self.authority.certificate_path),
        }
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
            "current-context": "test",
        }
        write_whole(path, json.dumps(content).encode(), mode=0o600)  # JSON is YAML
        return path

    def version(self) -> str:
        """Return the server's version, such as `v1.36.3`."""
        status, body = self._get("/version")
        if status != http.HTTPStatus.OK:
            raise ServerFailedError(f"{self.url}/version answered {status}: {body!r}")
        return str(json.loads(body)["gitVersion"])

    def log_tail(self) -> str:
        """Return the tails of both logs."""
        both = (self._etcd, self._kube_apiserver)
        return "\n".join(f"--- {each.log}\n{each.log_tail()}" for each in both)

    def stop(self) -> None:
        """End both programs. Their logs stay; etcd's data goes."""
        self._kube_apiserver.stop()
        self._etcd.stop()
        shutil.rmtree(self.folder / "etcd", ignore_errors=True)

    def _write_inputs(self) -> None:
        self._service_account_key = write_key(self.folder / "service-accounts.key", new_key())
        self._tokens = self.folder / "tokens.csv"
        self._tokens.touch(mode=0o600)
        rows = (
            f'{user.token},{user.name},{user.name},"{",".join(user.groups)}"\n'
            for user in self._users.values()
        )
        self._tokens.write_text("".join(rows))
        self._admission = write_admission_configuration(self.folder, self.webhook_client)

    def _start(self) -> None:
        etcd_port, peer_port, self.port = free_ports(3)
        self.etcd_url = f"http://127.0.0.1:{etcd_port}"
        shutil.rmtree(self.folder / "etcd", ignore_errors=True)
        self._etcd = ServerProcess(
            "etcd",
            [provide("etcd"), *self._etcd_flags(etcd_port, peer_port)],
            self.folder / "etcd.log",
        )
        # Both at once: kube-apiserver waits for etcd by itself.
        self._kube_apiserver = ServerProcess(
            "kube-apiserver",
            [provide(self._program), *self._kube_apiserver_flags(etcd_port), *self._flags],
            self.folder / "kube-apiserver.log",
            self._environment,
        )
        try:
            self._kube_apiserver.wait_until(self._ready, START_TIMEOUT_S)
        except ServerFailedError as error:
            self.stop()
            raise ServerFailedError(f"{error}\n{self._etcd.log_tail()}") from None

    def _etcd_flags(self, client_port: int, peer_port: int) -> list[str]:
        client, peer = (f"http://127.0.0.1:{port}" for port in (client_port, peer_port))
        return [
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _kube_apiserver_flags(self, etcd_port: int) -> list[str]:
        return [
            f"--etcd-servers=http://127.0.0.1:{etcd_port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self._serving.certificate}",
            f"--tls-private-key-file={self._serving.key}",
            f"--token-auth-file={self._tokens}",
            f"--admission-control-config-file={self._admission}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._service_account_key}",
            f"--service-account-signing-key-file={self._service_account_key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none",
            "--allow-privileged",
            # No limit on requests: thousands of dry runs are asked for at once.
            "--enable-priority-and-fairness=false",
            "--max-requests-inflight=0",
            "--max-mutating-requests-inflight=0",
        ]

    def _ready(self) -> bool:
        with suppress(OSError, http.client.HTTPException):
            return self._get("/readyz")[0] == http.HTTPStatus.OK
        return False

    def _get(self, path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPSConnection(
            "127.0.0.1",
            self.port,
            timeout=5,
            context=self.ssl_context,
        )
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {ADMIN.token}"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


def write_admission_configuration(folder: Path, shown: KeyPair, at: str = "*") -> Path:
    """Write which certificate kube-apiserver shows to webhooks at `host:port`, or to all.

    docs/operate/certificates.md has the same for an operator's cluster.
    """
    user = {"client-certificate": str(shown.certificate), "client-key": str(shown.key)}
    users = [{"name": at, "user": user}]
    kubeconfig = folder / "admission.kubeconfig"
    kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "users": users}))
    plugin = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(kubeconfig),
    }
    names = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
    content = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": name, "configuration": plugin} for name in names],
    }
    file = folder / "admission.yaml"
    file.write_text(json.dumps(content))
    return file


@contextmanager
def own_apiserver(
    folder: Path, environment: Mapping[str, str] | None = None
) -> Iterator[ApiServer]:
    """Start it, its files in `folder`; skip the tests that want it where it cannot be had."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    server = ApiServer(folder, environment=environment)
    try:
        yield server
    finally:
        server.stop()
