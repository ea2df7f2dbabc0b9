"""What hostile or broken policies can do to a gate: end their own evaluation, no more."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import wasmtime

from core.base.errors import EvaluationError, PolicyError
from core.decision.decision import Need
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from tests.unit.policies.bundles import make_bundle, rule

SECONDS = 0.4
SLOW = """some a in input.volumes
	some b in input.volumes
	some c in input.volumes
	some d in input.volumes
	a == b
	b == c
	c == d
	a != d"""
"""250 volumes to the fourth power: hours, were there no deadline; and it keeps nothing."""
GREEDY = """x := [concat("", [format_int(a, 10), format_int(b, 10), "xxxxxxxxxxxxxxxxxxxxxxxx"]) |
		some a in numbers.range(1, 400)
		some b in numbers.range(1, 400)
	]
	count(x) == 160000"""
"""Takes more than 16 MiB and less than 256."""

HARMLESS: dict[str, Any] = {
    "containers": [],
    "hostNetwork": True,
    "automount": False,
    "hostUsers": False,
}
ANSWER = [Need("privileges/host/network", "host/network", "spec.hostNetwork")]
TRIGGER: dict[str, Any] = {
    "os": "trigger",
    "containers": [],
    "volumes": [{"path": f"spec.volumes[{n}]", "name": f"v{n}"} for n in range(250)],
}


def evaluate(engine: EmbeddedEngine, projection: object) -> list[Need]:
    """Evaluate in this thread."""
    return list(engine.evaluate(json.dumps(projection).encode()).needs)


@contextmanager
def engine_on(
    folder: Path, site: str, limits: EvaluationLimits | None = None
) -> Iterator[EmbeddedEngine]:
    """Yield an engine on the built-in rules and one file of a site."""
    bundle = read_bundle(make_bundle(folder, {"x.rego": site}))
    engine = EmbeddedEngine(bundle, limits or EvaluationLimits(seconds=SECONDS))
    yield engine
    engine.close()


def test_trigger_is_met(tmp_path: Path) -> None:
    """The tests below are not vacuous: a site's condition is evaluated on the trigger alone."""
    with engine_on(tmp_path, rule("count(input.volumes) == 250")) as engine:
        assert Need("privileges/host/network", "site/found", "spec") in evaluate(engine, TRIGGER)
        assert evaluate(engine, HARMLESS) == ANSWER


def test_policy_that_does_not_end_is_ended_within_its_time(tmp_path: Path) -> None:
    """Within about twice the limit, each time; and the next Pod is judged rightly."""
    with engine_on(tmp_path, rule(SLOW)) as engine:
        for _ in range(3):
            start = time.monotonic()
            with pytest.raises(EvaluationError, match="exceeded its time limit"):
                evaluate(engine, TRIGGER)
            assert SECONDS * 0.9 < time.monotonic() - start < SECONDS * 2 + 0.5
            assert evaluate(engine, HARMLESS) == ANSWER


@pytest.mark.parametrize(
    ("body", "said"),
    [(SLOW, "exceeded its time limit"), ('units.parse("x") > input.volumes', "units.parse")],
    ids=["deadline", "host"],
)
def test_an_evaluation_fails_in_its_own_words(
    body: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last exception that wasmtime's binding keeps, for all threads, is another object's."""
    another = PolicyError("of another object")
    with engine_on(tmp_path, rule(body)) as engine:
        monkeypatch.setattr("wasmtime._func.LAST_EXCEPTION", another)
        with pytest.raises(EvaluationError, match=said):
            evaluate(engine, TRIGGER)
        assert wasmtime._func.LAST_EXCEPTION is another  # noqa: SLF001  None of ours is kept there.


def test_policy_that_eats_memory_is_ended(tmp_path: Path) -> None:
    """The cap is the limit's; the process does not grow by more, and the engine goes on."""
    with engine_on(tmp_path, rule(GREEDY), EvaluationLimits(30.0, 16 * 1024 * 1024)) as engine:
        before = resident()
        for _ in range(5):
            with pytest.raises(EvaluationError, match="exceeded its memory limit of 16 MiB"):
                evaluate(engine, TRIGGER)
            assert evaluate(engine, HARMLESS) == ANSWER
        assert resident() - before < 64 * 1024 * 1024


def test_policy_that_stays_below_the_cap_is_answered(tmp_path: Path) -> None:
    """The test above is not vacuous: it is the cap that ended it."""
    with engine_on(tmp_path, rule(GREEDY), EvaluationLimits(30.0, 256 * 1024 * 1024)) as engine:
        assert Need("privileges/host/network", "site/found", "spec") in evaluate(engine, TRIGGER)


def resident() -> int:
    """Return this process's resident memory, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.parametrize("depth", [1_000, 100_000])
def test_deep_recursion_ends_in_an_answer_or_an_error(tmp_path: Path, depth: int) -> None:
    """Rego has no recursion of its own; `walk` over deep input is as near as it gets."""
    site = rule("some path, value\n\twalk(input.deep, [path, value])\n\tcount(path) == 999")
    deep = b'{"os": "trigger", "containers": [], "deep": ' + b"[" * depth + b"]" * depth + b"}"
    with engine_on(tmp_path, site) as engine:
        if depth == 1_000:
            assert (
                Need("privileges/host/network", "site/found", "spec") in engine.evaluate(deep).needs
            )
        else:
            with pytest.raises(EvaluationError):
                engine.evaluate(deep)
        assert evaluate(engine, HARMLESS) == ANSWER


@pytest.mark.parametrize(
    "entry",
    [
        "1",
        '"host/network"',
        "{}",
        '{"privilege": "a"}',
        '{"path": "a"}',
        '{"privilege": 5, "path": "a"}',
        '{"privilege": null, "path": "a"}',
        '{"privilege": "a", "path": null}',
        '{"privilege": "a", "path": ["a"]}',
        '{"privilege": "a", "path": "b", "container": 1}',
        "[]",
        "true",
    ],
)
def test_answer_of_another_shape_is_an_error(tmp_path: Path, entry: str) -> None:
    """A need that cannot be read is never left out: the Pod might have been refused for it."""
    with engine_on(tmp_path, rule("true", entry)) as engine:
        with pytest.raises(EvaluationError, match="sallyport/needs/answer does not have"):
            evaluate(engine, TRIGGER)
        assert evaluate(engine, HARMLESS) == ANSWER


def test_conflicting_answers_are_an_error(tmp_path: Path) -> None:
    """A site that says otherwise of some Pods fails on those, with file and line."""
    site = 'package sallyport.needs\n\nresult := {} if input.os == "trigger"\n'
    with engine_on(tmp_path, site) as engine:
        with pytest.raises(EvaluationError, match=r"rego/x\.rego:3:1: var assignment conflict"):
            evaluate(engine, TRIGGER | {"hostPID": True})
        assert evaluate(engine, HARMLESS) == ANSWER


def test_input_that_is_too_large_is_an_error(tmp_path: Path) -> None:
    """Past the limit nothing is evaluated; up to it, it is."""
    with engine_on(tmp_path, rule("true"), EvaluationLimits(input_bytes=1024)) as engine:
        assert evaluate(engine, HARMLESS | {"os": "x" * 900}) == ANSWER
        with pytest.raises(EvaluationError, match="takes more than 1024 bytes"):
            evaluate(engine, HARMLESS | {"os": "x" * 1024})
        assert evaluate(engine, HARMLESS) == ANSWER


def test_time_of_each_evaluation_is_observed(tmp_path: Path) -> None:
    """Also of those that fail: the metric shows what the slow ones cost."""
    seen: list[float] = []
    bundle = read_bundle(make_bundle(tmp_path, {"x.rego": rule(SLOW)}))
    engine = EmbeddedEngine(bundle, EvaluationLimits(seconds=SECONDS), seen.append)
    seen.clear()
    evaluate(engine, HARMLESS)
    with pytest.raises(EvaluationError):
        evaluate(engine, TRIGGER)
    engine.close()
    assert len(seen) == 2
    assert 0 < seen[0] < SECONDS * 0.9 < seen[1]
