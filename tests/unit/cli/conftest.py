"""Running the command as a person does: arguments, standard input, exit code, output."""

import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import structlog

from cli.main import main


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
