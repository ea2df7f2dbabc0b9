"""Who writes an allowlist is recorded; rights to sets, breadth together and the finalizer hold."""

from collections.abc import Callable
from typing import Any

import pytest

from core.base.names import AUTHOR_ANNOTATION, EDITORS_ANNOTATION, EGRESS_FINALIZER
from core.decision.decision import Action, Verdict
from core.people.subject import Subject
from core.people.two_person import person_of, write_person
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.egress.allowlist_requests import (
    GROUND,
    NOW,
    Object,
    asked,
    found,
    intent,
    judge,
    named,
    shared,
    stored,
    written,
)
from tests.unit.admission.world import ALICE, BOB, Folder

World = Callable[..., Watched]
SET = {"destinations": {"name": "registry"}}
NAMES = ("a", "b")
CONTROL = Subject("system:serviceaccount:sallyport-system:sallyport-control")


@pytest.fixture
def world(folder: Folder) -> World:
    """A cluster with the namespace, and more objects; control may close."""
    folder.namespace("train")
    who = "ServiceAccount:sallyport-system/sallyport-control"
    folder.grant(who, verb="close", resource="egressallowlists")

    def make(*items: dict[str, Any], **more: Any) -> Watched:
        folder.documents.extend(items)
        for account in more.get("users", ()):
            folder.grant(
                f"ServiceAccount:train/{account}",
                "registry",
                namespace="train",
                resource="egressdestinations",
            )
        return Watched(folder.cluster())

    return make


NARROW = {"dnsName": "packages.example.org"}


async def test_author_and_editors_are_recorded(engine: EmbeddedEngine, world: World) -> None:
    """By the request, never by what is written; an update that changes nothing keeps them."""
    cluster = world()
    item = intent(NARROW)
    first = await judge(cluster, engine, GROUND).mutate(asked(item), budget=10)
    author = write_person(person_of(ALICE))
    assert first.recorded == {AUTHOR_ANNOTATION: author, EDITORS_ANNOTATION: ""}
    old = stored(item)
    changed = stored(intent(NARROW, reason="more"))
    second = await judge(cluster, engine, GROUND).mutate(asked(changed, old, BOB), budget=10)
    assert second.recorded[EDITORS_ANNOTATION] == write_person(person_of(BOB))
    same = await judge(cluster, engine, GROUND).mutate(asked(old, old, BOB), budget=10)
    assert same.recorded == first.recorded


@pytest.mark.parametrize("kind", [intent, shared])
async def test_a_forged_author_is_refused(
    engine: EmbeddedEngine, world: World, kind: Callable[..., Object]
) -> None:
    """Whoever writes another person's marks is told so by the validating pass."""
    forged = stored(kind(NARROW), BOB)
    decision = await judge(world(), engine, GROUND).validate(asked(forged), budget=10)
    assert decision.verdict is Verdict.DENY
    assert "guards/recorded" in {each.rule for each in decision.findings}
    kept = await judge(world(), engine, GROUND).validate(
        asked(stored(kind(NARROW), BOB), stored(kind(NARROW))), budget=10
    )
    assert kept.verdict is Verdict.DENY


async def test_a_narrow_one_is_taken_without_a_word(engine: EmbeddedEngine, world: World) -> None:
    """A name, a small network, the namespace's own Pods."""
    item = intent(NARROW, {"cidr": "20.1.0.0/24"}, {"pods": {}})
    decision = await written(world(), engine, item)
    assert (decision.verdict, decision.warnings) == (Verdict.ALLOW, [])


@pytest.mark.parametrize(
    "expires", ["2026-05-31T23:59:59Z", "2026-06-01T00:00:00Z", "2027-06-03T00:00:00Z"]
)
async def test_its_end_is_to_come_and_not_too_far(
    engine: EmbeddedEngine, world: World, expires: str
) -> None:
    """In the past, now, and more than a year ahead are refused, of a set too."""
    for item in (intent(NARROW, expiresAt=expires), shared(NARROW, expiresAt=expires)):
        decision = await written(world(), engine, item)
        assert [each.rule for each in decision.findings if each.action is Action.DENY] == [
            "guards/expiry"
        ]
    old = stored(intent(NARROW, expiresAt=expires))
    assert (await written(world(), engine, old, old)).allowed


async def test_a_set_is_for_accounts_that_may_use_it(engine: EmbeddedEngine, world: World) -> None:
    """Each of them; whoever writes the allowlist needs no right."""
    cluster = world(stored(shared(NARROW)), users=["trainer"])
    assert (await written(cluster, engine, intent(SET))).verdict is Verdict.ALLOW
    more = intent(NARROW, SET, serviceAccounts=["trainer", "other"])
    decision = await written(cluster, engine, more)
    (finding,) = found(decision, "sets")
    assert (decision.verdict, finding.path) == (Verdict.DENY, "spec.to[1].destinations")
    assert "service account other may not use EgressDestinations registry" in finding.message
    assert "verb use on egressdestinations.sallyport.dev/registry" in finding.message


async def test_a_right_that_was_taken_away_blocks_no_narrowing(
    engine: EmbeddedEngine, world: World
) -> None:
    """What it referred to before is the controller's to close; what it adds is refused."""
    cluster = world(stored(shared(NARROW)))
    old = stored(intent(SET, {"cidr": "20.1.0.0/24"}))
    assert (await written(cluster, engine, stored(intent(SET)), old)).allowed
    adding = stored(intent(SET, serviceAccounts=["trainer", "other"]))
    decision = await written(cluster, engine, adding, old)
    (finding,) = found(decision, "sets")
    assert "service account other may" in finding.message


async def test_rights_that_nobody_tells_are_an_error(engine: EmbeddedEngine, world: World) -> None:
    """Not a denial, and never taken."""
    cluster = world(stored(shared(NARROW)), users=["trainer"])
    cluster.fails = frozenset({"*"})
    decision = await written(cluster, engine, intent(SET))
    assert (decision.verdict, decision.allowed) == (Verdict.ERROR, False)


HALVES = ({"cidr": "0.0.0.0/1"}, {"cidr": "128.0.0.0/1"})
PARTS = ({"cidr": "20.0.0.0/17"}, {"cidr": "20.2.0.0/17"}, {"cidr": "20.4.0.0/17"})


async def test_allowlists_that_are_broad_together_are_refused(
    engine: EmbeddedEngine, world: World
) -> None:
    """Each is below the limit; the one that goes beyond it is refused, and names the others."""
    cluster = world(*(named(part, name) for part, name in zip(PARTS, NAMES, strict=False)))
    decision = await written(cluster, engine, intent(PARTS[2]))
    (finding,) = found(decision, "together")
    assert decision.verdict is Verdict.DENY
    assert finding.path == "spec.to"
    for words in ("with a", "b of this namespace", "3 IPv4 networks are together more than a /16"):
        assert words in finding.message
    inside = await written(cluster, engine, intent({"cidr": "20.0.1.0/24"}))
    assert inside.verdict is Verdict.ALLOW


async def test_what_no_longer_counts_adds_nothing(engine: EmbeddedEngine, world: World) -> None:
    """Expired, being deleted, of another namespace, or broad by itself: not of the sum."""
    elsewhere = named(PARTS[0], "elsewhere")
    elsewhere["metadata"]["namespace"] = "eval"
    cluster = world(
        named(PARTS[0], "over", expiresAt="2026-05-01T00:00:00Z"),
        stored(intent(PARTS[1], name="gone"), deletionTimestamp="2026-05-01T00:00:00Z"),
        elsewhere,
        named(HALVES[0], "approved"),
    )
    assert (await written(cluster, engine, intent(PARTS[1], PARTS[2]))).verdict is Verdict.ALLOW


async def test_one_that_is_broad_by_itself_is_for_two_to_approve(
    engine: EmbeddedEngine, world: World
) -> None:
    """It is taken with the warning, whatever else is there: two halves in one need two people."""
    cluster = world(named(HALVES[0], "half"))
    decision = await written(cluster, engine, intent(*HALVES))
    assert (decision.verdict, decision.allowed) == (Verdict.WARN, True)
    assert not found(decision, "together")
    assert found(decision, "approval")


async def test_it_may_always_become_narrower(engine: EmbeddedEngine, world: World) -> None:
    """Where the limit was lowered meanwhile, an update that adds no address is taken."""
    items = [named(part, name) for part, name in zip(PARTS, (*NAMES, "c"), strict=True)]
    cluster = world(*items)
    smaller = named({"cidr": "20.4.0.0/18"}, "c")
    assert (await written(cluster, engine, smaller, items[2])).verdict is Verdict.ALLOW
    other = named({"cidr": "20.6.0.0/18"}, "c")
    assert (await written(cluster, engine, other, items[2])).verdict is Verdict.DENY


async def test_only_who_may_close_takes_the_finalizer_away(
    engine: EmbeddedEngine, world: World
) -> None:
    """Policies would outlive their allowlist; other finalizers are nobody's business."""
    item = intent(NARROW)
    held = stored(item, finalizers=[EGRESS_FINALIZER, "x/y"], deletionTimestamp="2026-05-01")
    bare, free = stored(item, finalizers=["x/y"]), stored(item, finalizers=[EGRESS_FINALIZER])
    cluster = world()
    refused = await written(cluster, engine, bare, held)
    (finding,) = found(refused, "finalizer")
    assert (refused.verdict, finding.path) == (Verdict.DENY, "metadata.finalizers")
    assert (await written(cluster, engine, bare, held, who=CONTROL)).allowed
    assert (await written(cluster, engine, free, held)).allowed
    assert (await written(cluster, engine, held, bare)).allowed


@pytest.mark.parametrize("kind", [intent, shared])
async def test_a_mistake_is_a_denial_that_names_the_field(
    engine: EmbeddedEngine, world: World, kind: Callable[..., Object]
) -> None:
    """Not an error: nobody should try again before it is corrected."""
    decision = await written(world(), engine, kind(NARROW, {"cidr": "10.0.0.1/8"}))
    (finding,) = decision.findings
    assert (decision.verdict, finding.rule) == (Verdict.DENY, "egress/invalid")
    assert finding.path == "spec.to[1].cidr"
    assert "write 10.0.0.0/8" in finding.message


async def test_one_that_cannot_be_read_any_more_can_be_ended(
    engine: EmbeddedEngine, world: World
) -> None:
    """An older release may have taken it: control still takes its finalizer away."""
    broken = intent({"cidr": "nonsense"})
    held = stored(broken, finalizers=[EGRESS_FINALIZER])
    assert (await written(world(), engine, stored(broken), held, who=CONTROL)).allowed
    mended = await written(
        world(), engine, stored(intent(NARROW), finalizers=[EGRESS_FINALIZER]), held
    )
    assert mended.allowed
    worse = await written(world(), engine, stored(intent({"cidr": "worse"})), held)
    assert [each.rule for each in worse.findings] == ["egress/finalizer", "egress/invalid"]


async def test_the_words_of_a_refusal(engine: EmbeddedEngine, world: World) -> None:
    """What a researcher reads: what is wrong, what to do, which rule."""
    cluster = world(*(named(part, name) for part, name in zip(PARTS, NAMES, strict=False)))
    decision = await written(cluster, engine, intent(PARTS[2]), now=NOW, settings=GROUND)
    assert decision.message.splitlines()[0].startswith("EgressAllowlist train/packages: ")
    assert "Fix: Put these into one allowlist" in decision.message
    assert "(rule egress/together)" in decision.message
