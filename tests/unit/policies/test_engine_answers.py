"""An answer that lacks something, or has it in another shape, is an error and no silence."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import BundleRefusedError, EvaluationError
from core.sandbox import Feature, Signal
from policies.engine.embedded import _read
from tests.unit.policies.bundles import make_bundle

WHOLE: dict[str, Any] = {
    "containers": 1,
    "needs": {},
    "denials": {},
    "signals": {
        "code/installs": [{"path": "b", "value": "pip", "container": "c"}],
        "code/notebook": [{"path": "a", "value": "jupyter"}],
    },
    "features": [{"name": "rdma", "path": "b", "container": "c"}, {"name": "gpu", "path": "a"}],
}


def answered(answer: dict[str, Any]) -> bytes:
    """Give an answer as the compiled policies write it."""
    return json.dumps([{"result": answer}]).encode()


def test_a_whole_answer_is_read_and_ordered() -> None:
    """Signals and features come by path, under the names that rules have in messages."""
    found = _read(answered(WHOLE))
    assert found.signals == (
        Signal("sandbox/code/notebook", "a", "jupyter"),
        Signal("sandbox/code/installs", "b", "pip", "c"),
    )
    assert found.features == (Feature("gpu", "a"), Feature("rdma", "b", "c"))


@pytest.mark.parametrize("part", WHOLE)
@pytest.mark.parametrize("value", ["absent", None, 1, "x"], ids=str)
def test_every_part_must_be_there(part: str, value: object) -> None:
    """Signals that an older bundle does not give are not signals that nobody found."""
    answer = {key: each for key, each in WHOLE.items() if key != part}
    if value != "absent":
        answer[part] = "1" if value == 1 else value
    with pytest.raises(EvaluationError, match="sallyport/needs/answer does not have"):
        _read(answered(answer))


@pytest.mark.parametrize(
    "entry",
    [{}, {"path": "a"}, {"value": "a"}, {"path": 1, "value": "a"}, {"path": "a", "value": 1}],
)
def test_signal_of_another_shape_is_an_error(entry: dict[str, Any]) -> None:
    """It might have been the one that makes the sandbox necessary."""
    with pytest.raises(EvaluationError):
        _read(answered(WHOLE | {"signals": {"code/notebook": [entry]}}))


@pytest.mark.parametrize("entry", [{}, {"path": "a"}, {"name": "gpu"}, {"name": 1, "path": "a"}])
def test_feature_of_another_shape_is_an_error(entry: dict[str, Any]) -> None:
    """It might have been the one that the sandbox cannot run."""
    with pytest.raises(EvaluationError):
        _read(answered(WHOLE | {"features": [entry]}))


def test_site_signal_without_points_is_refused(tmp_path: Path) -> None:
    """Built beside the built-in ones, it must say what it weighs."""
    text = """# METADATA
# scope: package
# title: Site
# description: Of the site.
# custom:
#   since: 1
#   message: does it
#   remedy: Leave it.
package sallyport.sandbox.site.thing

signals := set()
"""
    with pytest.raises(BundleRefusedError, match="sandbox/site/thing: METADATA lacks 'points'"):
        make_bundle(tmp_path, {"thing.rego": text})
