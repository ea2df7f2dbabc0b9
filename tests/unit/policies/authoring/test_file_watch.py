"""`--watch`: runs at once, and again where a file has changed, until Ctrl-C."""

import os
from collections.abc import Callable
from pathlib import Path

from policies.authoring.file_watch import state_of, watch


def test_it_runs_again_after_a_change_alone(tmp_path: Path) -> None:
    """Not while nothing changes; a file that comes or goes is a change."""
    rule = tmp_path / "a.rego"
    rule.write_text("package a\n")
    runs: list[int] = []
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: rule.write_text("package ab\n"),
        lambda: (tmp_path / "notes.txt").write_text("x"),
        lambda: (tmp_path / "b.yaml").write_text("x"),
        lambda: os.utime(rule, ns=(1, 1)),
        rule.unlink,
    ]
    waited: list[int] = []

    def wait(_: float) -> None:
        waited.append(len(runs))
        if not changes:
            raise KeyboardInterrupt
        changes.pop(0)()

    watch([tmp_path], lambda: runs.append(1), wait)
    assert waited == [1, 1, 2, 2, 3, 4, 5]


def test_a_file_is_watched_itself(tmp_path: Path) -> None:
    """Such as that of --rules; what is not there is none."""
    rules = tmp_path / "rules.yaml"
    rules.write_text("a")
    assert list(state_of([rules, tmp_path / "none"])) == [str(rules)]


def test_ctrl_c_while_it_runs_ends_it(tmp_path: Path) -> None:
    """Without an error."""

    def again() -> None:
        raise KeyboardInterrupt

    watch([tmp_path], again)
