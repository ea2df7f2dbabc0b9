"""What reaches weights starts under a live, twice-approved grant that names it, and not else."""

from typing import Any

import msgspec
import pytest

from admission.gather import Gatherer
from admission.judge import Judge
from core.approvals.approvals import parse_approval
from core.base.names import API_VERSION
from core.decision.decision import Verdict
from core.people.subject import service_account_subject
from core.people.two_person import ApprovalTerms, AtRisk, person_of
from identity.subjects import parse_controllers
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.weights.weights_cluster import (
    ANN,
    AUTHOR,
    CAROL,
    END,
    HOUR,
    NOW,
    Object,
    approval,
    approved,
    claiming,
    decide,
    grant,
    judge,
    mounting,
    rules,
    signing_in,
    volume,
    world,
)
from tests.unit.admission.world import ALICE, BOB, Folder, raw, request

GRANT = {"weights/grant"}


async def test_under_a_live_grant_it_starts_and_the_record_names_it(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """By identity and by volume; the decision holds the store and the grant."""
    cluster = world(folder, *approved(grant())).cluster()
    for made in (signing_in(), mounting()):
        decision = await decide(cluster, engine, request(made))
        assert decision.verdict is Verdict.ALLOW, decision.message
        assert decision.evidence.weight_stores == ("llama",)
        assert decision.evidence.grants == ("train/alice@grant-alice",)


@pytest.mark.parametrize(
    ("items", "now", "why"),
    [
        ([], NOW, "no AccessGrant of this namespace is about it"),
        ([grant()], NOW, "0 of 2 people"),
        ([grant(), approval(grant(), ANN)], NOW, "1 of 2 people"),
        ([grant(), approval(grant(), ANN), approval(grant(), AUTHOR)], NOW, "1 of 2 people"),
        (approved(grant()), NOW + HOUR, f"it expired at {END}"),
        (approved(grant(notBefore="2026-06-01T00:30:00Z")), NOW, "it begins at"),
        (approved(grant(serviceAccounts=["other"])), NOW, "the service account trainer"),
        (approved(grant(serviceAccounts=None)), NOW, "the service account trainer"),
        (approved(grant(people=[BOB.label])), NOW, "does not name who asked"),
        (approved(grant(rights=["delete"])), NOW, "no right of those"),
        (approved(grant(store="gemma")), NOW, "no AccessGrant of this namespace is about it"),
    ],
)
async def test_without_a_grant_that_covers_it_nothing_starts(
    engine: EmbeddedEngine, folder: Folder, items: list[Object], now: float, why: str
) -> None:
    """The refusal says what each grant lacks, and what to ask for."""
    cluster = world(folder, *items).cluster()
    decision = await decide(cluster, engine, request(signing_in()), now)
    assert decision.verdict is Verdict.DENY
    assert rules(decision) == GRANT
    assert why in decision.message
    assert '"kind":"AccessGrant"' in decision.message
    assert f'"people":["{ALICE.label}"]' in decision.message
    assert "alice@example.com" not in decision.message


async def test_a_grant_that_changed_counts_for_nothing_until_it_is_approved_again(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Its digest is another."""
    first = grant()
    items = [grant(rights=["read", "write"]), *approved(first)[1:]]
    decision = await decide(world(folder, *items).cluster(), engine, request(signing_in()))
    assert "as it was before it changed" in decision.message


async def test_what_a_gang_shares_is_forgotten_when_anything_of_it_changes(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Within the same second: an approval withdrawn, a grant gone, another human, another right."""
    made = approved(grant())
    cluster = world(folder, *made).cluster()
    found = judge(cluster, engine)

    async def admitted(asked: Any) -> bool:
        return (await found.validate(asked, budget=10)).allowed

    for _ in range(2):
        assert await admitted(request(signing_in()))
    assert not await admitted(request(signing_in(), BOB))
    assert not await admitted(request(signing_in(), CAROL))
    assert await admitted(request(signing_in()))
    cluster.exceptions.take_approvals([])
    assert not await admitted(request(signing_in()))
    approvals = [parse_approval(raw(each)) for each in made[1:]]
    cluster.exceptions.take_approvals(approvals)
    assert await admitted(request(signing_in()))
    cluster.weights.take_grants([])
    assert not await admitted(request(signing_in()))


async def test_what_is_remembered_ends_to_the_second(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A grant that ends within the second is not believed longer."""
    now = [NOW + HOUR - 0.5]
    cluster = world(folder, *approved(grant())).cluster()
    gatherer = Gatherer(cluster, engine, parse_controllers(()), clock=lambda: now[0])
    found = Judge(gatherer)
    assert (await found.validate(request(signing_in()), budget=10)).allowed
    now[0] = NOW + HOUR
    assert not (await found.validate(request(signing_in()), budget=10)).allowed


async def test_grant_covers_no_pod_of_another_namespace(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A grant is for Pods beside it."""
    cluster = world(folder, *approved(grant())).cluster()
    made = mounting()
    made["metadata"]["namespace"] = "other"
    decision = await decide(cluster, engine, request(made, namespace="other"))
    assert rules(decision) == GRANT


async def test_groups_are_those_of_now_and_names_have_no_case(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A member is granted; who is not is not; a user name counts in either case."""
    team = grant("team", people=None, groups=["llama-team"])
    cluster = world(folder, *approved(team)).cluster()
    assert (await decide(cluster, engine, request(signing_in(), CAROL))).allowed
    assert not (await decide(cluster, engine, request(signing_in(), ALICE))).allowed
    mark = next(mark for mark in person_of(CAROL) if mark.startswith("user:"))
    named = world(Folder(folder.path.with_name("named")), *approved(grant(people=[mark])))
    assert (await decide(named.cluster(), engine, request(signing_in(), CAROL))).allowed


async def test_where_no_store_is_nothing_is_asked(engine: EmbeddedEngine, folder: Folder) -> None:
    """Zero findings, and nothing in the record."""
    cluster = world(folder, volume(), store=None).cluster()
    for made in (signing_in(), mounting(), claiming()):
        decision = await decide(cluster, engine, request(made))
        assert decision.verdict is Verdict.ALLOW, decision.message
        assert decision.evidence.weight_stores == ()


async def test_what_is_not_known_is_an_error(engine: EmbeddedEngine, folder: Folder) -> None:
    """Never silence, and no denial either."""
    cluster = Watched(world(folder, *approved(grant())).cluster())
    cluster.lost = "weights"
    decision = await decide(cluster, engine, request(signing_in()))
    assert (decision.verdict, decision.allowed) == (Verdict.ERROR, False)
    assert "WeightStores have not been loaded" in decision.message


async def test_exception_excuses_no_missing_grant(engine: EmbeddedEngine, folder: Folder) -> None:
    """The grant is the exception, and the rule is none that a PolicyException can name."""
    exception = {
        "apiVersion": API_VERSION,
        "kind": "PolicyException",
        "metadata": {"name": "e", "namespace": "train", "uid": "e"},
        "spec": {
            "workloads": [{"apiVersion": "v1", "kind": "Pod", "name": "llama-0"}],
            "excuses": [{"rule": "rules/weights/grant"}],
            "reason": "please",
            "expiresAt": END,
        },
    }
    cluster = world(folder, exception).cluster()
    assert rules(await decide(cluster, engine, request(signing_in()))) == GRANT


async def test_while_its_author_is_at_risk_a_grant_is_suspended(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Where the installation suspends exceptions of such people."""

    def risky(marks: Any) -> AtRisk | None:
        return AtRisk() if person_of(AUTHOR) & frozenset(marks) else None

    cluster = world(folder, *approved(grant())).cluster()
    terms = ApprovalTerms(at_risk=risky, suspends=True)
    found = await judge(cluster, engine, terms=terms).validate(request(signing_in()), budget=10)
    assert "its author is at risk" in found.message


async def test_a_service_account_that_submits_is_named_by_its_digest(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A pipeline of the cluster is somebody whom a grant can name."""
    pipeline = service_account_subject("ci", "deployer")
    cluster = world(folder, *approved(grant())).cluster()
    refused = await decide(cluster, engine, request(signing_in(), pipeline))
    said = msgspec.json.decode(refused.message.split("(kubectl apply -f -): ")[1].splitlines()[0])
    mark = said["spec"]["people"][0]
    named = world(Folder(folder.path.with_name("n")), *approved(grant(people=[mark]))).cluster()
    assert (await decide(named, engine, request(signing_in(), pipeline))).allowed


async def test_the_sweep_reports_what_runs_without_a_live_grant(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Whoever started it is not asked: some grant must cover its account, now."""
    cluster = world(folder, *approved(grant())).cluster()
    assert not rules(await decide(cluster, engine, request(signing_in(), BOB, running=True)))
    late = await decide(cluster, engine, request(signing_in(), BOB, running=True), NOW + HOUR)
    assert rules(late) == GRANT
