"""`judge`: what it sees, what hostile or broken signals of a site do to it, and how it fails."""

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from core.base.errors import EvaluationError
from core.sandbox.decision import Signal
from policies.bundle.format import read_bundle
from policies.engine.cache import RememberingEngine
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from policies.engine.interface import Judgement, PolicyAnswer
from policies.projection.model import Context, encode_context
from tests.tools.provide import provide
from tests.unit.policies.bundles import make_site_bundle, signal
from tests.unit.policies.engine.test_engine_limits import GREEDY, SLOW, resident
from tests.unit.policies.projection.contexts import CONTEXTS

SECONDS = 0.4
LIMITS = EvaluationLimits(seconds=SECONDS)
HARMLESS: dict[str, Any] = {"containers": []}
TRIGGER: dict[str, Any] = {
    "os": "trigger",
    "containers": [],
    "volumes": [{"path": f"spec.volumes[{n}]"} for n in range(250)],
}
ORDINARY = Context("CREATE", requester="human")
OPEN = Context("CREATE", services=("web",))
FOUND = (Signal("sandbox/exposure/service", "metadata.labels", "web"),)


def judge(engine: EmbeddedEngine | RememberingEngine, seen: object, context: Context) -> Judgement:
    """Judge, having asked about nothing."""
    document = json.dumps(seen).encode()
    return asyncio.run(engine.judge(document, PolicyAnswer(()), encode_context(context)))


@contextmanager
def engine_on(
    folder: Path, text: str, limits: EvaluationLimits = LIMITS
) -> Iterator[EmbeddedEngine]:
    """Yield an engine on the built-in policies and one signal of a site."""
    engine = EmbeddedEngine(read_bundle(make_site_bundle(folder, {"x.rego": text})), limits)
    yield engine
    engine.close()


def test_each_circumstance_is_a_signal(builtin_engine: EmbeddedEngine) -> None:
    """All at once, ordered by path; the object does not matter to the built-in ones."""
    context = Context("CONNECT", "attach", new_service_account=True, services=("a", "b"))
    expected = (
        Signal("sandbox/actor/entered", "", "attach"),
        Signal("sandbox/exposure/service", "metadata.labels", "a"),
        Signal("sandbox/exposure/service", "metadata.labels", "b"),
        Signal("sandbox/actor/new_service_account", "spec.serviceAccountName", ""),
    )
    assert judge(builtin_engine, HARMLESS, context).signals == expected
    assert judge(builtin_engine, TRIGGER, context).signals == expected
    assert judge(builtin_engine, HARMLESS, ORDINARY) == Judgement()


@pytest.mark.parametrize(
    "context",
    [b"", b"{", b"null", b"{}", b'{"operation": "CONNECT"}', b"[]", b'{"absent": 5}', b"\xff"],
)
def test_a_context_that_cannot_be_read_is_an_error(
    builtin_engine: EmbeddedEngine, context: bytes
) -> None:
    """No request in which nothing counts."""
    with pytest.raises(EvaluationError):
        asyncio.run(builtin_engine.judge(b'{"containers":[]}', PolicyAnswer(()), context))
    assert judge(builtin_engine, HARMLESS, OPEN).signals == FOUND


@pytest.mark.parametrize("projection", [b"", b"{", b"null", b"{}", b"[]", b'{"containers": null}'])
def test_an_object_that_cannot_be_read_is_an_error_for_a_site(
    tmp_path: Path, projection: bytes
) -> None:
    """Its signals would be undefined, and find nothing."""
    with engine_on(tmp_path, signal()) as engine, pytest.raises(EvaluationError):
        asyncio.run(engine.judge(projection, PolicyAnswer(()), encode_context(ORDINARY)))


def test_a_signal_that_does_not_end_is_ended_within_its_time(tmp_path: Path) -> None:
    """Within about twice the limit, each time; and the next Pod is judged rightly."""
    with engine_on(tmp_path, signal(SLOW.replace("input.", "input.projection."))) as engine:
        for _ in range(3):
            start = time.monotonic()
            with pytest.raises(EvaluationError, match="exceeded its time limit"):
                judge(engine, TRIGGER, ORDINARY)
            assert SECONDS * 0.9 < time.monotonic() - start < SECONDS * 2 + 0.5
            assert judge(engine, HARMLESS, OPEN).signals == FOUND


def test_a_signal_that_eats_memory_is_ended(tmp_path: Path) -> None:
    """The cap is the limit's; the process does not grow by more, and the engine goes on."""
    limits = EvaluationLimits(30.0, 16 * 1024 * 1024)
    with engine_on(tmp_path, signal(GREEDY), limits) as engine:
        before = resident()
        for _ in range(5):
            with pytest.raises(EvaluationError, match="memory limit of"):
                judge(engine, TRIGGER, ORDINARY)
            assert judge(engine, HARMLESS, OPEN).signals == FOUND
        assert resident() - before < 64 * 1024 * 1024


def test_signals_without_end_are_an_error(tmp_path: Path) -> None:
    """They fit into the policies' memory, and not into an answer."""
    many = "some n in numbers.range(1, 20000)"
    entry = '{"path": format_int(n, 10), "value": ""}'
    with engine_on(tmp_path, signal(many, entry=entry), EvaluationLimits(seconds=20.0)) as engine:
        with pytest.raises(EvaluationError, match="answered with more than 262144 bytes"):
            judge(engine, TRIGGER, ORDINARY)
        assert judge(engine, HARMLESS, OPEN).signals == FOUND


@pytest.mark.parametrize(
    "entry",
    [
        "1",
        '"spec"',
        "{}",
        "[]",
        "null",
        '{"path": "spec"}',
        '{"value": "v"}',
        '{"path": 5, "value": "v"}',
        '{"path": "spec", "value": null}',
        '{"path": "spec", "value": ["v"]}',
        '{"path": "spec", "value": "v", "container": 1}',
    ],
)
def test_a_signal_of_another_shape_is_an_error(tmp_path: Path, entry: str) -> None:
    """It is never left out: the Pod might have been isolated for it."""
    with engine_on(tmp_path, signal(entry=entry)) as engine:
        with pytest.raises(EvaluationError, match="sallyport/judge/answer does not have"):
            judge(engine, TRIGGER, ORDINARY)
        assert judge(engine, HARMLESS, OPEN).signals == FOUND


def test_a_site_takes_no_built_in_signal_away(tmp_path: Path) -> None:
    """Not by mocking it for itself, nor by an entry of its own that looks like it."""
    mock = (
        "count(data.sallyport.sandbox.exposure.service.signals) == 0"
        " with data.sallyport.sandbox.exposure.service.signals as set()"
    )
    entry = '{"path": "metadata.labels", "value": "web"}'
    with engine_on(tmp_path, signal(mock, entry=entry)) as engine:
        found = judge(engine, TRIGGER, OPEN).signals
        assert set(found) == {*FOUND, Signal("sandbox/acme/x", "metadata.labels", "web")}


def test_an_input_that_is_too_large_is_an_error(tmp_path: Path) -> None:
    """The context counts, and for a site's signals the object and what it needs."""
    with engine_on(tmp_path, signal(), EvaluationLimits(input_bytes=4096)) as engine:
        many = tuple(f"service-{n}" for n in range(400))
        for seen, context in (
            (HARMLESS, Context("CREATE", services=many)),
            ({"containers": [], "os": "x" * 4096}, OPEN),
        ):
            with pytest.raises(EvaluationError, match="takes more than 4096 bytes"):
                judge(engine, seen, context)
        assert judge(engine, HARMLESS, OPEN).signals == FOUND


def test_what_is_large_leaves_the_event_loop_free(tmp_path: Path) -> None:
    """Others are judged meanwhile."""
    slow = signal(
        "every a in input.projection.volumes {\n\t\tsome b in input.projection.volumes\n"
        "\t\ta.path == b.path\n\t}"
    )
    seen = {
        "os": "trigger",
        "containers": [],
        "volumes": [{"path": f"{n:0200}"} for n in range(400)],
    }

    async def both(engine: EmbeddedEngine) -> tuple[Judgement, int]:
        document = json.dumps(seen).encode()
        task = asyncio.create_task(
            engine.judge(document, PolicyAnswer(()), encode_context(ORDINARY))
        )
        turns = 0
        while not task.done():
            await asyncio.sleep(0)
            turns += 1
        return await task, turns

    with engine_on(tmp_path, slow, EvaluationLimits(seconds=20.0)) as engine:
        found, turns = asyncio.run(both(engine))
    assert found.signals == (Signal("sandbox/acme/x", "spec", "v"),)
    assert turns > 10


def test_compiled_policies_agree_with_opa(tmp_path: Path) -> None:
    """For 200 contexts and objects, WebAssembly and OPA's interpreter give the same signals."""
    cases: list[dict[str, Any]] = []
    objects = st.sampled_from([HARMLESS, {"os": "trigger", "containers": []}])

    @settings(max_examples=200, database=None, derandomize=True, phases=[Phase.generate])
    @given(context=CONTEXTS, seen=objects)
    def collect(context: Context, seen: dict[str, Any]) -> None:
        document = msgspec.json.decode(encode_context(context))
        shown = {"kind": "Pod", "fields": {}, "projection": seen}
        cases.append({"context": document, "needs": [], **shown})

    collect()
    with engine_on(tmp_path, signal("count(input.context.groups) > 0")) as engine:
        found = [
            asyncio.run(
                engine.judge(
                    json.dumps(case["projection"]).encode(),
                    PolicyAnswer(()),
                    json.dumps(case["context"]).encode(),
                )
            )
            for case in cases
        ]
    answers = interpreted(tmp_path, cases)
    assert len(answers) == len(cases) >= 200
    assert any(judged.signals for judged in found)
    for case, answer, judged in zip(cases, answers, found, strict=True):
        assert set(judged.signals) == {
            Signal(f"sandbox/{rule}", entry["path"], entry["value"], entry.get("container"))
            for rule, entries in answer["signals"].items()
            for entry in entries
        }, case


def interpreted(folder: Path, cases: list[dict[str, Any]]) -> Any:
    """Return OPA's own answers, from the sources that the bundle holds."""
    for name, text in read_bundle(folder / "bundle.tar.gz").sources.items():
        path = folder / "sources" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    query = "[r | some p in input; r := data.sallyport.judge.answer with input as p]"
    done = subprocess.run(
        [provide("opa"), "eval", "-d", "sources", "-I", "-f", "json", query],
        cwd=folder,
        input=json.dumps(cases).encode(),
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)["result"][0]["expressions"][0]["value"]


def test_what_is_remembered_is_what_is_judged(tmp_path: Path) -> None:
    """For any sequence of objects and contexts, on a bundle whose signals see both."""
    objects = st.sampled_from([HARMLESS, TRIGGER, {"os": "trigger", "containers": []}])
    with engine_on(tmp_path, signal("count(input.context.groups) > 0")) as engine:
        remembering = RememberingEngine(engine, 8)

        @settings(max_examples=200, database=None, phases=[Phase.generate])
        @given(context=CONTEXTS, seen=objects)
        def agree(context: Context, seen: dict[str, Any]) -> None:
            for _ in range(2):
                assert judge(remembering, seen, context) == judge(engine, seen, context)

        agree()
