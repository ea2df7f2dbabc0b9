"""`sallyport sandbox report` as people read it."""

from pathlib import Path
from typing import Any

import pytest

from core.decision.decision import Running
from tests.unit.audit.ledger.store.documents import sweep
from tests.unit.cli.conftest import Run
from tests.unit.cli.sandbox.sweep_ledgers import found, keep, said, shown


def test_pods_of_a_workload_share_a_paragraph(run: Run, tmp_path: Path) -> None:
    """A gang is not a thousand paragraphs; its command stands there once."""
    text = said(run, keep(tmp_path, [found(f"p-{number}") for number in range(8)]))
    assert text.count("train Deployment/agent\n") == 1
    assert "pods       8: p-0, p-1, p-2, p-3, p-4 and 3 more\n" in text
    assert text.count("kubectl rollout restart deployment/agent -n train\n") == 1
    assert text.endswith(
        "\n8 Pods of 1 workload should run in a sandbox and do not, by the sweep that ended "
        "2026-11-21T12:05:00Z (120 Pods in all).\n"
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {},
            "its risk is 85, and the namespace train requires a sandbox from 50 on: "
            "sandbox/code/notebook 40, sandbox/code/installs 25, sandbox/code/public_image 15 "
            "and 1 more",
        ),
        (
            {"sandbox_mode": "required"},
            "the namespace train requires a sandbox; its risk is 85: sandbox/code/notebook 40",
        ),
        (
            {"sandbox_mode": "required", "mode_by": None},
            "its namespace or profile requires a sandbox; its risk is 85: ",
        ),
        (
            {"asked": True},
            "its label sallyport.dev/sandbox asks for a sandbox, whatever the label's value; "
            "its risk is 85: ",
        ),
    ],
)
def test_report_text_names_mode_score_and_heaviest_signals(
    run: Run, tmp_path: Path, changes: dict[str, Any], expected: str
) -> None:
    """Who requires it, the score with its threshold, and the heaviest signals."""
    text = said(run, keep(tmp_path, [found("p", **changes)]))
    assert expected in " ".join(text.split())


@pytest.mark.parametrize("columns", [80, 120])
def test_report_text_folds_lines_but_not_commands(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Lines are folded beside their labels; commands are not, so that they can be copied."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    long = f"{'very-' * 10}long"
    pods = [found(f"{long}-{number}", running=Running(f"Deployment/{long}")) for number in "abc"]
    url = keep(tmp_path, pods)
    monkeypatch.setenv("TERM", "dumb")
    lines = said(run, url).splitlines()
    command = f"  recreate   kubectl rollout restart deployment/{long} -n train"
    assert command in lines
    assert max(len(line) for line in lines if line != command) <= columns


def test_nothing_that_lacks_one_is_said(run: Run, tmp_path: Path) -> None:
    """With what was looked at, and what could not be: it is no proof of more."""
    url = keep(tmp_path, [], [sweep(verdicts={"allow": 118, "error": 2})])
    assert shown(run, url) == []
    assert said(run, url) == (
        "No Pod runs outside a sandbox that it should be in, by the sweep that ended "
        "2026-11-21T12:05:00Z (120 Pods in all).\n2 could not be judged, and may lack one too:\n"
        "  sallyport decisions --source sweep --verdict error\n"
    )


def test_text_of_others_cannot_move_the_cursor(run: Run, tmp_path: Path) -> None:
    """Names come from requests; the terminal is the operator's."""
    evil = "e\x1b[2J\x07[red]x[/red]"
    one = found(evil, namespace=evil, running=Running(f"Job/{evil}", evil), sandbox=evil)
    text = said(run, keep(tmp_path, [one]))
    assert "[red]x[/red]" in text
    assert all(char.isprintable() or char == "\n" for char in text)
