"""Reviews as kube-apiserver sends them, answered by a gate in this process, and its record."""

import base64
import json
import logging
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import structlog

from app.settings.root import Settings
from app.wiring import make_engine, make_judge
from audit.ledger.records.frames import Frame
from audit.ledger.records.recorder import LedgerRecorder
from audit.ledger.store.store import Store
from core.cluster import Cluster
from tests.harness.oracles.json_patch import apply_patch
from tests.unit.admission.world import pod
from webhooks.app import AdmissionApp, Shadow
from webhooks.exchange import HttpRequest
from webhooks.limits import AppSettings
from webhooks.metrics import Metrics
from webhooks.readiness import Readiness

CLUSTER: Final = "c1"
_QUIET: Final = AppSettings(log_recorded=False)
_NO_LOG: Final = structlog.wrap_logger(
    structlog.ReturnLogger(), wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL)
)
_HEADERS: Final = [(b"content-type", b"application/json")]
_PEOPLE: Final = ("alice", "bob", "carol")
_TEAMS: Final = ("vision", "speech", "")
_KINDS: Final = {
    "Pod": ("", "v1", "pods"),
    "Deployment": ("apps", "v1", "deployments"),
    "Service": ("", "v1", "services"),
}


@dataclass
class Frames:
    """Keeps what a recorder spools."""

    frames: list[Frame] = field(default_factory=list)

    def append(self, kind: int, frame_id: bytes, payload: bytes) -> None:
        """Keep one."""
        self.frames.append(Frame(kind, frame_id, payload))


async def _ask(app: AdmissionApp, path: str, review: bytes) -> dict[str, Any]:
    reply = await app.answer(HttpRequest("POST", path, b"timeout=10s", _HEADERS, review))
    assert reply.status == 200, reply.body
    response: dict[str, Any] = json.loads(reply.body)["response"]
    return response


@dataclass(frozen=True)
class Answered:
    """What a gate answered."""

    allowed: bool
    warned: bool
    message: str
    validated: bool
    """Whether it came to /validate: it was not refused before."""


async def answer_all(
    cluster: Cluster,
    bundle: Path | None,
    reviews: Sequence[bytes],
    spool: Frames | None = None,
    shadow: Shadow | None = None,
) -> list[Answered]:
    """Answer each at /validate, with a bundle; record into a spool, where one is given.

    With a shadow, that sees each.
    """
    settings = Settings()
    engine = make_engine(bundle, settings.evaluation)
    recorder = (
        None if spool is None else LedgerRecorder(spool, lambda: CLUSTER, attrgetter("label"))
    )
    judge = make_judge(cluster, engine, settings)
    app = AdmissionApp(judge, Readiness({}), Metrics("0"), _NO_LOG, _QUIET, recorder, shadow)
    try:
        return [await _answer(app, review) for review in reviews]
    finally:
        engine.close()


async def _answer(app: AdmissionApp, review: bytes) -> Answered:
    """Answer as kube-apiserver asks; workloads are noted on the way, or refused there."""
    response: dict[str, Any] = {"allowed": True}
    if b'"kind": "Deployment"' in review:
        response = await _ask(app, "/mutate", review)
        if response.get("patch"):
            asked = json.loads(review)
            patches = json.loads(base64.b64decode(response["patch"]))
            asked["request"]["object"] = apply_patch(asked["request"]["object"], patches)
            review = json.dumps(asked).encode()
    if validated := response["allowed"]:
        response = await _ask(app, "/validate", review)
    message = response.get("status", {}).get("message", "")
    return Answered(response["allowed"], bool(response.get("warnings")), message, validated)


async def keep(folder: Path, spool: Frames) -> str:
    """Put what was recorded into a ledger; give its URL."""
    url = f"sqlite:///{folder / 'ledger.db'}"
    async with Store(url) as store:
        for start in range(0, len(spool.frames), 5000):
            receipt = await store.deliver(CLUSTER, spool.frames[start : start + 5000])
            assert not receipt.quarantined
    return url


def reviews(count: int, seed: int = 0, variety: int = 40) -> Iterator[bytes]:
    """Yield reviews of Pods, Deployments and Services, most of them right in most ways.

    `variety` is how many different names and labels there are: fewer are seen again.
    """
    chance = random.Random(seed)  # noqa: S311
    for number in range(count):
        kind = chance.choices(("Pod", "Deployment", "Service"), (8, 2, 1))[0]
        made = _MAKERS[kind](chance, chance.randrange(variety))
        yield _review(kind, made, chance, number)


def _labels(chance: random.Random, number: int) -> dict[str, str]:
    team = chance.choice(_TEAMS)
    labels = {"app": f"app-{number}"} | ({"team": team} if team else {})
    return labels | ({"owner": chance.choice(_PEOPLE)} if chance.random() < 0.5 else {})


def _pod(chance: random.Random, number: int) -> dict[str, Any]:
    spec: dict[str, Any] = {"hostNetwork": True} if chance.random() < 0.1 else {}
    if chance.random() < 0.1:
        spec["hostPID"] = True
    made = pod(image=f"registry.example/app:{number}", **spec)
    made["metadata"] = {"name": f"p-{number}", "labels": _labels(chance, number)}
    return made


def _deployment(chance: random.Random, number: int) -> dict[str, Any]:
    made = _pod(chance, number)
    template = {"metadata": {"labels": made["metadata"]["labels"]}, "spec": made["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"d-{number}", "labels": _labels(chance, number)},
        "spec": {"replicas": 1, "template": template},
    }


def _service(chance: random.Random, number: int) -> dict[str, Any]:
    kind = chance.choice(("ClusterIP", "LoadBalancer"))
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"s-{number}", "labels": _labels(chance, number)},
        "spec": {"type": kind},
    }


_MAKERS: Final = {"Pod": _pod, "Deployment": _deployment, "Service": _service}


def _review(kind: str, made: dict[str, Any], chance: random.Random, number: int) -> bytes:
    group, version, resource = _KINDS[kind]
    namespace = chance.choice(("train", "train", "web", "lab"))
    made["metadata"]["namespace"] = namespace
    request = {
        "uid": f"00000000-0000-4000-8000-{number:012d}",
        "kind": {"group": group, "version": version, "kind": kind},
        "resource": {"group": group, "version": version, "resource": resource},
        "name": made["metadata"]["name"],
        "namespace": namespace,
        "operation": "CREATE",
        "userInfo": {
            "username": f"{chance.choice(_PEOPLE)}@example.com",
            "groups": ["researchers", "system:authenticated"],
        },
        "object": made,
        "dryRun": False,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(review).encode()
