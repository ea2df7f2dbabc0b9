"""What `make test` tries once more, and what that changes."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.run import MOST, main, worth_trying

ONCE = """
from pathlib import Path
def test_fails_once():
    tried = Path("tried")
    tried.touch() if (first := not tried.exists()) else None
    assert not first
"""
ALWAYS = "def test_fails(): assert False"
PASSES = "def test_passes(): pass"


@pytest.fixture(autouse=True)
def _without_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)


@pytest.mark.parametrize(
    ("files", "code", "said"),
    [
        ({"tests/api/test_a.py": PASSES}, 0, ""),
        ({"tests/api/test_a.py": ONCE, "tests/unit/test_b.py": PASSES}, 0, "FLAKY: 1"),
        ({"tests/api/test_a.py": ALWAYS}, 1, "once more"),
        ({"tests/api/test_a.py": ONCE, "tests/node/test_b.py": ALWAYS}, 1, "once more"),
        ({"tests/unit/test_a.py": ONCE}, 1, ""),
        ({"tests/api/test_a.py": "import nothing_of_the_kind"}, 1, "once more"),
    ],
    ids=["passes", "once", "always", "one-of-two-always", "unit", "not-collected"],
)
def test_only_chance_is_forgiven(
    files: Mapping[str, str],
    code: int,
    said: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """And aloud."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert bool(main(tmp_path)) == bool(code)
    printed = capfd.readouterr().out
    assert said in printed
    assert ("FLAKY" in printed) == said.startswith("FLAKY")


def test_many_failures_are_no_chance() -> None:
    """Nor is one outside of the folders with real servers."""
    few = [f"tests/api/test_{each}.py::test" for each in range(MOST)]
    assert worth_trying(few) == few
    assert worth_trying([*few, "tests/api/more.py::test"]) == []
    assert worth_trying([few[0], "tests/unit/test_a.py::test"]) == []
