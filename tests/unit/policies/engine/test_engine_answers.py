"""An answer that lacks something, or has it in another shape, is an error and no silence."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import BundleRefusedError, EvaluationError
from core.sandbox.decision import Feature, Signal
from policies.engine.entry_points import MOST_OF_JUDGEMENT, read_answer, read_judgement
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


JUDGED: dict[str, Any] = {
    "absent": 3,
    "signals": {
        "exposure/service": [{"path": "b", "value": "web"}, {"path": "b", "value": "api"}],
        "actor/entered": [{"path": "", "value": "exec", "container": "c"}],
    },
}


def answered(answer: dict[str, Any]) -> bytes:
    """Return an answer as the compiled policies write it."""
    return json.dumps([{"result": answer}]).encode()


def test_a_whole_answer_is_read_and_ordered() -> None:
    """Signals and features come by path, under the names that rules have in messages."""
    found = read_answer(answered(WHOLE))
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
        read_answer(answered(answer))


@pytest.mark.parametrize(
    "entry",
    [{}, {"path": "a"}, {"value": "a"}, {"path": 1, "value": "a"}, {"path": "a", "value": 1}],
)
def test_signal_of_another_shape_is_an_error(entry: dict[str, Any]) -> None:
    """It might have been the one that makes the sandbox necessary."""
    with pytest.raises(EvaluationError):
        read_answer(answered(WHOLE | {"signals": {"code/notebook": [entry]}}))


@pytest.mark.parametrize("entry", [{}, {"path": "a"}, {"name": "gpu"}, {"name": 1, "path": "a"}])
def test_feature_of_another_shape_is_an_error(entry: dict[str, Any]) -> None:
    """It might have been the one that the sandbox cannot run."""
    with pytest.raises(EvaluationError):
        read_answer(answered(WHOLE | {"features": [entry]}))


def test_a_judgement_is_read_and_ordered() -> None:
    """By path, then by rule and value."""
    assert read_judgement(answered(JUDGED)).signals == (
        Signal("sandbox/actor/entered", "", "exec", "c"),
        Signal("sandbox/exposure/service", "b", "api"),
        Signal("sandbox/exposure/service", "b", "web"),
    )


@pytest.mark.parametrize("part", JUDGED)
@pytest.mark.parametrize("value", ["absent", None, "x"], ids=str)
def test_every_part_of_a_judgement_must_be_there(part: str, value: object) -> None:
    """A site's signals that are undefined are not signals that found nothing."""
    answer = {key: each for key, each in JUDGED.items() if key != part}
    if value != "absent":
        answer[part] = value
    with pytest.raises(EvaluationError, match="sallyport/judge/answer does not have"):
        read_judgement(answered(answer))


@pytest.mark.parametrize("text", [b"[]", b"[{}]", b"", b"{}", b"\xff"])
def test_an_undefined_judgement_is_an_error(text: bytes) -> None:
    """The result set of what is undefined is empty."""
    with pytest.raises(EvaluationError, match="sallyport/judge/answer does not have"):
        read_judgement(text)


def test_a_judgement_has_a_longest() -> None:
    """A site's rule that gives signals without end does not take the gate's memory."""
    entry = {"path": "p" * 100, "value": ""}
    many = JUDGED | {"signals": {"a/b": [entry] * (MOST_OF_JUDGEMENT // 100)}}
    with pytest.raises(EvaluationError, match="answered with more than 262144 bytes"):
        read_judgement(answered(many))


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
