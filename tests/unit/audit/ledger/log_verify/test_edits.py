"""Each edit of a database or an export ends in a located fault, or stands in a list with a reason.

Nothing may raise: whoever edits a ledger must not be able to stop its verification.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa

from audit.ledger.log.verdict import Verdict
from core.base.errors import InvalidObjectError
from tests.harness.evidence import record
from tests.harness.sizes import PROOF, size
from tests.unit.audit.ledger.log_verify import (
    edited_exports,
    edited_ledgers,
    full_ledgers,
    honest_ledgers,
)
from tests.unit.audit.ledger.log_verify.edited_exports import LineEdit
from tests.unit.audit.ledger.log_verify.edited_ledgers import Edit, UnchangedError
from tests.unit.audit.ledger.log_verify.honest_log import KEY, Scene, anchor, verify
from tests.unit.audit.ledger.log_verify.ledger_copies import Copies

EXPORT_STEP: Final = size(4, 1)
"""CI tries each edit of an export that is a multiple of this; `make proof` tries all."""

LEAST: Final = {"sqlite": size(40, 80), "postgresql": size(5, 80)}
"""Edits of a database, of each kind."""

SIGNED_AGAIN_REPAIRS = ("tiles.", "heads.", "log.", "leaves.digest", "leaves.position")
"""What signing all anew computes again."""


pytestmark = pytest.mark.proof


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def copies(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Copies]:
    """A ledger with rows in every table, in either database, and its anchor."""
    server = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    made = Copies(tmp_path_factory.mktemp("full"), server, full_ledgers.build_full)
    yield made
    made.close()


def edited(
    copies: Copies, edits: Iterable[Edit], *, again: bool = False
) -> Iterator[tuple[Edit, int | None]]:
    """Make each edit in a ledger that is honest again; yield it with the position of its row.

    What changes nothing, and what the database refuses, is left out.
    """
    for edit in edits:
        copies.again()
        try:
            position = copies.tamper(partial(_edit, edit, again=again))
        except (UnchangedError, sa.exc.IntegrityError, sa.exc.DataError):
            continue
        yield edit, position


def _edit(edit: Edit, connection: sa.Connection, *, again: bool) -> int | None:
    position = edit.apply(connection)
    if again:
        honest_ledgers.sign_again(connection)
    return position


def judged(edit: Edit, verdict: Verdict, position: int | None) -> list[str]:
    """Return what is wrong with the verdict on an edit."""
    if verdict.sound:
        return [f"{edit.name}: not found"] if edit.is_covered else []
    if any(edit.is_located(each, position) for each in verdict.problems):
        return []
    return [f"{edit.name}: not located: {verdict.problems[:2]}"]


def chosen(edits: Iterable[Edit], *, by_column: bool) -> list[Edit]:
    """Return all edits; in CI one of each fourth column or table, by turns in each way."""
    if PROOF:
        return list(edits)
    groups: dict[tuple[str, str], list[Edit]] = {}
    for edit in edits:
        groups.setdefault((edit.table.name, edit.column if by_column else ""), []).append(edit)
    some = list(groups.values())[::4]
    return [ways[turn % len(ways)] for turn, ways in enumerate(some)]


def test_a_ledger_with_rows_in_every_table_is_sound(copies: Copies) -> None:
    """The control case: nothing is found where nobody wrote."""
    copies.again()
    for kept in (copies.anchor, None):
        assert copies.verify(kept).problems == []


def test_an_edit_of_any_column_is_located(copies: Copies) -> None:
    """By the key alone, and with an anchor: of whoever cannot sign heads. CI takes turns."""
    tried = chosen(edited_ledgers.edits(copies.dialect), by_column=copies.dialect == "sqlite")
    wrong, count = [], 0
    for edit, position in edited(copies, tried):
        count += 1
        both = (None, copies.anchor)
        for kept in both if PROOF else (both[count % 2],):
            wrong += judged(edit, copies.verify(kept), position)
    assert wrong == []
    assert count >= LEAST[copies.dialect]
    if PROOF:
        _record_ledgers(copies.dialect, count)


def test_an_edit_that_is_signed_anew_is_located_with_an_anchor(copies: Copies) -> None:
    """Of whoever has the key: all that hangs on the row agrees. Without one nothing raises."""
    others = (
        edit
        for edit in edited_ledgers.edits(copies.dialect)
        if edit.way == "another" and not edit.name.startswith(SIGNED_AGAIN_REPAIRS)
    )
    wrong = []
    for edit, position in edited(copies, chosen(others, by_column=False), again=True):
        wrong += judged(edit, copies.verify(copies.anchor), position)
        copies.verify(None)
    assert wrong == []


def test_an_edit_of_any_field_of_an_export_is_located(tmp_path: Path) -> None:
    """By the key alone, and with an anchor; of its first line, the file is refused by line."""
    kept, honest = anchor(tmp_path / "anchor"), Scene().lines()
    wrong, count = [], 0
    for edit in list(edited_exports.edits())[::EXPORT_STEP]:
        changed = edit.change(list(honest))
        if changed == honest:
            continue
        count += 1
        export = tmp_path / "export"
        export.write_bytes(b"".join(changed))
        wrong += [_judged_export(edit, export, each) for each in ([], [kept])]
    assert [each for each in wrong if each] == []
    assert count >= size(60, 80)
    if PROOF:
        _record_exports(count)


def _judged_export(edit: LineEdit, export: Path, kept: list[Path]) -> str:
    try:
        verdict = verify(export, kept, keys=[KEY.public_key()])
    except InvalidObjectError as error:
        return "" if "line 1: " in str(error) else f"{edit.name}: {error}"
    return f"{edit.name}: not found" if verdict.sound and edit.is_covered else ""


def _record_ledgers(dialect: str, count: int) -> None:
    lines = [
        "",
        "Made by `tests/unit/audit/ledger/log_verify/test_edits.py`: each column of each table is "
        "written over with another value, an empty one, a shorter or a huge one, and in SQLite one "
        "of another type. Each is verified by the key alone and with an anchor. CI tries one of "
        "each fourth column in SQLite, of each fourth table in PostgreSQL.",
        "",
        f"- {count} edits in {dialect}: each ended in a fault that names the row, its table or its "
        "place in the log, or stands below; none raised",
        "",
        "| Not found | Because |",
        "| --- | --- |",
        *(f"| `{name}` | {why} |" for name, why in edited_ledgers.NOT_COVERED.items()),
        "| any record, with all signed anew by whoever has the key, and no anchor | only an anchor "
        "out of reach shows it |",
    ]
    record(f"ledger-edits-{dialect}", lines)


def _record_exports(count: int) -> None:
    lines = [
        "",
        "Made by `tests/unit/audit/ledger/log_verify/test_edits.py`: each field of each kind of "
        "line is written over, left out, or of another type; lines are removed, doubled, cut and "
        "swapped. Each is verified by the key alone and with an anchor. CI tries a quarter.",
        "",
        f"- {count} edits: each ended in a fault at a line or a record, or stands below; none "
        "raised",
        "",
        "| Not found | Because |",
        "| --- | --- |",
        *(f"| `{name}` | {why} |" for name, why in edited_exports.NOT_COVERED.items()),
    ]
    record("ledger-edits-export", lines)
