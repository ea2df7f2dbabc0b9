"""The verifier needs no ledger: what it imports, how quick it is, how much memory it takes."""

import subprocess
import sys
import time
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from audit.ledger.log.anchor_check import AnchorReading
from audit.ledger.log.problems import Flaw
from audit.ledger.log.verdict import Verdict, verdict_of
from audit.ledger.log.verifier import VerifierTrust, verify_export
from audit.ledger.records.frames import FrameKind
from tests.harness.evidence import record
from tests.harness.sizes import PROOF, size
from tests.unit.audit.ledger.log_verify.honest_log import (
    RECORDS,
    Scene,
    anchor,
    decision,
    time_at,
    verify,
)
from tests.unit.audit.ledger.log_verify.tampered_by_store import BY_STORE
from tests.unit.audit.ledger.log_verify.tampered_exports import ALL as EXPORTS
from tests.unit.audit.ledger.log_verify.tampered_rows import ALL as ROWS

PROGRAM = """
import sys
from audit.ledger.log import verifier, verdict, proofs
rooms = sorted({name.split('.')[0] for name in sys.modules} - set(sys.stdlib_module_names))
print(' '.join(each for each in rooms if not each.startswith('_')))
print(' '.join(sorted(each for each in sys.modules if each.startswith('audit'))))
"""


def test_it_imports_nothing_but_the_log_and_what_reads_json_and_keys() -> None:
    """No database, no network, no settings: whoever doubts the ledger can read all of it."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    packages, modules = done.stdout.splitlines()
    assert set(packages.split()) <= {
        *(
            "audit",
            "bcrypt",
            "core",
            "msgspec",
            "cryptography",
            "cffi",
            "pycparser",
            "typing_extensions",
        ),
    }
    strange = [each for each in modules.split() if not each.startswith("audit.ledger.log")]
    assert strange == [
        "audit",
        "audit.ledger",
        "audit.ledger.records",
        "audit.ledger.records.frames",
    ]


def long_scene(count: int) -> Scene:
    """Return a log of so many records."""
    scene = Scene()
    made = [decision(time_at(at), at) for at in range(RECORDS, count)]
    scene.records += made
    scene.sizes += list(range(RECORDS + 1000, count + 1, 1000))
    return scene


def measure(export: Path, kept: Path) -> tuple[Verdict, float, int]:
    """Verify, and give what was said, the seconds of CPU, and the most memory (bytes)."""
    with kept.open("rb") as file:
        began = time.process_time()
        verifier = verify_export(
            export, VerifierTrust([AnchorReading("anchor", file)]), lambda _, __: None
        )
        spent = time.process_time() - began
    with kept.open("rb") as file:
        tracemalloc.start()
        verify_export(export, VerifierTrust([AnchorReading("anchor", file)]), lambda _, __: None)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return verdict_of(verifier), spent, most


@pytest.mark.proof
def test_memory_stays_flat(tmp_path: Path) -> None:
    """Ten times as many records take no more of it, but for ids that are held for duplicates."""
    few, many = size(1_000, 20_000), size(4_000, 200_000)
    found = {}
    for count in (few, many):
        scene = long_scene(count)
        kept = anchor(tmp_path / f"anchor-{count}", scene, until=count)
        found[count] = measure(scene.write(tmp_path / f"export-{count}"), kept)
        assert found[count][0].problems == []
    near = 65_536 * 700
    assert found[many][2] < found[few][2] + near
    if PROOF:
        _record(found[many], many)


def _record(found: tuple[Verdict, float, int], count: int) -> None:
    verdict, seconds, most = found
    lines = [
        "",
        "Made by `tests/unit/audit/ledger/log_verify/test_standing_alone.py`; each way is a case "
        "of `test_tampered_exports.py` or `test_tampered_ledgers.py`, which CI runs too, the "
        "latter in SQLite and PostgreSQL. Whoever tampers holds the signing key, lets digests, "
        "leaves, frontier, tiles and signatures agree with the change, and cannot write the "
        "anchor.",
        "",
        f"- {len(EXPORTS)} ways to tamper with an export, {len(ROWS) + len(BY_STORE)} with a "
        f"database: {sum(each.wrong is not None for each in ROWS) + len(BY_STORE)} found and "
        "located in each, the others harmless and said so",
        f"- An export of {count:,} records: {count / seconds:,.0f} a second of CPU, "
        f"{most / 2**20:.0f} MiB of Python's memory at most, {len(verdict.anchors)} anchor",
        "",
        "## Exports",
        "",
        "| What is done to it | Said | At |",
        "| --- | --- | --- |",
        *(f"| {each.name} | {each.wrong.value} | {_place(each.at)} |" for each in EXPORTS),
        "",
        "## Databases (SQLite and PostgreSQL)",
        "",
        "| What is written past the ledger | Said | At |",
        "| --- | --- | --- |",
        *(f"| {each.name} | {_said(each.wrong)} | {_place(each.at)} |" for each in ROWS),
        *(
            f"| {name} | {wrong.value} | {_place(at)} |"
            for name, (_, wrong, at) in BY_STORE.items()
        ),
    ]
    record("ledger-tampering", lines)


def _said(wrong: Flaw | None) -> str:
    return "nothing: it is harmless" if wrong is None else wrong.value


def _place(at: int | None) -> str:
    return "the whole" if at is None else f"{at}"


def test_what_came_late_is_counted_and_shown(tmp_path: Path) -> None:
    """Over an hour is told, with examples; no more than a spool explains is no problem."""
    kept = anchor(tmp_path / "anchor")
    scene = Scene()
    late = [decision(time_at(RECORDS) - 5 * 3600_000 - at, 9000 + at) for at in range(7)]
    scene.records += late
    verdict = verify(scene.write(tmp_path / "export"), [kept])
    assert (verdict.problems, verdict.late) == ([], 7)
    assert [each.id for each in verdict.late_examples] == [each.id for each in late[:5]]


def test_every_kind_of_problem_has_a_case() -> None:
    """A word that nothing can bring about would be one too many."""
    said = Counter(each.wrong for each in EXPORTS)
    said.update(each.wrong for each in ROWS if each.wrong is not None)
    said.update(wrong for _, wrong, _ in BY_STORE.values())
    elsewhere = {Flaw.ANCHOR, Flaw.TRIGGER}  # test_file_anchors.py, test_damaged_ledgers.py
    assert set(Flaw) - set(said) == elsewhere | {Flaw.DOCUMENT}


@pytest.mark.parametrize("what", ["cluster", "time", "id", "text"])
def test_a_document_must_say_what_its_leaf_says(tmp_path: Path, what: str) -> None:
    """The ledger would have put it aside; whoever appended it went past the ledger."""
    kept = anchor(tmp_path / "anchor")
    scene = Scene()
    right = decision(time_at(RECORDS), 9000)
    wrong = {
        "cluster": right.payload.replace(b'"cluster":"5f0c', b'"cluster":"0000'),
        "time": right.payload.replace(b'"time":"2026-11-21T12', b'"time":"2026-11-21T11'),
        "id": right.payload.replace(right.id.encode(), decision(time_at(1), 1).id.encode()),
        "text": b"{",
    }[what]
    assert wrong != right.payload
    scene.records.append(type(right)(right.kind, right.id, wrong, right.cluster))
    verdict = verify(scene.write(tmp_path / "export"), [kept])
    assert [(each.wrong, each.position) for each in verdict.problems] == [(Flaw.DOCUMENT, RECORDS)]


@pytest.mark.parametrize(("came_at", "wrong"), [(10, []), (123, [Flaw.REMOVAL])])
def test_what_tells_of_long_ago_is_kept_from_when_it_came(
    tmp_path: Path, came_at: int, wrong: list[Flaw]
) -> None:
    """A grant that was seen today is as old as today, whenever it was made."""
    scene = Scene()
    made = scene.records[came_at]
    old = decision(time_at(0) - 10 * 86_400_000, 9000)
    scene.records[came_at] = type(made)(FrameKind.CHANGE, old.id, old.payload, is_gone=True)
    kept = anchor(tmp_path / "anchor", scene)
    verdict = verify(scene.write(tmp_path / "export"), [kept])
    assert [each.wrong for each in verdict.problems] == wrong
