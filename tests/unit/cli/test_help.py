"""`--help`: every command has examples and its exit codes."""

import re
from importlib.metadata import version

import pytest
import typer.main

from cli.main import app
from tests.unit.cli.conftest import Run

COMMANDS = [
    "review",
    "explain",
    "accesses list",
    "accesses show",
    "cases list",
    "cases show",
    "decisions",
    "findings list",
    "findings show",
    "findings set",
    "sign-off",
    "quarantine list",
    "quarantine show",
    "notifications test",
    "notifications status",
    "gate",
    "approve",
    "control",
    "auditor",
    "run",
    "ledger verify",
    "ledger export",
    "ledger prove",
    "ledger heads",
    "ledger key",
    "policy build",
    "policy activate",
    "policy fetch",
    "policy rollback",
    "policy sign",
    "policy status",
    "policy bench",
    "policy lint",
    "policy new",
    "policy schema",
    "policy test",
    "profile suggest",
    "profile diff",
    "profile check",
    "certs status",
    "risk status",
    "risk show",
    "risk table",
    "rollout plan",
    "rollout set",
    "rollout status",
    "report",
    "sandbox report",
    "weights access",
    "weights ingest",
    "status",
    "support-bundle",
    "verify",
    "preflight",
    "preflight cluster",
    "who-can use",
    "egress render",
    "egress plan",
    "egress explain",
    "egress verify",
    "egress suggest",
    "egress status",
    "egress enrol",
    "egress graph",
    "egress release",
    "egress doctor",
    "egress connlist",
    "egress diff",
]
GROUPS = [
    "certs",
    "ledger",
    "policy",
    "profile",
    "risk",
    "rollout",
    "sandbox",
    "weights",
    "who-can",
    "egress",
]


def epilog_of(words: list[str]) -> str:
    """Return the second half of a command's help, as it is written."""
    command = typer.main.get_command(app)
    for word in words:
        command = getattr(command, "commands", {})[word]
    return command.epilog or ""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_command_has_examples_and_exit_codes(run: Run, command: str, flag: str) -> None:
    """Examples that name the command, and what its exit codes mean."""
    done = run(*command.split(), flag)
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.out)
    assert (done.code, done.err) == (0, "")
    assert "Examples" in text
    assert text.count(f"sallyport {command}") >= 2
    assert re.search(r"Exit codes: 0 \w+", text)


@pytest.mark.parametrize("command", ["", *GROUPS, *COMMANDS])
def test_help_is_readable_at_80_columns(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """No example is broken in two, so that it can be copied."""
    monkeypatch.setenv("COLUMNS", "80")
    text = re.sub(r"\x1b\[[0-9;]*m", "", run(*command.split(), "--help").out)
    lines = [line.strip() for line in text.partition("Examples")[2].splitlines()]
    assert max(map(len, text.splitlines())) <= 80
    examples = [line for line in lines if "sallyport " in line and "--help says" not in line]
    written = epilog_of(command.split())
    assert all(f"    {example}\n" in written for example in examples)
    assert len(examples) == written.count("\n    ")
    assert "Exit codes: 0 " in text


@pytest.mark.parametrize("arguments", [[], *([group] for group in GROUPS)])
def test_without_a_command_the_help_is_shown(run: Run, arguments: list[str]) -> None:
    """And it is wrong use all the same."""
    done = run(*arguments)
    assert done.code == 64
    assert "Usage: sallyport" in done.out
    assert done.err.startswith("sallyport: name a command\n")


def test_help_lists_the_commands(run: Run) -> None:
    """And no command that the test above leaves out."""
    text = run("--help").out
    listed = re.findall(r"^│ ([\w-]+) +\S", text.partition("Commands")[2], re.MULTILINE)
    assert {command.split()[0] for command in COMMANDS} == set(listed)


def test_version_is_printed(run: Run) -> None:
    """One line, for bug reports."""
    done = run("--version")
    assert (done.code, done.out) == (0, f"sallyport {version('sallyport')}\n")
