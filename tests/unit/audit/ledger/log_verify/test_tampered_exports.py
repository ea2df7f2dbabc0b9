"""Whoever changes an export is found out, and the first bad record is named."""

from pathlib import Path

import pytest

from audit.ledger.log.problems import Flaw
from tests.unit.audit.ledger.log_verify import tampered_exports
from tests.unit.audit.ledger.log_verify.honest_log import (
    ANCHORED,
    OLD,
    RECORDS,
    Scene,
    anchor,
    verify,
)
from tests.unit.audit.ledger.log_verify.tampered_exports import ALL, Tampering


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What was anchored before anybody tampered."""
    return anchor(tmp_path_factory.mktemp("anchor") / "anchor.jsonl")


def test_what_nobody_touched_is_sound(tmp_path: Path, honest: Path) -> None:
    """The control case: nothing is wrong, and what is younger than the anchor is counted."""
    verdict = verify(Scene().write(tmp_path / "export"), [honest])
    assert verdict.problems == []
    assert verdict.sound
    assert (verdict.size, verdict.anchored, verdict.not_anchored) == (
        RECORDS,
        ANCHORED,
        RECORDS - ANCHORED,
    )
    assert verdict.documents_removed == OLD
    assert verdict.keep_days == 90


def test_a_prefix_that_policy_removed_is_no_problem(tmp_path: Path, honest: Path) -> None:
    """The control case of what retention takes away whole."""
    scene = Scene()
    tampered_exports.take_prefix(scene)
    verdict = verify(scene.write(tmp_path / "export"), [honest])
    assert verdict.problems == []
    assert (verdict.first, verdict.leaves_removed) == (OLD, OLD)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name.replace(" ", "-"))
def test_tampering_is_found_where_it_is(tmp_path: Path, honest: Path, case: Tampering) -> None:
    """It is said what was done, and to which record first."""
    verdict = verify(case.write(tmp_path / "export"), [honest])
    assert not verdict.sound
    found = [each for each in verdict.problems if each.wrong is case.wrong]
    assert found, verdict.problems
    if case.at is not None:
        assert found[0].position == case.at
        assert verdict.first_bad is not None
        assert verdict.first_bad.position == case.at


def test_there_are_enough_ways() -> None:
    """25 or more, each with a name of its own."""
    assert len({case.name for case in ALL}) == len(ALL) >= 40
    assert {case.wrong for case in ALL} >= {Flaw.CHANGED, Flaw.REMOVED, Flaw.INSERTED}
