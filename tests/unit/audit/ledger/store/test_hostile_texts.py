"""Texts that a request may choose cannot keep a decision out of the store, or from being found."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.ledger.records.destination import Receipt
from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.store import Store
from core.decision.decision import Verdict
from tests.unit.audit.ledger.store.documents import CLUSTER, document, finding, frame

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
LONG = "\U0001f6a2" * 100_000


@pytest.mark.parametrize("text", ["a\0b", "\0", LONG, "x" * 900_000, "'; DROP TABLE decisions; --"])
async def test_a_strange_text_is_stored_and_found(store: Store, text: str) -> None:
    """NUL, which PostgreSQL refuses, and texts longer than what its indexes hold."""
    refused = document(
        verdict=Verdict.DENY,
        namespace="train",
        name=text,
        requester=text,
        findings=[finding(rule=text)],
        profile=text,
    )
    small = refused if len(text) < 1000 else document(name=text, requester=text[:1024])
    assert await store.deliver(CLUSTER, [frame(small)]) == Receipt(1, 0, 0)
    sent = [frame(small).payload]
    assert await store.find(DecisionQuery(namespace="train")) == sent
    assert await store.find(DecisionQuery(name=text)) == sent
    assert await store.find(DecisionQuery(requesters=(small.requester,))) == sent
    if small is refused:
        assert await store.find(DecisionQuery(rule=text)) == sent


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(texts=st.lists(TEXTS, min_size=9, max_size=9))
async def test_any_texts_are_stored(store: Store, texts: list[str]) -> None:
    """Whatever the fields that are indexed hold."""
    name, namespace, kind, operation, requester, profile, mode, uid, rule = texts
    made = document(
        name=name,
        namespace=namespace,
        kind=kind,
        operation=operation,
        object_uid=uid,
        requester=requester,
        profile=profile,
        mode=mode,
        sandbox=profile,
        error_kind=kind,
        projection=rule,
        findings=[finding(rule)],
    )
    assert await store.deliver(CLUSTER, [frame(made)]) == Receipt(1, 0, 0)
    assert await store.get(made.id) == [made]


async def test_a_name_is_not_a_pattern_or_a_path(store: Store, tmp_path: Path) -> None:
    """What is asked for is compared, and nothing else."""
    await store.deliver(CLUSTER, [frame(document(name="a%_b"))])
    assert await store.find(DecisionQuery(name="a%")) == []
    assert await store.find(DecisionQuery(name="%")) == []
    assert len(await store.find(DecisionQuery(name="a%_b"))) == 1
