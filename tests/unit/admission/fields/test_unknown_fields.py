"""A field that the gate does not know warns; only where somebody says so does it refuse."""

from typing import Any, Final

import msgspec
import pytest

from admission.gather import Gatherer
from admission.judge import Judge
from core.cluster import Cluster
from core.decision.decision import Action, Decision, Verdict
from core.decision.namespaces import WhenFieldUnknown
from core.decision.request import Kind, Operation, Phase
from core.kubernetes.field_rows import FieldRow, FieldRows, encode_filled
from identity.subjects import parse_controllers
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import ADMIN, Folder, pod, request

Json = dict[str, Any]
RULE: Final = "field/unknown"
PATH: Final = "spec.containers[0].securityContext.writableCgroups"


def newer(*, value: object = True) -> Json:
    """Return a Pod with a field of a later Kubernetes."""
    made = pod()
    made["spec"]["containers"][0]["securityContext"]["writableCgroups"] = value
    return made


def config_map(name: str, **data: str) -> Json:
    """Return one of Sallyport's own namespace."""
    metadata = {"name": name, "namespace": "sallyport-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def world(folder: Folder, label: str | None = None, *more: Json) -> Cluster:
    """Return a cluster whose namespace has the label."""
    labels = {} if label is None else {"sallyport.dev/when-field-unknown": label}
    folder.documents.append(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "train", "labels": labels}}
    )
    folder.documents += more
    return folder.cluster()


async def judged(
    cluster: Cluster,
    engine: EmbeddedEngine,
    made: Json,
    rule: WhenFieldUnknown = WhenFieldUnknown.WARN,
    **more: Any,
) -> Decision:
    """Judge the final state of an object."""
    gatherer = Gatherer(cluster, engine, parse_controllers([]), when_field_unknown=rule)
    asked = request(made, ADMIN, **({"phase": Phase.VALIDATING} | more))
    return await Judge(gatherer).validate(asked, budget=10.0)


def told(decision: Decision) -> list[tuple[str, Action]]:
    """Return path and action of each unknown field."""
    return [(each.path, each.action) for each in decision.findings if each.rule == RULE]


async def test_an_unknown_field_warns(engine: EmbeddedEngine, folder: Folder) -> None:
    """By default it is admitted, and its author reads which field it is."""
    decision = await judged(world(folder), engine, newer())
    assert told(decision) == [(PATH, Action.WARN)]
    assert decision.allowed
    assert decision.verdict is Verdict.WARN
    assert any(PATH in line for line in decision.warnings)


async def test_known_fields_say_nothing(engine: EmbeddedEngine, folder: Folder) -> None:
    """The ordinary case."""
    assert told(await judged(world(folder, "refuse"), engine, pod())) == []


@pytest.mark.parametrize(
    ("label", "rule", "refused"),
    [
        ("refuse", WhenFieldUnknown.WARN, True),
        ("warn", WhenFieldUnknown.REFUSE, False),
        (None, WhenFieldUnknown.REFUSE, True),
        ("a typo", WhenFieldUnknown.WARN, True),
    ],
)
async def test_the_namespace_decides_and_else_the_installation(
    engine: EmbeddedEngine,
    folder: Folder,
    label: str | None,
    rule: WhenFieldUnknown,
    *,
    refused: bool,
) -> None:
    """A word that is unknown counts as `refuse`."""
    decision = await judged(world(folder, label), engine, newer(), rule)
    assert decision.allowed is not refused
    assert told(decision) == [(PATH, Action.DENY if refused else Action.WARN)]
    assert not refused or PATH in decision.message


async def test_a_template_is_told_where_it_is(engine: EmbeddedEngine, folder: Folder) -> None:
    """Whoever submits the workload learns it."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": newer()["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    meta = {"name": "web", "namespace": "train"}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
    decision = await judged(world(folder), engine, made, kind=Kind("Deployment", "v1", "apps"))
    assert [path for path, _ in told(decision)] == [f"spec.template.{PATH}"]


async def test_an_update_counts_only_what_it_changes(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A finalizer can go from what was admitted; a field that is set later is told."""
    cluster = world(folder, "refuse")
    labelled = newer()
    labelled["metadata"]["labels"] = {"a": "b"}
    operation = Operation.UPDATE
    same = await judged(cluster, engine, labelled, old=newer(), operation=operation)
    assert (told(same), same.allowed) == ([], True)
    later = await judged(cluster, engine, newer(), old=pod(), operation=operation)
    assert told(later) == [(PATH, Action.DENY)]
    other = await judged(cluster, engine, newer(value="more"), old=newer(), operation=operation)
    assert told(other) == [(PATH, Action.DENY)]


async def test_many_old_fields_hide_no_new_one(engine: EmbeddedEngine, folder: Folder) -> None:
    """However many were there before, what is added is refused; without it the update goes on."""
    cluster = world(folder, "refuse")
    old = pod()
    old["spec"] |= {f"field{number}": number for number in range(100)}
    new = {**old, "spec": {**old["spec"], "late": 1}}
    added = await judged(cluster, engine, new, old=old, operation=Operation.UPDATE)
    assert told(added) == [("spec.late", Action.DENY)]
    same = await judged(cluster, engine, old, old=old, operation=Operation.UPDATE)
    assert told(same) == []


@pytest.mark.parametrize(
    ("kind", "spec", "path"),
    [
        (
            Kind("NetworkPolicy", "v1", "networking.k8s.io"),
            {"podSelector": {}, "egress": [{"to": [{"domain": "example.org"}]}]},
            "spec.egress[0].to[0].domain",
        ),
        (Kind("Namespace", "v1"), {"isolation": "none"}, "spec.isolation"),
    ],
)
async def test_other_guarded_kinds_are_searched_too(
    engine: EmbeddedEngine, folder: Folder, kind: Kind, spec: Json, path: str
) -> None:
    """What a newer NetworkPolicy opens is opened by a field that nobody compares."""
    made = {"metadata": {"name": "x"}, "spec": spec}
    place = "" if kind.kind == "Namespace" else "train"
    rule = WhenFieldUnknown.REFUSE
    decision = await judged(folder.cluster(), engine, made, rule, kind=kind, namespace=place)
    assert told(decision) == [(path, Action.DENY)]


async def test_what_is_too_far_within_is_told(engine: EmbeddedEngine, folder: Folder) -> None:
    """No number of parts hides a field behind them."""
    made = pod()
    made["spec"]["imagePullSecrets"] = [{}] * 21_000 + [{"late": 1}]
    decision = await judged(world(folder, "refuse"), engine, made)
    assert told(decision) == [("", Action.DENY)]
    assert "more parts than are searched" in decision.message


async def test_what_kube_apiserver_fills_in_does_not_count(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """With its own value: another one is the author's."""
    where = "spec.containers[*].securityContext.writableCgroups"
    filled = config_map(
        "sallyport-filled-fields", **{"filled.json": encode_filled(frozenset({(where, "false")}))}
    )
    cluster = world(folder, "refuse", filled)
    assert told(await judged(cluster, engine, newer(value=False))) == []
    assert told(await judged(cluster, engine, newer(value=True))) == [(PATH, Action.DENY)]


async def test_a_row_can_be_shipped(engine: EmbeddedEngine, folder: Folder) -> None:
    """In a ConfigMap, without a new gate."""
    rows = FieldRows(types={"core/SecurityContext": {"writableCgroups": FieldRow("harmless: x")}})
    shipped = config_map("sallyport-fields", **{"table.json": msgspec.json.encode(rows).decode()})
    assert told(await judged(world(folder, "refuse", shipped), engine, newer())) == []


async def test_many_unknown_fields_make_a_short_message(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A stranger sizes neither the message nor the record."""
    made = pod()
    made["spec"] |= {f"field{number}": "x" * 1000 for number in range(5000)}
    decision = await judged(world(folder, "refuse"), engine, made)
    assert len(told(decision)) == 9
    assert "or more others" in decision.findings[-1].message
    assert len(decision.message) < 4096


async def test_unknown_fields_count_neither_while_mutating_nor_of_what_runs(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Only what is about to be stored counts."""
    cluster = world(folder, "refuse")
    for more in ({"phase": Phase.MUTATING}, {"phase": None, "running": True}):
        assert told(await judged(cluster, engine, newer(), **more)) == []


@pytest.mark.parametrize(("label", "action"), [("refuse", Action.DENY), (None, Action.WARN)])
async def test_unknown_fields_of_a_file_are_judged_as_the_gate_judges_them(
    engine: EmbeddedEngine, folder: Folder, label: str | None, action: Action
) -> None:
    """Its reader is told besides that a misspelt field is dropped before a gate sees it."""
    cluster = world(folder, label)
    of_file = await judged(cluster, engine, newer(), phase=None)
    of_gate = await judged(cluster, engine, newer())
    assert told(of_file) == told(of_gate) == [(PATH, action)]
    assert (of_file.verdict, of_file.allowed) == (of_gate.verdict, of_gate.allowed)
    assert "misspelt" in of_file.findings[0].remedy
    assert "misspelt" not in of_gate.findings[0].remedy
