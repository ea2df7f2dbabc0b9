"""Roles, bindings and service accounts need what they give; whoever has a right may give it."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.base.json_values import count_values
from core.decision.decision import Decision, Verdict
from core.decision.request import Kind, Operation, Request
from core.people.subject import Subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import (
    ALICE,
    Folder,
    decide,
    request,
    rules,
    update,
)

RBAC = "rbac.authorization.k8s.io"
AGGREGATOR = Subject("system:serviceaccount:kube-system:clusterrole-aggregation-controller")
TOKENS = {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]}
READS = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
COLLECTS = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}


def use_of(*names: str) -> dict[str, Any]:
    """Return a rule that lets its holders use these profiles; all without a name."""
    rule = {"apiGroups": ["sallyport.dev"], "resources": ["containerprofiles"], "verbs": ["use"]}
    return rule | ({"resourceNames": list(names)} if names else {})


def role(*rules: dict[str, Any], kind: str = "Role", **more: Any) -> Request:
    """Return the request that creates a role; `old` are the rules that it had."""
    namespace = "" if kind.startswith("Cluster") else "train"
    old = more.pop("old", None)
    subject = more.pop("subject", ALICE)
    made = {"metadata": {"name": "x"}, "rules": list(rules), **more}
    before = {**made, "rules": old} if old is not None else None
    operation = Operation.CREATE if before is None else Operation.UPDATE
    asked = Kind(kind, "v1", RBAC)
    return request(
        made, subject, old=before, operation=operation, kind=asked, namespace=namespace, name="x"
    )


def binding(to: str, kind: str = "ClusterRole", *, everywhere: bool = False) -> Request:
    """Return the request that binds a role to a colleague."""
    namespace = "" if everywhere else "train"
    made = {
        "metadata": {"name": "x", "namespace": namespace},
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": to},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "bob@example.com"}],
    }
    asked = Kind("ClusterRoleBinding" if everywhere else "RoleBinding", "v1", RBAC)
    return request(made, kind=asked, namespace=namespace, name="x")


def found(decision: Decision) -> set[str | None]:
    """Return the privileges of the findings."""
    return {privilege for _, privilege in rules(decision)}


def given(folder: Folder, name: str, rank: int, *privileges: str) -> Folder:
    """Add a profile that speaks of rights: of the catalogue in which they appeared."""
    folder.profile(name, rank, *privileges)
    folder.documents[-1]["spec"]["catalogue"] = 3
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A cluster where Alice may use a profile that covers no right."""
    bare = given(Folder(tmp_path / "cluster"), "bare", 5, "host/network")
    return bare.grant("User:alice@example.com", "bare")


async def test_a_role_needs_what_it_gives(folder: Folder, engine: EmbeddedEngine) -> None:
    """Refused without the privilege, admitted under a profile that covers it."""
    refused = await decide(folder.cluster(), engine, role(TOKENS))
    assert refused.verdict is Verdict.DENY
    assert found(refused) == {"rights/token/%2A"}
    given(folder, "tokens", 9, "rights/token/*").grant("User:alice@example.com", "tokens")
    admitted = await decide(folder.cluster(), engine, role(TOKENS))
    assert (admitted.verdict, admitted.profile) == (Verdict.ALLOW, "tokens")


async def test_the_harmless_is_left_alone(folder: Folder, engine: EmbeddedEngine) -> None:
    """Nobody is asked about rights."""
    cluster = Watched(folder.cluster())
    decision = await decide(cluster, engine, role(READS))
    assert decision.verdict is Verdict.ALLOW
    assert decision.evidence.left_alone == "it needs no privilege"
    assert cluster.asked == []


async def test_a_cluster_role_takes_the_right_in_all_namespaces(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """A profile that may be used in one namespace gives nothing beyond it."""
    given(folder, "tokens", 9, "rights/token/*")
    folder.grant("User:alice@example.com", "tokens", namespace="train")
    here = await decide(folder.cluster(), engine, role(TOKENS))
    everywhere = await decide(folder.cluster(), engine, role(TOKENS, kind="ClusterRole"))
    assert (here.verdict, everywhere.verdict) == (Verdict.ALLOW, Verdict.DENY)


@pytest.mark.parametrize(
    ("asked", "privileges"),
    [
        (binding("view"), set()),
        (binding("view", everywhere=True), set()),
        (binding("to-come"), {"rights/unknown-role"}),
        (binding("to-come", "Role"), {"rights/unknown-role"}),
        (binding("to-come", "Service"), {"rights/unknown-role"}),
    ],
)
async def test_a_binding_gives_what_its_role_holds(
    folder: Folder, engine: EmbeddedEngine, asked: Request, privileges: set[str]
) -> None:
    """Nothing, where the role is harmless; anything, where nobody knows the role."""
    assert found(await decide(folder.cluster(), engine, asked)) == privileges


async def test_a_binding_is_judged_where_it_gives(folder: Folder, engine: EmbeddedEngine) -> None:
    """cluster-admin in a namespace gives less than everywhere, and far too much."""
    here = found(await decide(folder.cluster(), engine, binding("cluster-admin")))
    everywhere = found(
        await decide(folder.cluster(), engine, binding("cluster-admin", everywhere=True))
    )
    assert {"rights/escalate/%2A", "rights/use/%2A", "rights/token/%2A"} <= here < everywhere
    assert everywhere - here >= {"rights/nodes-proxy", "rights/secrets/read"}


async def test_cluster_admin_gives_everything_whatever_it_holds_now(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """A kube-apiserver that starts gives its rules back: narrowed and bound, it would wait."""
    whole = found(await decide(folder.cluster(), engine, binding("cluster-admin")))
    narrow = {"metadata": {"name": "cluster-admin"}, "rules": [READS], "kind": "ClusterRole"}
    folder.documents.append({"apiVersion": f"{RBAC}/v1", **narrow})
    assert found(await decide(folder.cluster(), engine, binding("cluster-admin"))) == whole


async def test_a_role_that_is_not_given_is_an_error(folder: Folder, engine: EmbeddedEngine) -> None:
    """It is refused, and not called a denial."""
    cluster = Watched(folder.cluster(), lost="roles")
    decision = await decide(cluster, engine, binding("view"))
    assert (decision.verdict, decision.error_kind) == (Verdict.ERROR, "role")
    assert not decision.allowed


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (("mine",), set()),
        (("mine", "other"), {"rights/use/other"}),
        ((), {"rights/use/%2A"}),
    ],
)
async def test_whoever_may_use_it_may_give_it(
    folder: Folder, engine: EmbeddedEngine, names: tuple[str, ...], missing: set[str]
) -> None:
    """That very profile, and not all of them."""
    given(given(folder, "mine", 9), "other", 10).grant("User:alice@example.com", "mine")
    decision = await decide(folder.cluster(), engine, role(use_of(*names)))
    assert found(decision) == missing


async def test_many_profiles_are_not_asked_about(folder: Folder, engine: EmbeddedEngine) -> None:
    """An object cannot have the gate ask thousands of questions."""
    cluster = Watched(folder.cluster())
    names = [f"profile-{n}" for n in range(65)]
    decision = await decide(cluster, engine, role(use_of(*names)))
    assert decision.verdict is Verdict.DENY
    assert not {name for _, name, _ in cluster.asked} & set(names)


async def test_a_failed_review_of_ones_own_right_is_an_error(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """Nobody is told that they may not what nobody could find out."""
    cluster = Watched(folder.cluster(), fails=frozenset({"mine"}))
    decision = await decide(cluster, engine, role(use_of("mine")))
    assert (decision.verdict, decision.error_kind) == (Verdict.ERROR, "access-review")


async def test_an_update_is_judged_by_what_it_changes(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """The same rules are left alone; others are judged whole, also where they give less."""
    same = await decide(folder.cluster(), engine, role(TOKENS, old=[TOKENS]))
    assert same.evidence.left_alone == "the update changes no right"
    less = await decide(folder.cluster(), engine, role(TOKENS, old=[TOKENS, READS]))
    assert less.verdict is Verdict.DENY
    none = await decide(folder.cluster(), engine, role(READS, old=[TOKENS]))
    assert none.verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [
        (role(TOKENS, kind="ClusterRole", aggregationRule=COLLECTS, old=[]), Verdict.ALLOW),
        (role(TOKENS, kind="ClusterRole", old=[]), Verdict.DENY),
        (role(TOKENS, kind="ClusterRole", aggregationRule=COLLECTS), Verdict.DENY),
    ],
    ids=["filled", "not aggregated", "made"],
)
async def test_only_rules_that_kubernetes_collects_are_left_alone(
    folder: Folder, engine: EmbeddedEngine, asked: Request, verdict: Verdict
) -> None:
    """The controller's name alone proves nothing; neither does the rule without the name."""
    by_controller = await decide(folder.cluster(), engine, _by(asked, AGGREGATOR))
    assert by_controller.verdict is verdict
    assert (await decide(folder.cluster(), engine, asked)).verdict is Verdict.DENY


@pytest.mark.parametrize(
    ("subject", "changes", "verdict"),
    [
        (AGGREGATOR, {}, Verdict.ALLOW),
        (ALICE, {}, Verdict.ERROR),
        (AGGREGATOR, {"aggregationRule": None}, Verdict.ERROR),
        (AGGREGATOR, {"metadata": {"name": "x", "labels": {"a": "b"}}}, Verdict.ERROR),
    ],
    ids=["filled", "by a person", "no longer collected", "collected by another"],
)
async def test_a_role_of_many_rules_is_filled_by_its_controller(
    folder: Folder,
    engine: EmbeddedEngine,
    subject: Subject,
    changes: dict[str, Any],
    verdict: Verdict,
) -> None:
    """The rules of a thousand definitions are more than is judged, and were judged one by one."""
    old = {"metadata": {"name": "x"}, "aggregationRule": COLLECTS, "rules": [READS] * 2000}
    new = {**old, "rules": [READS] * 2001, **changes}
    asked = update(
        new,
        old,
        subject,
        kind=Kind("ClusterRole", "v1", RBAC),
        namespace="",
        name="x",
        value_count=count_values(json.dumps([old, new]).encode()),
    )
    assert asked.value_count > 20_000
    assert (await decide(folder.cluster(), engine, asked)).verdict is verdict


def _by(asked: Request, subject: Subject) -> Request:
    fields = {name: getattr(asked, name) for name in asked.__struct_fields__}
    return Request(**{**fields, "subject": subject})


async def test_profiles_of_an_older_catalogue_warn(folder: Folder, engine: EmbeddedEngine) -> None:
    """A cluster that is upgraded breaks nobody's work: what was not known yet is said."""
    folder.profile("older", 1).grant("User:alice@example.com", "older")
    decision = await decide(folder.cluster(), engine, role(TOKENS))
    assert (decision.verdict, decision.profile) == (Verdict.WARN, "older")


async def test_the_namespaces_profile_has_no_say_but_its_ceiling_has(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """One says how workloads run, the other what nobody exceeds."""
    given(folder, "tokens", 9, "rights/token/*").grant("User:alice@example.com", "tokens")
    folder.namespace("train", profile="bare")
    assert (await decide(folder.cluster(), engine, role(TOKENS))).verdict is Verdict.ALLOW
    folder.documents.pop()
    folder.namespace("train", ceiling="bare")
    assert (await decide(folder.cluster(), engine, role(TOKENS))).verdict is Verdict.DENY
