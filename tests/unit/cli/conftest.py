"""Running the command as a person does: arguments, standard input, exit code, output."""

import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import structlog

from cli.main import main
from tests.tools.provide import provide
from tests.unit.cli.policy.author_folder import FILES
from tests.unit.policies.authoring.conftest import write


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Run `sallyport` with these arguments, in this process, as its entry point does."""
    for name in os.environ:
        if name.startswith("SALLYPORT_"):
            monkeypatch.delenv(name)

    def call(*arguments: object, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "argv", ["sallyport", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        code = ended.value.code
        return Done(code if isinstance(code, int) else int(bool(code)), captured.out, captured.err)

    yield call
    structlog.reset_defaults()


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    """A folder with one rule, its tests and its cases."""
    return write(tmp_path / "acme", FILES)


@pytest.fixture
def author(run: Run) -> Run:
    """Run `sallyport policy` with OPA."""

    def call(command: str, *arguments: object) -> Done:
        opa = [] if command == "new" else ["--opa", provide("opa")]
        return run("policy", command, *arguments, *opa)

    return call
