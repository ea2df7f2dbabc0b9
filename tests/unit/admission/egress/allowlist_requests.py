"""Requests that write allowlists and sets of destinations, as kube-apiserver sends them."""

import datetime as dt
from typing import Any, Final

from admission.gather import Gatherer
from admission.judge import Judge
from core.base.names import API_VERSION, AUTHOR_ANNOTATION
from core.decision.decision import Decision, Finding
from core.decision.request import Kind, Operation, Request
from core.egress.enrolment import Enrolment
from core.people.subject import Subject
from core.people.two_person import person_of, write_person
from egress.limits.settings import IntentSettings
from identity.subjects import Controllers
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import ALICE, request

NOW: Final = dt.datetime(2026, 6, 1, tzinfo=dt.UTC).timestamp()
SOON: Final = "2026-07-01T00:00:00Z"
HTTPS: Final = [{"protocol": "TCP", "port": 443}]
GROUND: Final = IntentSettings(enrolment=Enrolment(default=True))

Object = dict[str, Any]


def intent(
    *to: Object, name: str = "packages", kind: str = "EgressAllowlist", **spec: Any
) -> Object:
    """Return one as its author writes it; entries without ports get 443."""
    head: Object = {"serviceAccounts": ["trainer"], "expiresAt": SOON}
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {"name": name} | ({"namespace": "train"} if kind == "EgressAllowlist" else {}),
        "spec": (head if kind == "EgressAllowlist" else {})
        | {
            "to": [each if "destinations" in each else {"ports": HTTPS, **each} for each in to],
            "owner": "platform",
            "reason": "packages",
        }
        | spec,
    }


def shared(*to: Object, name: str = "registry", **spec: Any) -> Object:
    """Return a set."""
    return intent(*to, name=name, kind="EgressDestinations", **spec)


def stored(item: Object, who: Subject = ALICE, **metadata: Any) -> Object:
    """Return one as a cluster holds it."""
    recorded = {AUTHOR_ANNOTATION: write_person(person_of(who))}
    uid = f"uid-{item['metadata']['name']}"
    return item | {"metadata": item["metadata"] | {"uid": uid, "annotations": recorded} | metadata}


def named(entry: Object, name: str, **spec: Any) -> Object:
    """Return an allowlist of one entry as a cluster holds it."""
    return stored(intent(entry, name=name, **spec))


def asked(item: Object, old: Object | None = None, who: Subject = ALICE) -> Request:
    """Return the request that writes one, or changes it."""
    kind = Kind(item["kind"], "v1alpha1", "sallyport.dev")
    place = item["metadata"].get("namespace", "")
    operation = Operation.CREATE if old is None else Operation.UPDATE
    return request(
        item,
        who,
        old=old,
        operation=operation,
        kind=kind,
        namespace=place,
        name=item["metadata"]["name"],
    )


def judge(
    cluster: Watched, engine: EmbeddedEngine, settings: IntentSettings, now: float = NOW
) -> Judge:
    """Return a judge with a clock that stands still."""
    return Judge(
        Gatherer(cluster, engine, Controllers(), intent_settings=settings, clock=lambda: now)
    )


async def written(  # noqa: PLR0913  All that a case varies.
    cluster: Watched,
    engine: EmbeddedEngine,
    item: Object,
    old: Object | None = None,
    *,
    who: Subject = ALICE,
    settings: IntentSettings = GROUND,
    now: float = NOW,
) -> Decision:
    """Judge it by both passes, with what the first one records."""
    both = judge(cluster, engine, settings, now)
    first = await both.mutate(asked(item, old, who), budget=10)
    annotations = {**(item["metadata"].get("annotations") or {}), **first.recorded}
    sound = {name: value for name, value in annotations.items() if value}
    item = item | {"metadata": item["metadata"] | {"annotations": sound}}
    return await both.validate(asked(item, old, who), budget=10)


def found(decision: Decision, rule: str) -> list[Finding]:
    """Return the findings of a rule."""
    return [each for each in decision.findings if each.rule == f"egress/{rule}"]
