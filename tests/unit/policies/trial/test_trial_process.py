"""A bundle is tried out in a process of its own, which gives way and may take only so much."""

import asyncio
import io
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from core.base.errors import BundleRefusedError, EngineAwayError
from policies.bundle.format import Bundle, BundleCase, read_bundle
from policies.engine.cache import CachedSample
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from policies.trial import child as trying
from policies.trial.child import NICE
from policies.trial.evaluation import TrialResult, try_out
from policies.trial.process import ProcessTrial
from policies.trial.wire import TrialOutcome
from tests.unit.policies.bundles import make_bundle, make_site_bundle, rule, signal
from tests.unit.policies.trial.test_trial import (
    CREATE,
    ENDLESS,
    HUNGRY,
    LIMITS,
    TRIGGER,
    asked,
    make,
)

SOON_S = 60.0


@pytest.fixture(scope="module")
def built_in(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """The built-in bundle."""
    return read_bundle(make_bundle(tmp_path_factory.mktemp("built")))


@pytest.fixture(scope="module")
def samples(built_in: Bundle) -> list[CachedSample]:
    """What was asked of it a moment ago."""
    engine = make(built_in)
    try:
        return asyncio.run(asked(engine))
    finally:
        engine.close()


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A bundle that never ends on one of these."""
    return read_bundle(make_bundle(tmp_path_factory.mktemp("b"), {"x.rego": rule(ENDLESS)}))


@pytest.fixture
def tried(
    built_in: Bundle, samples: list[CachedSample], tmp_path: Path
) -> Iterator[tuple[TrialResult, TrialResult]]:
    """A site's bundle that finds more, tried out in a process of its own, and in this one."""
    bundle = read_bundle(make_site_bundle(tmp_path, {"x.rego": signal()}))
    both = (
        ProcessTrial(LIMITS).try_out(bundle, make, samples, built_in),
        try_out(bundle, make, samples, built_in),
    )
    yield both
    for each in both:
        each.engine.close()


def test_trial_process_finds_the_same_as_the_engine(tried: tuple[TrialResult, TrialResult]) -> None:
    """What is compared, how it differs, and what the engine says afterwards."""
    own, here = tried
    for name in ("bundle", "compared", "differing", "differing_rules", "foreign"):
        assert getattr(own, name) == getattr(here, name)
    assert own.differing == 1
    assert own.engine.revision == here.engine.revision
    new = msgspec.json.encode({"containers": [], "hostNetwork": True})
    assert asyncio.run(own.engine.ask(new)) == asyncio.run(here.engine.ask(new))


def test_what_was_tried_is_remembered_here(tried: tuple[TrialResult, TrialResult]) -> None:
    """So that nothing is slow after the swap because all is new: the same as if tried here."""
    own, here = tried
    said = [each.said for each in own.engine.recent(500)]
    assert said == [each.said for each in here.engine.recent(500)]
    before = own.engine.misses
    answer = asyncio.run(own.engine.ask(TRIGGER))
    judged = asyncio.run(own.engine.judge(TRIGGER, answer, CREATE))
    assert "sandbox/acme/x" in {each.rule for each in judged.signals}
    assert own.engine.misses == before


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        (ENDLESS, r"asked lately fails: .*exceeded its time limit of 0\.3 s"),
        (HUNGRY, "asked lately fails: .*exceeded its memory limit of 16 MiB"),
        ('http.send({"method": "get", "url": "https://x.example"})', r"http\.send \(rego/x\.rego"),
    ],
    ids=["endless", "hungry", "calling"],
)
def test_what_is_refused_there_is_refused_here_with_the_reason(
    condition: str, why: str, built_in: Bundle, samples: list[CachedSample], tmp_path: Path
) -> None:
    """In the same words."""
    bundle = read_bundle(make_bundle(tmp_path, {"x.rego": rule(condition)}))
    with pytest.raises(BundleRefusedError, match=why):
        ProcessTrial(LIMITS).try_out(bundle, make, samples, built_in)


def test_what_takes_a_little_too_long_again_and_again_is_refused(
    built_in: Bundle, endless: Bundle
) -> None:
    """Each case ends in time, and all together do not."""
    limits = EvaluationLimits(seconds=5.0)
    case = BundleCase("long", msgspec.Raw(TRIGGER), needs=[])
    slow = Bundle(endless.wasm, endless.rules, endless.sources, endless.revision, cases=[case] * 9)
    with pytest.raises(BundleRefusedError, match="took more than 2 s of CPU time"):
        ProcessTrial(limits, cpu_s=2).try_out(slow, make, [], built_in)


def test_what_takes_too_much_memory_in_all_is_refused(built_in: Bundle) -> None:
    """Also outside an evaluation: where it is read, or compiled."""
    with pytest.raises(BundleRefusedError, match="24 MiB of memory"):
        ProcessTrial(LIMITS, room_bytes=8 << 20).try_out(built_in, make, [], built_in)


def test_wasmtime_without_memory_is_not_taken_for_a_fault_of_the_bundle(
    built_in: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its error comes back as a refusal, in the words of mmap."""
    refused = "its module cannot be used: mmap failed to reserve 0x10000 bytes"
    outcome = TrialOutcome(refused=f"{refused}: Cannot allocate memory (os error 12)")
    monkeypatch.setattr(ProcessTrial, "_asked", lambda _trial, _task: outcome)
    with pytest.raises(BundleRefusedError, match=r"^trying it out took more than \d+ MiB"):
        ProcessTrial(LIMITS).try_out(built_in, make, [], built_in)


def test_a_machine_that_is_too_busy_says_nothing_of_the_bundle(built_in: Bundle) -> None:
    """It is neither loaded nor refused, as where no process can be started."""
    with pytest.raises(EngineAwayError, match="too busy"):
        ProcessTrial(LIMITS, longest_s=0.01).try_out(built_in, make, [], built_in)


def test_where_no_process_can_be_started_nothing_is_known(
    built_in: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried again."""
    monkeypatch.setattr(sys, "executable", "/nonexistent")
    with pytest.raises(EngineAwayError, match="no process can be started"):
        ProcessTrial(LIMITS).try_out(built_in, make, [], built_in)


def test_trial_process_gives_way_and_ends_with_its_parent(
    built_in: Bundle, endless: Bundle
) -> None:
    """A gate that is told to stop does not wait for it."""
    case = BundleCase("endless", msgspec.Raw(TRIGGER), needs=[])
    bundle = Bundle(endless.wasm, endless.rules, endless.sources, endless.revision, cases=[case])
    confined = ProcessTrial(EvaluationLimits(seconds=SOON_S))
    failed: list[Exception] = []

    def work() -> None:
        try:
            confined.try_out(bundle, make, [], built_in)
        except EngineAwayError as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    end = time.monotonic() + SOON_S
    while not (child := confined._child):  # noqa: SLF001 -- nobody else knows of it
        assert time.monotonic() < end
    while os.getpriority(os.PRIO_PROCESS, child.pid) < os.getpriority(os.PRIO_PROCESS, 0) + NICE:
        assert time.monotonic() < end
        time.sleep(0.01)
    while Path(f"/proc/{child.pid}/oom_score_adj").read_text().strip() != "1000":
        assert time.monotonic() < end
        time.sleep(0.01)
    confined.stop()
    thread.join(SOON_S)
    assert not thread.is_alive()
    assert str(failed[0]) == "nobody waits for it any more"
    confined.try_out(built_in, make, [], built_in).engine.close()  # The next one is as any other.


def test_machine_code_never_comes_with_a_bundle(built_in: Bundle) -> None:
    """It is trusted, so only a process that this one started gives it; what is none is refused."""
    assert built_in.machine == b""
    with pytest.raises(BundleRefusedError, match="cannot be loaded"):
        EmbeddedEngine(replace(built_in, machine=b"no machine code"))


def test_where_the_kernel_cannot_be_told_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container that has no such file; a bundle is tried all the same."""
    monkeypatch.setattr(trying, "OOM_SCORE", Path("/nonexistent/oom_score_adj"))
    monkeypatch.setattr(trying, "NICE", 0)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"")))
    with pytest.raises(msgspec.DecodeError):  # Nothing came: it was past all that.
        trying.main()
