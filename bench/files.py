"""The files of the product that one review enters, and `sallyport review` of one file."""

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any, Final

from app.wiring import make_judge
from bench.review_stages import opened
from bench.reviews import GANG, USUAL, Pods
from webhooks.app import AdmissionApp
from webhooks.exchange import HttpRequest
from webhooks.log import get_logger
from webhooks.metrics import Metrics
from webhooks.readiness import Readiness

_ROOT: Final = Path(__file__).resolve().parents[1]
_NOT_OURS: Final = ("bench", "tests", ".venv")
_CASES: Final[tuple[tuple[str, Pods, int], ...]] = (
    ("an admitted Pod", USUAL, 0),
    ("a refused Pod", USUAL, 1),
    ("a Pod of a gang", GANG, 0),
)
_FILE: Final = "examples/pods/first-denial.yaml"


@dataclass
class Entered:
    """What was called, but for what modules call while they are imported."""

    functions: set[tuple[str, str]] = field(default_factory=set)
    """File from the root, and the function's name in it."""
    hops: int = 0
    """Calls from one of the files into another."""
    _importing: int = 0

    @property
    def files(self) -> list[str]:
        """The files, each once."""
        return sorted({file for file, _ in self.functions})

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """Take one event of `sys.setprofile`."""
        code = frame.f_code
        if code.co_name == "<module>":
            self._importing += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not self._importing and (file := _product_file(code.co_filename)):
            self.functions.add((file, code.co_qualname))
            caller = frame.f_back
            self.hops += caller is not None and caller.f_code.co_filename != code.co_filename


def enter(work: Callable[[], object]) -> Entered:
    """Return the files and functions that a piece of work enters, in this thread."""
    entered = Entered()
    sys.setprofile(entered.note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return entered


def main(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Print how many files each review enters; with `--list` which."""
    parser.add_argument("--list", action="store_true", help="name the files")
    names = parser.parse_args(arguments).list
    with opened() as parts:
        judge = make_judge(parts.cluster, parts.remembering, parts.settings)
        app = AdmissionApp(judge, Readiness({}), Metrics("bench"), get_logger())
        for path in ("/validate", "/mutate"):
            for what, pods, number in _CASES:
                request = _request(path, pods.review(number))
                entered = enter(lambda request=request: parts.runner.run(app.answer(request)))  # type: ignore[misc]
                _print(f"POST {path}, {what}", entered, names=names)
    _print(f"sallyport review {_FILE}", enter(_review), names=names)


def _request(path: str, body: bytes) -> HttpRequest:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    return HttpRequest("POST", path, b"timeout=5s", headers, body)


def _review() -> None:
    from cli.main import main as command  # noqa: PLC0415  Imported as a process would.

    kept, sys.argv = sys.argv, ["sallyport", "review", str(_ROOT / _FILE)]
    out, sys.stdout = sys.stdout, StringIO()
    try:
        with suppress(SystemExit):
            command()
    finally:
        sys.argv, sys.stdout = kept, out


def _product_file(name: str) -> str:
    path = Path(name)
    if not path.is_relative_to(_ROOT):
        return ""
    inside = path.relative_to(_ROOT)
    return "" if inside.parts[0] in _NOT_OURS else inside.as_posix()


def _print(what: str, entered: Entered, *, names: bool) -> None:
    count = f"{len(entered.files)} files, {len(entered.functions)} functions, {entered.hops} hops"
    print(f"{what}: {count}")
    if names:
        print("\n".join(f"  {file}" for file in entered.files))
