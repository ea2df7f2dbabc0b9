"""What is asked of decisions, and the order in which they come."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from audit.ledger.store.decisions import MOST_ROWS, DecisionQuery
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from core.decision.decision import Action, Verdict
from core.decision.document import DecisionDocument, decode_document
from tests.unit.audit.ledger.store.documents import (
    CLUSTER,
    NOW_MS,
    document,
    finding,
    frame,
    sweep,
    sweep_frame,
)

MINUTE = 60_000


def some() -> dict[str, DecisionDocument]:
    """Return a few decisions a minute apart, the oldest first, by what is special of each."""
    made: dict[str, dict[str, Any]] = {
        "plain": {},
        "refused": {"verdict": Verdict.DENY, "findings": [finding("site/a"), finding("site/b")]},
        "other namespace": {"verdict": Verdict.DENY, "namespace": "web"},
        "warned": {
            "verdict": Verdict.WARN,
            "findings": [finding("site/a", Action.WARN), finding("site/a", Action.DENY)],
        },
        "failed": {"verdict": Verdict.ERROR, "error_kind": "deadline"},
        "alice": {"requester": "user:a1"},
        "named": {"name": "special", "object_uid": "uid-7"},
        "deployment": {"kind": "Deployment"},
        "mutating": {"source": "mutate"},
    }
    return {
        name: document(NOW_MS + at * MINUTE, **changes)
        for at, (name, changes) in enumerate(made.items())
    }


SOME = some()
CASES: dict[str, tuple[DecisionQuery, Sequence[str]]] = {
    "all": (DecisionQuery(), list(SOME)),
    "namespace": (DecisionQuery(namespace="web"), ["other namespace"]),
    "denials": (DecisionQuery(verdicts=frozenset({Verdict.DENY})), ["refused", "other namespace"]),
    "denials here": (
        DecisionQuery(namespace="train", verdicts=frozenset({Verdict.DENY})),
        ["refused"],
    ),
    "not allowed": (
        DecisionQuery(verdicts=frozenset({Verdict.DENY, Verdict.ERROR, Verdict.WARN})),
        ["refused", "other namespace", "warned", "failed"],
    ),
    "allowed or failed": (
        DecisionQuery(verdicts=frozenset({Verdict.ALLOW, Verdict.ERROR})),
        ["plain", "failed", "alice", "named", "deployment", "mutating"],
    ),
    "requester": (DecisionQuery(requesters=("user:a1",)), ["alice"]),
    "either": (DecisionQuery(requesters=("alice", "user:a1")), ["alice"]),
    "nobody": (DecisionQuery(requesters=("user:a2",)), []),
    "rule": (DecisionQuery(rule="site/a"), ["refused", "warned"]),
    "rule and verdict": (
        DecisionQuery(rule="site/a", verdicts=frozenset({Verdict.WARN})),
        ["warned"],
    ),
    "rule and requester": (DecisionQuery(rule="site/a", requesters=("user:a1",)), []),
    "name": (DecisionQuery(name="special"), ["named"]),
    "no name": (DecisionQuery(name=""), []),
    "object": (DecisionQuery(object_uid="uid-7"), ["named"]),
    "kind": (DecisionQuery(kind="Deployment"), ["deployment"]),
    "source": (DecisionQuery(source="mutate"), ["mutating"]),
    "cluster": (DecisionQuery(cluster="other"), []),
    "this cluster": (DecisionQuery(cluster=CLUSTER, kind="Deployment"), ["deployment"]),
    "since": (DecisionQuery(since_ms=NOW_MS + 7 * MINUTE), ["deployment", "mutating"]),
    "until": (DecisionQuery(until_ms=NOW_MS + 2 * MINUTE), ["plain", "refused"]),
    "between": (DecisionQuery(since_ms=NOW_MS + MINUTE, until_ms=NOW_MS + 2 * MINUTE), ["refused"]),
    "after": (DecisionQuery(after=SOME["deployment"].id), ["mutating"]),
    "before": (DecisionQuery(before=SOME["refused"].id), ["plain"]),
    "rule after": (DecisionQuery(rule="site/a", after=SOME["refused"].id), ["warned"]),
    "the end of time": (DecisionQuery(since_ms=2**60), []),
    "before all time": (DecisionQuery(until_ms=0), []),
    "the beginning": (DecisionQuery(before="00000000-0000-0000-0000-000000000000"), []),
}


async def ids(store: Store, query: DecisionQuery) -> list[str]:
    """Return the ids of what is found."""
    return [decode_document(each).id for each in await store.find(query)]


@pytest.fixture
async def filled(store: Store) -> Store:
    """A store that holds `SOME`."""
    await store.deliver(CLUSTER, [frame(made) for made in SOME.values()])
    return store


async def test_each_question_has_its_answer(filled: Store) -> None:
    """What matches and nothing else, the newest first, or the oldest first where asked."""
    for name, (query, expected) in CASES.items():
        wanted = [SOME[each].id for each in expected]
        fields = {field: getattr(query, field) for field in query.__struct_fields__}
        oldest_first = DecisionQuery(**{**fields, "oldest_first": True})
        assert await ids(filled, oldest_first) == wanted, name
        assert await ids(filled, query) == wanted[::-1], name


async def test_pages_go_on_where_the_last_one_ended(filled: Store) -> None:
    """Nothing twice and nothing left out, in either direction; at most the limit in each."""
    all_ids = [made.id for made in SOME.values()]
    for oldest_first in (True, False):
        pages: list[list[str]] = []
        while not pages or pages[-1]:
            last = pages[-1][-1] if pages else None
            edge = {"after" if oldest_first else "before": last}
            query = DecisionQuery(oldest_first=oldest_first, limit=2, **edge)  # type: ignore[arg-type]
            pages.append(await ids(filled, query))
        assert [len(page) for page in pages] == [2, 2, 2, 2, 1, 0]
        found = list(itertools.chain(*pages))
        assert found == (all_ids if oldest_first else all_ids[::-1])


async def test_several_requesters_share_one_page(store: Store) -> None:
    """In the order of time, and no more than the limit of all together."""
    made = [document(NOW_MS + n, requester=f"user:{n % 3}") for n in range(12)]
    await store.deliver(CLUSTER, list(map(frame, made)))
    query = DecisionQuery(requesters=("user:0", "user:1", "user:0"), limit=5)
    wanted = [each.id for each in reversed(made) if each.requester != "user:2"][:5]
    assert await ids(store, query) == wanted


async def test_a_page_has_its_most(store: Store) -> None:
    """Whoever asks for everything does not get all of it into memory."""
    made = [document(NOW_MS + n) for n in range(MOST_ROWS + 5)]
    await store.deliver(CLUSTER, list(map(frame, made)))
    assert len(await store.find(DecisionQuery(limit=10**9))) == MOST_ROWS


async def test_decision_is_found_by_the_beginning_of_its_id(filled: Store) -> None:
    """With or without hyphens, in capitals too; None for one that is not there."""
    made = SOME["named"]
    digits = made.id.replace("-", "")
    for given in (made.id, made.id[:20], digits, digits[:20], made.id.upper()):
        assert await filled.get(given) == [made]
    assert await filled.get("00000000") == []


async def test_beginning_of_several_ids_names_them(store: Store) -> None:
    """So that one can be chosen."""
    ids = [f"01a1fdfa-4600-741a-844b-d5e85b7c5f0{n}" for n in range(7)]
    await store.deliver(CLUSTER, [frame(document(id=each)) for each in ids])
    with pytest.raises(LedgerError) as raised:
        await store.get("01a1fdfa")
    assert str(raised.value).endswith(
        f"several ids begin with '01a1fdfa': {', '.join(ids[:5])} …: give more of it"
    )


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("01a1fdf", "too short: give 8 hex digits of it"),
        ("--------", "too short"),
        ("", "too short"),
        ("not-an-id", "no id: give its hex digits"),
        ("0" * 33, "no id"),
    ],
)
async def test_what_is_no_id_is_refused(store: Store, given: str, problem: str) -> None:
    """The message says what an id is."""
    with pytest.raises(LedgerError, match=problem):
        await store.get(given)


async def test_sweeps_are_found_the_newest_first(store: Store) -> None:
    """As many as are asked for."""
    made = [sweep(NOW_MS + n * MINUTE, objects=n) for n in range(5)]
    await store.deliver(CLUSTER, list(map(sweep_frame, made)))
    assert await store.sweeps(3) == made[:1:-1]
