"""What of a database is no record: triggers, rows too many, rows that cannot be read."""

import asyncio
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from audit.ledger.log.problems import Flaw, Problem
from audit.ledger.store.store import Store
from audit.ledger.store.tables import heads, log, projections, tiles
from core.base.errors import LedgerError
from tests.unit.audit.ledger.log_verify import full_ledgers, honest_ledgers
from tests.unit.audit.ledger.log_verify.ledger_copies import Copies

TRIGGERS = {
    "sqlite": ("CREATE TRIGGER quiet AFTER INSERT ON accesses BEGIN DELETE FROM rules; END",),
    "postgresql": (
        "CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER quiet BEFORE INSERT ON accesses FOR EACH ROW EXECUTE FUNCTION quiet()",
    ),
}
HIDING = (
    "CREATE POLICY quiet ON findings USING (false)",
    "CREATE RULE quiet AS ON INSERT TO findings DO INSTEAD NOTHING",
)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def copies(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Copies]:
    """A ledger with rows in every table, in either database, and its anchor."""
    server = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    made = Copies(tmp_path_factory.mktemp("damaged"), server, full_ledgers.build_full)
    yield made
    made.close()


def run(*statements: sa.Executable | str) -> honest_ledgers.Tamper:
    """Return what runs these statements."""

    def change(connection: sa.Connection) -> None:
        for each in statements:
            connection.execute(sa.text(each) if isinstance(each, str) else each)

    return change


def found(copies: Copies, *statements: sa.Executable) -> list[Problem]:
    """Return what is found once these wrote rows past the ledger; by its key alone."""
    copies.again()
    copies.tamper(run(*statements))
    return copies.verify(None).problems


def found_in_tables(copies: Copies, *statements: str) -> list[Problem]:
    """Return what is found once these changed the tables themselves."""
    url = copies.copy()
    honest_ledgers.tamper(url, run(*statements))
    return asyncio.run(honest_ledgers.verify(url, None)).problems


def tables_of(problems: list[Problem], wrong: Flaw) -> list[str]:
    """Return the tables, or columns, of the problems of a kind."""
    names = (f"{each.table}.{each.column}".rstrip(".") for each in problems if each.wrong is wrong)
    return [each for each in names if each]


def test_a_trigger_is_named_with_its_table(copies: Copies) -> None:
    """It changes what is stored later, and no row shows it."""
    problems = found_in_tables(copies, *TRIGGERS[copies.dialect])
    assert [(each.wrong, each.table) for each in problems] == [(Flaw.TRIGGER, "accesses")]
    assert "trigger quiet" in problems[0].says


def test_rules_and_policies_of_postgresql_are_named(copies: Copies) -> None:
    """Both hide rows, or let them vanish when they are written."""
    if copies.dialect == "sqlite":
        return
    problems = found_in_tables(copies, *HIDING)
    assert [(each.wrong, each.table) for each in problems] == [(Flaw.TRIGGER, "findings")] * 2


def test_a_projection_that_is_not_its_digests_is_found(copies: Copies) -> None:
    """A replay would judge something that nobody asked for."""
    problems = found(copies, sa.update(projections).values(projection=b'{"kind":"Job"}'))
    assert tables_of(problems, Flaw.COLUMN) == ["projections.projection"]


@pytest.mark.parametrize("rows", [0, 2])
def test_a_log_without_one_row_is_found(copies: Copies, rows: int) -> None:
    """Its leaves and heads say what the row would; the rest is verified all the same."""
    other = {"one": 2, "id": "ab" * 16, "size": 0, "frontier": b"", "prefix_size": 0}
    values = {**other, "prefix_frontier": b"", "adopt_until_ms": 0}
    change = sa.insert(log).values(**values) if rows else sa.delete(log)
    problems = found(copies, change)
    assert f"it has {rows} rows" in " ".join(each.says for each in problems)


def test_hashes_that_the_log_has_no_leaves_for_are_found(copies: Copies) -> None:
    """They would keep the ledger from storing its own there."""
    problems = found(copies, sa.insert(tiles).values(level=8, tile=7, hash=bytes(32)))
    assert tables_of(problems, Flaw.ROW) == ["tiles.tile"]


def test_heads_of_more_records_than_the_log_has_are_found(copies: Copies) -> None:
    """By the log's row the end was never there."""
    problems = found(
        copies,
        sa.update(log).values(size=256, frontier=sa.select(tiles.c.hash).scalar_subquery()),
    )
    assert tables_of(problems, Flaw.ROW) == ["log.size", "log.size"]


@pytest.mark.parametrize("what", ["log", "heads"])
async def test_other_commands_say_what_is_damaged(copies: Copies, what: str) -> None:
    """They name the row and the command that says more; none of them raises anything else."""
    url = copies.again()
    change = {"log": sa.update(log).values(size=9), "heads": sa.update(heads).values(head=b"")}
    copies.tamper(run(change[what]))
    store = Store(url)
    await store.open(make=False)
    asked = store.log_state() if what == "log" else store.heads()
    try:
        with pytest.raises(LedgerError, match=r"own row|head of.*ledger verify"):
            await asked
    finally:
        await store.close()
