"""`sallyport verify`: asks a cluster, by dry runs, whether what arrives is judged.

Nothing is written, and no image is pulled.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import msgspec

from app.settings.root import Settings
from app.wiring import modes_of
from cli import exits
from cli.shared.modes import read_modes
from cli.verify.answers import Step, StepOutcome, judged_workload, refused_marks, refused_pod
from cli.verify.port import try_port
from cli.verify.proof import note_proof
from cli.verify.registration_check import NAME as REGISTERED
from cli.verify.registration_check import check_registered
from core.base import names
from core.base.errors import ClusterError, SettingsError
from core.decision.namespaces import Mode, Namespace
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.resources.namespaces import parse_namespace

FORMAT: Final = 1

_TIMEOUT_S: Final = 35.0
"""The longest that webhooks may take (30 s), and a little."""
_DEADLINE_S: Final = 90.0
"""For all of it: `helm test` ends after 120 s, and must say why."""
_HANGS: Final = f"kube-apiserver did not answer all of it within {_DEADLINE_S:.0f} s"
_LOOK: Final = (
    "look at what the steps above say of the gate, and whether etcd is well: kubectl get --raw "
    "'/readyz?verbose'"
)
_DRY: Final = {"dryRun": "All"}

_IMAGE: Final = "sallyport.invalid/verify"
"""A name that no registry has (RFC 6761)."""
_UNTRIED: Final = (
    "whether a tenant's Pod reaches the gate's port was not tried: name one with --from"
)
_LABELS: Final = {"app": "sallyport-verify"}

MARKS: Final = {"metadata": {"labels": {names.MODE_LABEL: "verify"}}}
"""A mark that no namespace has: setting it takes the right to exempt, whatever is there now."""


def deployment(namespace: str) -> dict[str, Any]:
    """Return one that needs nothing: whoever may run anything may run it."""
    container = {
        "name": "verify",
        "image": _IMAGE,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "resources": {
            "requests": {"cpu": "10m", "memory": "16Mi"},
            "limits": {"cpu": "10m", "memory": "16Mi"},
        },
    }
    spec = {
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "sallyport-verify", "namespace": namespace},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": _LABELS},
            "template": {"metadata": {"labels": _LABELS}, "spec": spec},
        },
    }


def pod(namespace: str) -> dict[str, Any]:
    """Return one that nobody may run.

    It asks its runtime for the node's network (rules/runtime).
    """
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "sallyport-verify",
            "namespace": namespace,
            "annotations": {"dev.gvisor.flag.network": "host"},
        },
        "spec": {
            "containers": [
                {"name": "verify", "image": _IMAGE, "securityContext": {"privileged": True}}
            ]
        },
    }


class ClusterVerification(msgspec.Struct, frozen=True, rename="camel"):
    """`sallyport verify -o json` (docs/reference/verify.schema.json)."""

    format: int
    namespace: str
    mode: str
    """Of that namespace."""
    steps: list[Step]
    notes: list[str]
    """What could not be read, and what was taken instead; what an operator has still to set."""


async def verify(
    settings: Settings,
    namespace: str,
    *,
    by_settings: bool = False,
    from_pod: tuple[str, str] | None = None,
) -> ClusterVerification:
    """Ask the cluster. Nothing is written: every request that could is a dry run.

    `by_settings`: which mode holds is said by `settings`, and the cluster is not asked for it.
    `from_pod`: namespace and name of a Pod from which the gate's port is tried.

    Raises:
        SettingsError: a folder stands in for the cluster, or there is no such namespace.
        ClusterError: kube-apiserver does not answer, or not all of it in time.
    """
    if settings.cluster is not None:
        raise SettingsError("a folder judges nothing: give --kubeconfig FILE")
    connection = Connection(settings.kubeconfig)
    await connection.open()
    asked = _Asked(settings, connection, namespace)
    try:
        async with asyncio.timeout(_DEADLINE_S):
            await _ask(asked, by_settings=by_settings, from_pod=from_pod)
    except TimeoutError:
        if asked.mode is None:
            raise ClusterError(_HANGS) from None
        asked.steps.append(Step(asked.waits_for, StepOutcome.UNKNOWN, _HANGS, _LOOK))
    finally:
        await connection.close()
    return ClusterVerification(
        FORMAT, namespace, asked.mode.value if asked.mode else "", asked.steps, asked.notes
    )


@dataclass
class _Asked:
    """What is asked of a cluster, and what came back so far."""

    settings: Settings
    connection: Connection
    namespace: str
    mode: Mode | None = None
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    waits_for: str = ""
    """The step that is under way."""

    async def take(self, name: str, step: Awaitable[Step]) -> None:
        """Wait for a step."""
        self.waits_for = name
        self.steps.append(await step)


async def _ask(asked: _Asked, *, by_settings: bool, from_pod: tuple[str, str] | None) -> None:
    settings, connection, namespace = asked.settings, asked.connection, asked.namespace
    if by_settings:
        modes = modes_of(settings.rollout, settings.default_mode)
    else:
        modes, notes = await read_modes(Objects(connection, _TIMEOUT_S), settings)
        asked.notes += [*notes, *await note_proof(settings, connection)]
    mode = asked.mode = modes.of(await _namespace(connection, namespace))
    objects = Objects(connection, _TIMEOUT_S)
    await asked.take(REGISTERED, check_registered(objects, settings.namespace))
    await asked.take("judged", _judged(connection, namespace))
    await asked.take("refused", _refused(connection, namespace, mode))
    await asked.take("guarded", _guarded(connection, namespace))
    if from_pod is None:
        asked.notes.append(_UNTRIED)
    else:
        await asked.take("port", try_port(settings, connection, *from_pod))


async def _namespace(connection: Connection, namespace: str) -> Namespace:
    path = f"/api/v1/namespaces/{namespace}"
    try:
        return parse_namespace(await connection.get(path, _TIMEOUT_S, {}))
    except ClusterError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        raise SettingsError(f"there is no namespace {namespace}: name one that is judged") from None


async def _judged(connection: Connection, namespace: str) -> Step:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    status, answer = await _dry_run(connection, "POST", path, deployment(namespace))
    return judged_workload(status, answer)


async def _refused(connection: Connection, namespace: str, mode: Mode) -> Step:
    path = f"/api/v1/namespaces/{namespace}/pods"
    status, answer = await _dry_run(connection, "POST", path, pod(namespace))
    return refused_pod(status, answer, mode)


async def _guarded(connection: Connection, namespace: str) -> Step:
    path = f"/api/v1/namespaces/{namespace}"
    status, answer = await _dry_run(connection, "PATCH", path, MARKS)
    may = status == 0 and await _may_exempt(connection, namespace)
    return refused_marks(status, answer, may_exempt=may)


async def _dry_run(
    connection: Connection, method: str, path: str, body: object
) -> tuple[int, dict[str, Any]]:
    """Return the failure's HTTP status and text as `message`; 0 and the object where it is taken.

    Raises:
        ClusterError: kube-apiserver gave no answer.
    """
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    try:
        taken = await connection.send(
            method, path, _TIMEOUT_S, body=body, parameters=_DRY, content_type=kind
        )
    except ClusterError as error:
        if not error.status:
            raise
        return error.status, {"message": str(error)}
    return 0, msgspec.json.decode(taken)


async def _may_exempt(connection: Connection, namespace: str) -> bool:
    attributes = {
        "verb": "exempt",
        "group": names.GROUP,
        "resource": "namespaces",
        "name": namespace,
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = msgspec.json.decode(await connection.post(path, _TIMEOUT_S, body))
    return bool(answer["status"]["allowed"])


def exit_code(verified: ClusterVerification) -> int:
    """Return the exit code: whether something is broken, or else not known."""
    found = {step.standing for step in verified.steps}
    if StepOutcome.BROKEN in found:
        return exits.REFUSED
    return exits.NOT_JUDGED if StepOutcome.UNKNOWN in found else exits.ADMITTED
