"""Whoever writes into the ledger's database is found out, in SQLite as in PostgreSQL."""

import asyncio
from collections.abc import Iterator

import pytest

from audit.ledger.store.store import Store
from tests.unit.audit.ledger.log_verify import honest_ledgers
from tests.unit.audit.ledger.log_verify.ledger_copies import Copies
from tests.unit.audit.ledger.log_verify.tampered_by_store import BY_STORE
from tests.unit.audit.ledger.log_verify.tampered_rows import ALL, RowTampering


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def copies(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Copies]:
    """An honest ledger in either database, and its anchor."""
    server = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    made = Copies(tmp_path_factory.mktemp("ledgers"), server, honest_ledgers.build)
    yield made
    made.close()


def test_a_ledger_that_nobody_touched_is_sound(copies: Copies) -> None:
    """The control case."""
    copies.again()
    verdict = copies.verify(copies.anchor)
    assert verdict.problems == []
    assert (verdict.size, verdict.anchored) == (honest_ledgers.SIZE, honest_ledgers.ANCHORED)
    assert (verdict.documents_removed, verdict.aside, verdict.not_anchored) == (
        honest_ledgers.OLD,
        1,
        honest_ledgers.EACH,
    )


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name.replace(" ", "-"))
def test_tampering_with_rows_is_found_where_it_is(copies: Copies, case: RowTampering) -> None:
    """It is said what was done, and to which record first; or it is harmless."""
    copies.again()
    copies.tamper(case.change)
    verdict = copies.verify(copies.anchor)
    if case.wrong is None:
        assert verdict.problems == []
        return
    found = [each for each in verdict.problems if each.wrong is case.wrong]
    assert found, verdict.problems
    assert found[0].position == case.at


@pytest.mark.parametrize("name", BY_STORE)
def test_what_the_store_does_for_an_attacker_is_found(copies: Copies, name: str) -> None:
    """What is recorded properly, and should not be: by its time, or by what it removes."""
    act, wrong, at = BY_STORE[name]
    url = copies.copy()
    clock = honest_ledgers.Clock()

    async def attack() -> None:
        async with Store(url, clock) as store:
            await act(store, clock)

    asyncio.run(attack())
    verdict = asyncio.run(honest_ledgers.verify(url, copies.anchor))
    found = [each for each in verdict.problems if each.wrong is wrong]
    assert found, verdict.problems
    assert found[0].position == at
