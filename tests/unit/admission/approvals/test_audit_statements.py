"""An AuditStatement bears the name of the person who makes it, and never changes."""

from typing import Any

import msgspec
import pytest

from admission.gather import Gatherer
from admission.judge import Judge
from core.base.times import DAY_S, time_text
from core.decision.decision import Decision, Verdict
from core.decision.request import Kind, Operation
from core.people.subject import Subject
from core.people.two_person import ApprovalTerms, AtRisk, person_of
from identity.subjects import Controllers
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.approvals.test_exceptions import ANN, BEN, NOW
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import Folder, raw, request

STATEMENT = Kind("AuditStatement", "v1alpha1", "sallyport.dev")
EXPIRY = ("guards/expiry", "spec.acceptedUntil")
FINDING = "01a1630d-b1e7-7505-9713-fbe309e7a0ca"
OID = "00000000-0000-4000-8000-00000000000a"
CAPITALS = Subject("Ann@Example.com")
ENTRA = Subject("ann@example.com", extra={"oid": [OID]})


def statement(author: str = "", **spec: Any) -> dict[str, Any]:
    """Return a statement, with the annotation of its author where there is one."""
    annotations = {"annotations": {"sallyport.dev/author": author}} if author else {}
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "AuditStatement",
        "metadata": {"name": "said", **annotations},
        "spec": {"finding": FINDING, **(spec or {"state": "investigating"})},
    }


async def decide(  # noqa: PLR0913, PLR0917
    folder: Folder,
    engine: EmbeddedEngine,
    new: dict[str, Any],
    who: Subject,
    old: dict[str, Any] | None = None,
    terms: ApprovalTerms | None = None,
) -> Decision:
    """Judge somebody's making a statement, as the validating pass does."""
    cluster = Watched(folder.cluster(), fails=frozenset("*"))
    gatherer = Gatherer(cluster, engine, Controllers(), terms or ApprovalTerms(), clock=lambda: NOW)
    more: dict[str, Any] = {"operation": Operation.UPDATE, "old_object": raw(old)} if old else {}
    asked = request(new, who, kind=STATEMENT, name="said", namespace="")
    return await Judge(gatherer).validate(msgspec.structs.replace(asked, **more), budget=10)


@pytest.mark.parametrize("who", [ANN, CAPITALS, ENTRA], ids=["a name", "capitals", "Entra"])
async def test_its_author_is_whoever_makes_it(
    folder: Folder, engine: EmbeddedEngine, who: Subject
) -> None:
    """By every mark that a finding may name them by; nothing is asked of the cluster."""
    author = " ".join(sorted(person_of(who) | {who.label}))
    assert (await decide(folder, engine, statement(author), who)).verdict is Verdict.ALLOW
    for forged in ("", "user:0123456789abcdef", f"{author} user:0123456789abcdef"):
        decision = await decide(folder, engine, statement(forged), who)
        assert [one.rule for one in decision.findings] == ["guards/recorded"], forged


@pytest.mark.parametrize(
    ("who", "says"),
    [
        (Subject("system:serviceaccount:soar:bot"), "a service account cannot make a statement"),
        (Subject("system:node:n1"), "an identity of the cluster"),
        (Subject(OID, extra={"oid": [OID]}), "an application of Entra ID"),
        (Subject("root", groups=["system:masters"]), "a member of system:masters"),
        (Subject("masterclient"), "a shared account"),
    ],
)
async def test_only_a_person_makes_one(
    folder: Folder, engine: EmbeddedEngine, who: Subject, says: str
) -> None:
    """Not what several people may be."""
    author = " ".join(sorted(person_of(who) | {who.label}))
    decision = await decide(folder, engine, statement(author), who)
    assert decision.verdict is Verdict.DENY
    assert [one.rule for one in decision.findings] == ["statements/person"]
    assert says in decision.message


async def test_whoever_is_at_risk_makes_none(folder: Folder, engine: EmbeddedEngine) -> None:
    """A stolen session closes no finding."""
    terms = ApprovalTerms(at_risk=lambda marks: AtRisk() if person_of(ANN) & set(marks) else None)
    author = " ".join(sorted(person_of(ANN) | {ANN.label}))
    decision = await decide(folder, engine, statement(author), ANN, terms=terms)
    assert "someone at risk cannot make a statement" in decision.message


async def test_it_never_changes(folder: Folder, engine: EmbeddedEngine) -> None:
    """Another may touch its labels; nobody its words, nor its author."""
    author = " ".join(sorted(person_of(ANN) | {ANN.label}))
    made = statement(author)
    labelled = statement(author)
    labelled["metadata"]["labels"] = {"team": "storage"}
    assert (await decide(folder, engine, labelled, BEN, made)).verdict is Verdict.ALLOW
    changed = statement(author, state="contained")
    decision = await decide(folder, engine, changed, ANN, made)
    assert [one.rule for one in decision.findings] == ["statements/unchanged"]
    taken = statement(" ".join(sorted(person_of(BEN))))
    decision = await decide(folder, engine, taken, BEN, made)
    assert [one.rule for one in decision.findings] == ["guards/recorded"]


@pytest.mark.parametrize(("days", "rules"), [(365, []), (366, [EXPIRY]), (-1, [EXPIRY])])
async def test_accepted_ends_within_a_year(
    folder: Folder, engine: EmbeddedEngine, days: int, rules: list[tuple[str, str]]
) -> None:
    """And is to come."""
    author = " ".join(sorted(person_of(ANN) | {ANN.label}))
    until = time_text(NOW + days * DAY_S)
    made = statement(author, state="accepted", acceptedUntil=until, note="CHG-9")
    decision = await decide(folder, engine, made, ANN)
    assert [(one.rule, one.path) for one in decision.findings] == rules
