"""The operators' definitions are only what is pinned; what is missing is said."""

import json
import os
from pathlib import Path

import pytest

from tests.tools import definitions
from tests.tools.provide import CannotProvideError

JOBSET = "sigs.k8s.io/jobset"


@pytest.fixture
def fake_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file whose text the only `go` there is prints; its cache is empty."""
    answer = tmp_path / "answer"
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(f"#!/bin/sh\nexec /bin/cat {answer}\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(go.parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return answer


def test_without_go_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is in the cache, and nothing is left there."""
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(CannotProvideError, match=r"Go is missing: install Go 1\.26"):
        definitions.published()
    assert not list(tmp_path.rglob("*.json"))


def test_a_module_of_another_sum_is_not_taken(fake_go: Path, tmp_path: Path) -> None:
    """Whatever a proxy serves under the pinned version."""
    fake_go.write_text(
        "\n".join(
            json.dumps({"Path": module, "Dir": str(tmp_path), "Sum": "h1:other"})
            for module in definitions.FILES
        )
    )
    with pytest.raises(CannotProvideError, match=r"has the sum h1:other, but .*go\.sum says h1:"):
        definitions.published()


def test_a_module_that_cannot_be_had_is_named(fake_go: Path) -> None:
    """With its version and Go's own words."""
    module = next(iter(definitions.FILES))
    fake_go.write_text(json.dumps({"Path": module, "Error": "403 Forbidden"}))
    with pytest.raises(CannotProvideError, match=f"{module}@v.* cannot be had: 403 Forbidden"):
        definitions.published()


def test_every_module_is_pinned() -> None:
    """By version and sum, and none that is not read."""
    pins = definitions.pins()
    assert pins.keys() == definitions.FILES.keys()
    assert pins[JOBSET][1].startswith("h1:")


def test_only_descriptions_are_left_out() -> None:
    """Not a field of that name, nor a value that a schema gives."""
    schema = {
        "description": "prose",
        "default": {"description": "kept"},
        "properties": {"description": {"type": "string", "description": "prose"}},
    }
    assert definitions.without_descriptions(schema) == {
        "default": {"description": "kept"},
        "properties": {"description": {"type": "string"}},
    }
