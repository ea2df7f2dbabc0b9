"""How far the record is: only what is kept for good is stored, and not too often."""

from control.weights.checkpoint import CheckpointProgress, SpoolMark


def test_only_what_is_kept_for_good_is_due() -> None:
    """The latest moment of which all has reached the auditor."""
    reaching = CheckpointProgress(every_s=10)
    for second in range(5):
        reaching.note(f"v{second}", 100.0 + second)
    assert reaching.due(lambda: 99.0, 104.0) is None
    assert reaching.due(lambda: 102.5, 104.0) == SpoolMark(102.0, "v2")
    assert reaching.time == 102.0


def test_checkpoint_is_not_stored_too_often() -> None:
    """And nobody is asked before."""
    reaching = CheckpointProgress(every_s=10)
    reaching.note("a", 100.0)
    assert reaching.due(lambda: 100.0, 100.0) == SpoolMark(100.0, "a")
    reaching.note("b", 102.0)

    def asked() -> float:
        raise AssertionError("it is too early")

    assert reaching.due(asked, 109.0) is None
    assert reaching.due(lambda: 109.0, 110.0) == SpoolMark(102.0, "b")


def test_of_each_second_one_version_is_remembered() -> None:
    """The first: what came later in that second may be recorded again, and is kept once."""
    reaching = CheckpointProgress(every_s=0)
    reaching.note("a", 100.0)
    reaching.note("b", 100.5)
    assert reaching.due(lambda: 200.0, 200.0) == SpoolMark(100.0, "a")
    assert reaching.due(lambda: 200.0, 200.0) is None
