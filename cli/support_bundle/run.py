"""Reads what a support bundle holds; what cannot be read is named, and the rest is kept."""

import asyncio
import datetime as dt
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Final

import msgspec

from app.settings.root import Settings
from cli.shared.cluster_status.processes import SELECTOR, status_port
from cli.shared.cluster_status.questions import StatusQuestions
from cli.shared.cluster_status.registrations import BACKSTOP, GUARDS, WEBHOOKS
from cli.shared.cluster_status.run import read_installation
from cli.support_bundle.archive import (
    MANIFEST,
    BundleManifest,
    LeftOut,
    build_archive,
    bundled_file,
)
from cli.support_bundle.log_lines import redacted_log
from cli.support_bundle.redaction import Redactor
from core.base.errors import ClusterError, SallyportError, SettingsError
from core.base.times import time_text
from egress.analysis.network_doctor import examine
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.egress.network_facts import read_network_facts
from kube.resources.paths import ADMISSION_PATH

DEADLINE_S: Final = 120.0
"""After so many seconds what is not read is left out."""
MOST_LINES: Final = 5000
"""Of each container's log: the last ones."""
_MOST_BYTES: Final = 4 * 1024 * 1024
_AT_ONCE: Final = 4
"""Questions: a cluster in trouble is not asked more at a time."""
_PROCESSES: Final = ("gate", "control", "auditor")

NEVER: Final = (
    "Secrets, and anything of them: none is read",
    "values of environment variables of containers",
    "annotations but for those of Helm, of rollouts and of the settings' checksum",
    "ConfigMaps but for the settings of the three processes; of these no field whose name or value "
    "looks like a secret, and of URLs no path",
    "logs and objects of other namespaces",
    "the ledger and the spools; of documents that a process wrote to its log (record.lines) all "
    "but ids, verdicts and rules",
)

_LISTS: Final[Mapping[str, str]] = {
    "deployments": "/apis/apps/v1/namespaces/{}/deployments",
    "statefulsets": "/apis/apps/v1/namespaces/{}/statefulsets",
    "pods": "/api/v1/namespaces/{}/pods",
    "services": "/api/v1/namespaces/{}/services",
    "networkpolicies": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "poddisruptionbudgets": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
}


class _BoundSubject(msgspec.Struct):
    kind: str = ""
    name: str = ""


class _Binding(msgspec.Struct):
    subjects: list[_BoundSubject] | None = None


@dataclass
class _Collected:
    """Files by path, what each is, and what could not be read."""

    redactor: Redactor
    files: dict[str, bytes] = field(default_factory=dict)
    whats: dict[str, str] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)

    def add(self, path: str, what: str, content: str) -> None:
        """Keep a text, which must be redacted already."""
        self.files[path] = content.encode()
        self.whats[path] = what

    def add_json(self, path: str, what: str, value: Any) -> None:
        """Keep a document, which must be redacted already."""
        self.files[path] = msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2)
        self.whats[path] = what


@dataclass(frozen=True)
class SupportBundle:
    """A bundle, packed."""

    content: bytes
    manifest: BundleManifest


async def make_bundle(
    settings: Settings, since_s: float, clock: Callable[[], dt.datetime]
) -> SupportBundle:
    """Read a cluster and pack what was found; `since_s` is how far logs and Events go back.

    Raises:
        SettingsError: no cluster is named, or its credentials are missing or broken.
    """
    if settings.cluster is not None:
        raise SettingsError("a folder has no processes to ask: give --kubeconfig FILE")
    now = clock()
    connection = Connection(settings.kubeconfig)
    await connection.open()
    try:
        reader = _Reader(connection, settings, now, since_s)
        await reader.read()
    finally:
        await connection.close()
    return _pack(reader.collected, settings, now, since_s)


def _pack(
    collected: _Collected, settings: Settings, now: dt.datetime, since_s: float
) -> SupportBundle:
    seconds = int(now.timestamp())
    files = dict(collected.files)
    manifest = BundleManifest(
        made=time_text(seconds),
        sallyport=version("sallyport"),
        namespace=settings.namespace,
        since=time_text(seconds - since_s),
        files=[bundled_file(path, collected.whats[path], files[path]) for path in sorted(files)],
        left_out=sorted(collected.left_out, key=lambda each: each.what),
        never=list(NEVER),
        redacted={each: collected.redactor.taken[each] for each in ("secrets", "names")},
    )
    encoded = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    return SupportBundle(build_archive({**files, MANIFEST: encoded}, seconds), manifest)


class _Reader:
    """Asks one cluster for all that a bundle holds."""

    def __init__(
        self, connection: Connection, settings: Settings, now: dt.datetime, since_s: float
    ) -> None:
        self._connection = connection
        self._questions = StatusQuestions(connection)
        self._settings = settings
        self._namespace = settings.namespace
        self._since = now - dt.timedelta(seconds=since_s)
        self._since_s = since_s
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self.collected = _Collected(Redactor())

    async def read(self) -> None:
        """Read all of it; names of people first, so that no text is kept before they are known."""
        try:
            async with asyncio.timeout(DEADLINE_S):
                self.collected.redactor = Redactor(await self._people())
                await self._read_rest()
        except TimeoutError:
            self._leave_out("all that came after it", f"no answer within {DEADLINE_S:.0f} s")

    async def _read_rest(self) -> None:
        pods: list[dict[str, Any]] = []

        async def objects(kind: str, path: str) -> None:
            raws = await self._questions.list(path.format(self._namespace), selector=SELECTOR)
            bodies = [msgspec.json.decode(each) for each in raws]
            pods.extend(bodies if kind == "pods" else [])
            for body in bodies:
                self._keep_object(kind, body)

        await asyncio.gather(
            self._part("status.json", self._status()),
            self._part("versions.json", self._versions()),
            self._part("events.json", self._events()),
            self._part("egress-doctor.json", self._doctor()),
            *(self._part(kind, objects(kind, path)) for kind, path in _LISTS.items()),
            *(self._part(f"configmaps/{name}", self._settings_of(name)) for name in _PROCESSES),
            *(self._part(path, self._registration(path)) for path in _registrations()),
        )
        await asyncio.gather(*(self._read_pod(pod) for pod in pods))

    async def _read_pod(self, pod: Mapping[str, Any]) -> None:
        try:
            name, containers, again = _containers(pod)
        except (LookupError, TypeError, AttributeError) as error:
            self._leave_out("logs and pages of a Pod", _unreadable(error))
            return
        await asyncio.gather(
            *(self._part(f"log of {name}/{each}", self._log(name, each)) for each in containers),
            *(
                self._part(f"log of {name}/{each} before", self._log(name, each, previous=True))
                for each in containers
                if each in again
            ),
            *(
                self._part(f"/{page} of {name}", self._page(name, page, pod))
                for page in ("metrics", "readyz")
            ),
        )

    async def _part(self, what: str, asked: Coroutine[Any, Any, None]) -> None:
        try:
            async with self._turn:
                await asked
        except SallyportError as error:
            self._leave_out(what, str(error))
        except asyncio.CancelledError:
            self._leave_out(what, f"no answer within {DEADLINE_S:.0f} s")
            raise
        except Exception as error:  # noqa: BLE001 -- whatever it is, the rest is written
            self._leave_out(what, _unreadable(error))
        finally:
            asked.close()

    def _leave_out(self, what: str, why: str) -> None:
        self.collected.left_out.append(LeftOut(what, self.collected.redactor.text(why)))

    async def _people(self) -> set[str]:
        """Return user names of the cluster's bindings, and of whoever asks."""
        names: set[str] = set()
        try:
            body = await self._connection.post(
                "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                10.0,
                {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
            )
            names.add(str(msgspec.json.decode(body)["status"]["userInfo"].get("username", "")))
        except ClusterError as error:
            self._leave_out("the name of whoever asks", str(error))
        except (msgspec.DecodeError, LookupError, TypeError, AttributeError) as error:
            self._leave_out("the name of whoever asks", _unreadable(error))
        for kind in ("clusterrolebindings", "rolebindings"):
            try:
                raws = await self._questions.list(f"/apis/rbac.authorization.k8s.io/v1/{kind}")
                bindings = [msgspec.json.decode(each, type=_Binding) for each in raws]
            except (ClusterError, msgspec.DecodeError) as error:
                said = str(error) if isinstance(error, ClusterError) else _unreadable(error)
                why = f"{said}; only what looks like a name was replaced"
                self._leave_out(f"names of people in {kind}", why)
                continue
            for binding in bindings:
                names |= {each.name for each in binding.subjects or [] if each.kind == "User"}
        return names

    async def _status(self) -> None:
        found = await read_installation(self._settings)
        document = self.collected.redactor.document(msgspec.to_builtins(found))
        self.collected.add_json("status.json", "sallyport status -o json", document)

    async def _versions(self) -> None:
        kubernetes = await self._questions.get("/version")
        if kubernetes is None:
            raise ClusterError("GET /version: 404")
        document = {"sallyport": version("sallyport"), "kubernetes": kubernetes}
        self.collected.add_json("versions.json", "of this command and of Kubernetes", document)

    async def _events(self) -> None:
        raws = await self._questions.list(f"/api/v1/namespaces/{self._namespace}/events")
        since = time_text(self._since.timestamp())
        shown = [
            self.collected.redactor.document(_event(body))
            for body in map(msgspec.json.decode, raws)
            if _event_time(body) >= since
        ]
        shown.sort(key=lambda each: (each["last"], each["object"], each["reason"]))
        self.collected.add_json("events.json", "Events of the namespace", shown)

    async def _doctor(self) -> None:
        facts = await read_network_facts(Objects(self._connection, 10.0))
        document = self.collected.redactor.document(msgspec.to_builtins(examine(facts)))
        self.collected.add_json("egress-doctor.json", "sallyport egress doctor -o json", document)

    async def _settings_of(self, process: str) -> None:
        name = f"sallyport-{process}"
        body = await self._questions.get(f"/api/v1/namespaces/{self._namespace}/configmaps/{name}")
        if body is None:
            raise ClusterError("it is not there")
        self.collected.add_json(
            f"objects/configmaps/{name}.json",
            f"settings of {process}",
            self.collected.redactor.settings(body),
        )

    async def _registration(self, path: str) -> None:
        kind = path.partition("/")[0]
        body = await self._questions.get(f"{ADMISSION_PATH}/{path}")
        if body is None:
            raise ClusterError("it is not there")
        self._keep_object(kind, body)

    def _keep_object(self, kind: str, body: Mapping[str, Any]) -> None:
        name = body["metadata"]["name"]
        path = f"objects/{kind}/{name}.json"
        self.collected.add_json(path, f"object of {kind}", self.collected.redactor.object(body))

    async def _log(self, pod: str, container: str, *, previous: bool = False) -> None:
        parameters = {
            "container": container,
            "tailLines": str(MOST_LINES),
            "limitBytes": str(_MOST_BYTES),
            "timestamps": "true",
        } | ({"previous": "true"} if previous else {"sinceSeconds": str(int(self._since_s))})
        path = f"/api/v1/namespaces/{self._namespace}/pods/{pod}/log"
        text = await self._questions.text(path, parameters)
        before = ".before" if previous else ""
        self.collected.add(
            f"logs/{pod}/{container}{before}.log",
            "last lines of a container" + (" before it began again" if previous else ""),
            redacted_log(self.collected.redactor, text),
        )

    async def _page(self, pod: str, page: str, body: Mapping[str, Any]) -> None:
        port = status_port(body)
        if port is None:
            raise ClusterError("the Pod has no port `status`")
        query = f"{page}?verbose" if page == "readyz" else page
        _, text = await self._questions.ask_process(self._namespace, pod, port, query)
        self.collected.add(
            f"{page}/{pod}.txt", f"/{page} of a process", self.collected.redactor.text(text)
        )


def _registrations() -> list[str]:
    paths = [
        f"{kind}/{name}" for kind in WEBHOOKS for name in ("sallyport", "sallyport-discovered")
    ]
    paths.append("validatingwebhookconfigurations/sallyport-probe")
    for kind in ("validatingadmissionpolicies", "validatingadmissionpolicybindings"):
        paths += [f"{kind}/{name}" for name in (*GUARDS, BACKSTOP)]
    return paths


def _containers(pod: Mapping[str, Any]) -> tuple[str, list[str], set[str]]:
    """Return the name of a Pod, those of its containers, and of those that began again."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    again = {each["name"] for each in statuses if each.get("restartCount")}
    containers = [each["name"] for each in pod["spec"].get("containers", [])]
    return pod["metadata"]["name"], containers, again


def _unreadable(error: Exception) -> str:
    """Return what is said of it: the kind alone, since its text may hold what was read."""
    return f"it cannot be read: {type(error).__name__}"


def _event_time(body: Mapping[str, Any]) -> str:
    times = (
        body.get("lastTimestamp"),
        body.get("eventTime"),
        body["metadata"]["creationTimestamp"],
    )
    return next(str(each) for each in times if each)


def _event(body: Mapping[str, Any]) -> dict[str, Any]:
    involved = body.get("involvedObject") or {}
    return {
        "type": body.get("type", ""),
        "reason": body.get("reason", ""),
        "object": f"{involved.get('kind', '')}/{involved.get('name', '')}",
        "count": body.get("count") or 1,
        "first": str(body.get("firstTimestamp") or _event_time(body)),
        "last": _event_time(body),
        "component": body.get("reportingComponent", ""),
        "message": body.get("message", ""),
    }
