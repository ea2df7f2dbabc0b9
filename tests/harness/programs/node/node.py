"""A whole cluster of one node: Pods really run, under runc or under gVisor."""

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import ip_interface
from pathlib import Path
from typing import Final

from tests.harness.programs.apiserver import TEST_USERS, ApiServer, User
from tests.harness.programs.availability import skip_or_fail
from tests.harness.programs.client import ApiStatusError, Client, Json, connect
from tests.harness.programs.cluster_network import ClusterNetwork
from tests.harness.programs.controller_manager import ControllerManager
from tests.harness.programs.node.cgroups import cgroup_root
from tests.harness.programs.node.images import write_images
from tests.harness.programs.node.namespace import ADDRESSES, HIDDEN, NodeNamespace, unable
from tests.harness.programs.node.settings import BRIDGED, write_containerd, write_kubelet
from tests.harness.programs.pki import Authority
from tests.harness.programs.process import POLL_S, ServerFailedError, ServerProcess
from tests.tools.debian import PACKAGES, provide_packages
from tests.tools.provide import CannotProvideError, cache_folder, provide

NAME: Final = "node"
START_TIMEOUT_S: Final = 90.0
CONTROLLERS: Final = ("job-controller", "node-lifecycle-controller")
"""The second one lets Pods onto a node once it is ready."""
_PACKAGES: Final = "node-packages"
BUILT: Final = (
    "etcd kube-apiserver kube-controller-manager kube-scheduler kubelet "
    "containerd containerd-shim-runc-v2 ctr runsc containerd-shim-runsc-v1"
).split()

_KUBELET: Final = User(f"system:node:{NAME}", ("system:nodes",))
_SCHEDULER: Final = User("system:kube-scheduler")


@dataclass(frozen=True)
class NodeShape:
    """In what nodes of tests differ."""

    addresses: tuple[str, ...] = ADDRESSES
    """The node's own, each with its network; of each family at most one."""
    network: tuple[object, ...] = BRIDGED
    """The plugins of its Pods' network (CNI)."""
    apiserver_flags: tuple[str, ...] = ()
    kubelet_flags: tuple[str, ...] = ()
    controllers: tuple[str, ...] = CONTROLLERS
    by_service: bool = False
    """Whether kube-apiserver finds webhooks by the names of Services (`Node.network`), and with
    that no kubelet: logs of Pods cannot be read."""

    @property
    def own_addresses(self) -> str:
        """The addresses by themselves, as a kubelet takes them."""
        return ",".join(str(ip_interface(each).ip) for each in self.addresses)


_PLAIN: Final = NodeShape()


@dataclass(frozen=True)
class NodePrograms:
    """Where the programs of a node are."""

    built: dict[str, Path]
    busybox: Path
    """Linked statically."""
    runc: Path
    plugins: Path
    """The folder of the container network's plugins."""

    def write_path(self, folder: Path) -> str:
        """Make a folder that has by its name all that containerd runs; return a PATH with it."""
        folder.mkdir()
        for name in ("containerd-shim-runc-v2", "containerd-shim-runsc-v1", "runsc"):
            (folder / name).symlink_to(self.built[name])
        (folder / "runc").symlink_to(self.runc)
        return f"{folder}:{os.environ['PATH']}"


def require_node(what: str) -> NodePrograms:
    """Return a node's programs; where there can be no node, skip the test aloud, or fail it in CI.

    `what` names what then is not tested.
    """
    try:
        return _provided()
    except CannotProvideError as error:
        skip_or_fail(CannotProvideError(f"{what}: {error}"))


def _provided() -> NodePrograms:
    """Return the programs, none of them where the node could not see it."""
    problem = unable()
    if problem:
        raise CannotProvideError(problem)
    built = {name: provide(name) for name in BUILT}
    for path in (cache_folder(), Path(tempfile.gettempdir()), *built.values()):
        if any(map(path.is_relative_to, HIDDEN)):
            raise CannotProvideError(
                f"{path} lies where a node has folders of its own: move it out of "
                f"{', '.join(HIDDEN)} (XDG_CACHE_HOME and TMPDIR name such folders)"
            )
    root = provide_packages(_PACKAGES)
    busybox, runc = _program(root, "busybox"), _program(root, "runc")
    return NodePrograms(built, busybox, runc, root / "usr" / "lib" / "cni")


def _program(root: Path, name: str) -> Path:
    """Return a program of unpacked packages; where it lies depends on Debian's release."""
    for folder in ("bin", "sbin", "usr/bin", "usr/sbin"):
        if (root / folder / name).is_file():
            return root / folder / name
    raise CannotProvideError(
        f"{name} is not in Debian's {', '.join(PACKAGES[_PACKAGES])}, below {root}"
    )


class Node:
    """A running cluster of one node. Made by `running_node`."""

    def __init__(
        self,
        folder: Path,
        programs: NodePrograms,
        namespace: NodeNamespace,
        ends: ExitStack,
        shape: NodeShape = _PLAIN,
    ) -> None:
        """Start everything; `ends` ends it.

        Raises:
            ServerFailedError: a part did not come up; with its log's tail.
        """
        self.folder = folder
        self._programs = programs
        self._namespace = namespace
        self._shape = shape
        self._settings = folder / "settings"
        self._settings.mkdir()
        self._ends = ends
        self._processes: list[ServerProcess] = []
        self.network = ClusterNetwork()
        ends.callback(self.network.close)
        containerd = self._start_containerd()
        self.apiserver = self._start_apiserver()
        self._start_scheduler()
        containerd.wait_until(self._containerd_answers, START_TIMEOUT_S)
        self._start_kubelet()
        images = folder / "images.tar"
        write_images(images, programs.busybox)
        self.import_image(images)
        ends.callback(ControllerManager(folder, self.apiserver, *shape.controllers).stop)
        asyncio.run(self._wait_until_ready())

    def log_tail(self) -> str:
        """Return the ends of the logs."""
        tails = [f"--- {each.log}\n{each.log_tail()}" for each in self._processes]
        return "\n".join([*tails, self.apiserver.log_tail()])

    def command(self, *command: str | Path) -> list[str | Path]:
        """Return what runs a command on the node, among its processes."""
        return self._namespace.command(*command)

    def command_in(self, pod: Json, *command: str | Path) -> list[str | Path]:
        """Return what runs a command of the node in the network of a Pod that runs on it."""
        return self.command("nsenter", f"--net=/proc/{self.process_of(pod)}/ns/net", "--", *command)

    def process_of(self, pod: Json) -> str:
        """Return the number, among the node's processes, of the first container's."""
        container = pod["status"]["containerStatuses"][0]["containerID"].rpartition("/")[2]
        listed = self._run_ctr("--namespace=k8s.io", "tasks", "ls").stdout.split()
        return listed[listed.index(container) + 1]

    def import_image(self, archive: Path) -> None:
        """Let Pods run the images of an archive, whose policy for pulling is then `Never`."""
        self._ctr("--namespace=k8s.io", "images", "import", archive)

    def start(
        self, name: str, command: Sequence[str | Path], environment: dict[str, str] | None = None
    ) -> ServerProcess:
        """Start a program that ends with the node; its log is then among the node's."""
        process = ServerProcess(name, command, self.folder / f"{name}.log", environment)
        self._ends.callback(process.stop)
        self._processes.append(process)
        return process

    def _start_containerd(self) -> ServerProcess:
        network = self._shape.network
        settings = write_containerd(self._settings, self._programs.plugins, network)
        return self.start(
            "containerd",
            self._namespace.command(self._programs.built["containerd"], "--config", settings),
            {"PATH": self._programs.write_path(self.folder / "bin")},
        )

    def _containerd_answers(self) -> bool:
        return self._run_ctr("version").returncode == 0

    def _ctr(self, *arguments: str | Path) -> None:
        done = self._run_ctr(*arguments)
        if done.returncode != 0:
            raise ServerFailedError(f"ctr {' '.join(map(str, arguments))}: {done.stderr}")

    def _run_ctr(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = self._namespace.command(self._programs.built["ctr"], *arguments)
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def _start_apiserver(self) -> ApiServer:
        clients = self.folder / "clients"
        clients.mkdir()
        self._clients = Authority(clients)
        pair = self._clients.issue_client("kube-apiserver", "urn:sallyport:kube-apiserver")
        flags = (
            "--authorization-mode=Node",  # Beside RBAC.
            "--enable-admission-plugins=NodeRestriction",
            f"--kubelet-client-certificate={pair.certificate}",
            f"--kubelet-client-key={pair.key}",
            "--kubelet-preferred-address-types=InternalIP",
            *self._shape.apiserver_flags,
        )
        folder = self.folder / "apiserver"
        folder.mkdir()
        users = (*TEST_USERS, _KUBELET, _SCHEDULER)
        environment = self.network.environment if self._shape.by_service else {}
        server = ApiServer(folder, users, environment, flags)
        self._ends.callback(server.stop)
        return server

    def _start_scheduler(self) -> None:
        kubeconfig = self.apiserver.kubeconfig(_SCHEDULER.name)
        flags = [f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--bind-address=127.0.0.1"]
        self.start("kube-scheduler", [self._programs.built["kube-scheduler"], *flags])

    def _start_kubelet(self) -> None:
        settings = write_kubelet(self._settings, self._clients.certificate_path)
        flags = [
            f"--config={settings}",
            f"--kubeconfig={self.apiserver.kubeconfig(_KUBELET.name)}",
            f"--hostname-override={NAME}",
            f"--node-ip={self._shape.own_addresses}",
            *self._shape.kubelet_flags,
        ]
        command = self._namespace.command(self._programs.built["kubelet"], *flags)
        self._kubelet = self.start("kubelet", command)
        # It is to end before kube-apiserver, which waits for those who watch.
        self._ends.callback(self._namespace.end)

    async def _wait_until_ready(self) -> None:
        """Return once Pods may come onto the node."""
        deadline = time.monotonic() + START_TIMEOUT_S
        async with connect(self.apiserver) as client:
            while not await _takes_pods(client):
                if not self._kubelet.alive or time.monotonic() > deadline:
                    raise ServerFailedError(f"the node is not ready:\n{self.log_tail()}")
                await asyncio.sleep(POLL_S)


@contextmanager
def running_node(folder: Path, programs: NodePrograms, shape: NodeShape = _PLAIN) -> Iterator[Node]:
    """Run a node, its logs in `folder`, and be in its network while the context lasts.

    So whatever this thread starts or connects to then is inside: 127.0.0.1 is the node's. What ran
    on it is gone at the end. Hold `only_node` meanwhile.
    """
    with cgroup_root(), ExitStack() as ends:
        namespace = NodeNamespace(folder, programs.busybox, shape.addresses)
        ends.callback(namespace.end)
        with namespace.network():
            yield Node(folder, programs, namespace, ends, shape)


async def _takes_pods(client: Client) -> bool:
    try:
        node = await client.get("v1", "Node", NAME)
    except ApiStatusError:
        return False
    conditions = {each["type"]: each["status"] for each in node["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and not node["spec"].get("taints")
