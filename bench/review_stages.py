"""The time of each stage of one review, in this process, on one core."""

import asyncio
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from admission.chain import run_checks
from admission.model.candidates import candidates
from admission.model.facts import Facts
from admission.model.messages import refusal_message
from admission.profiles.access_reviews import ProfileRights
from app.settings.root import Settings
from app.wiring import make_engine, make_judge, modes_of
from audit.ledger.records.frames import FrameKind, decision_frame_id
from audit.ledger.spool.queue import Spool, SpoolSettings
from bench.reviews import GANG, USUAL, Pods
from bench.server_rig import stage_cluster
from core.decision.decision import Decision
from core.decision.document import build_document, encode_document
from core.decision.request import Request
from core.kubernetes.pod import decode_pod
from core.profiles.container_profiles import ProfileSet
from kube.cluster.folder import FolderCluster, read_profiles
from policies import BUILT_IN_BUNDLE, SHIPPED_PROFILES
from policies.bundle.format import read_bundle
from policies.engine.cache import RememberingEngine
from policies.engine.embedded_engine import EmbeddedEngine
from policies.projection.model import encode
from policies.projection.pods import project
from webhooks.log import LogSettings, configure_logs, get_logger, log_decision
from webhooks.review_decoder import decode_review
from webhooks.review_encoder import encode_answer

_TIMES: Final = 1000
_BUDGET_S: Final = 5.0
_EVALUATE: Final = "evaluate"
_REMEMBERED: Final = "memory"
"""In the place of an evaluation, for what was evaluated before."""

Stage = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """One review, taken as far as each stage needs it."""

    body: bytes
    request: Request
    facts: Facts
    decision: Decision


@dataclass(frozen=True)
class Bench:
    """The parts of a gate."""

    runner: asyncio.Runner
    engine: EmbeddedEngine
    remembering: RememberingEngine
    cluster: FolderCluster
    settings: Settings
    spool: Spool

    def case(self, pods: Pods, number: int) -> Case:
        """Judge one review."""
        body = pods.review(number)
        judge = make_judge(self.cluster, self.remembering, self.settings)
        request = decode_review(body)
        place = self.runner.run(self.cluster.namespace(request.namespace))
        mode = modes_of(self.settings.rollout, self.settings.default_mode).of(place)
        facts = self.runner.run(judge.gatherer.gather(request, place, mode))
        decision = self.runner.run(judge.validate(request, budget=_BUDGET_S))
        return Case(body, request, facts, decision)

    def stages(self, case: Case, profiles: ProfileSet | None = None) -> Iterator[tuple[str, Stage]]:
        """Yield the stages in their order; each does again what it did for the case."""
        request, facts, decision = case.request, case.facts, case.decision
        known = facts.pod
        if known is None:
            raise ValueError("the review is left alone: it has no stages")
        pod = decode_pod(request.object or b"")
        projection = project(pod)
        since = dict.fromkeys(known.privileges, 1)
        yield "decode AdmissionReview", partial(decode_review, case.body)
        yield "project", partial(project, pod)
        yield "encode", partial(encode, projection)
        yield _EVALUATE, partial(self.engine.evaluate, known.projection)
        yield _REMEMBERED, partial(_finish, self.remembering.ask, known.projection)
        yield (
            "candidates",
            lambda: candidates(profiles or facts.profiles, facts.namespace, since),
        )
        yield "rights", partial(_finish, self._rights, facts, request)
        yield "chain", partial(run_checks, request, facts)
        outcomes = run_checks(request, facts)
        refusing = [outcome for outcome in outcomes if outcome.denies]
        if refusing:
            yield "wording", partial(refusal_message, request.what, refusing, decision.id)
        yield from self._after(request, decision)

    def _after(self, request: Request, decision: Decision) -> Iterator[tuple[str, Stage]]:
        logger = get_logger()

        def document() -> bytes:
            return encode_document(
                build_document(
                    "validate",
                    request,
                    decision,
                    cluster="bench",
                    seconds=0.001,
                    name_subject=attrgetter("label"),
                    patches=[],
                    digest="",
                )
            )

        content = document()
        frame = decision_frame_id(decision.id)
        yield "document", document
        yield "spool", partial(self.spool.append, FrameKind.DECISION, frame, content)
        yield "log", partial(log_decision, logger, "validate", request, decision, 0.001)
        yield "encode answer", partial(encode_answer, request, decision, [])

    async def _rights(self, facts: Facts, request: Request) -> object:
        pod = facts.pod
        if pod is None:
            return None
        rights = ProfileRights(self.cluster, pod.subjects, request.namespace)
        return await rights.usable(pod.candidates, advise=True)


def time_stages() -> dict[str, float]:
    """Return the median µs of each stage of the mix that is sent: half admitted, half refused."""
    columns = stage_columns()
    names = dict.fromkeys(name for column in columns.values() for name in column)
    return {
        name: (columns["admitted"].get(name, 0.0) + columns["refused"].get(name, 0.0)) / 2
        for name in names
    }


def stage_columns() -> Mapping[str, Mapping[str, float]]:
    """Return the median µs of each stage: of an admitted Pod, a refused one, a gang's."""
    with opened() as bench:
        cases = {
            "admitted": bench.case(USUAL, 0),
            "refused": bench.case(USUAL, 1),
            "gang": bench.case(GANG, 0),
        }
        columns = {
            name: bench.runner.run(_medians(bench.stages(case))) for name, case in cases.items()
        }
    for name, column in columns.items():
        del column[_EVALUATE if name == "gang" else _REMEMBERED]
    return columns


@contextmanager
def opened() -> Iterator[Bench]:
    """Yield the parts of a gate, in this process, with a spool of its own."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="sallyport-bench-")))
        log = stack.enter_context((folder / "log").open("ab"))
        stack.callback(configure_logs(LogSettings(descriptor=log.fileno())).close)
        settings = Settings()
        engine = EmbeddedEngine(read_bundle(BUILT_IN_BUNDLE))
        stack.callback(engine.close)
        remembering = make_engine(None, settings.evaluation)
        stack.callback(remembering.close)
        spool = Spool(folder / "spool", SpoolSettings(), lambda _: None, lambda _: None)
        spool.open()
        stack.callback(spool.close)
        example = stage_cluster(folder / "cluster")
        cluster = FolderCluster(example, shipped=read_profiles([SHIPPED_PROFILES]))
        runner = stack.enter_context(asyncio.Runner())
        yield Bench(runner, engine, remembering, cluster, settings, spool)


def _finish(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a coroutine function that never has to wait, as nearly all do on this path."""
    try:
        function(*arguments).send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("the stage had to wait: it cannot be timed so")


async def _medians(stages: Iterable[tuple[str, Stage]]) -> dict[str, float]:
    """Return the median µs of each stage: the CPU of this thread, whoever else is busy.

    In a running loop, since a stage may ask it for the time.
    """
    return {name: median_us(stage) for name, stage in stages}


def median_us(stage: Stage) -> float:
    """Return the median µs of this thread's CPU that a stage takes."""
    times = []
    for _ in range(_TIMES):
        start = time.thread_time_ns()
        stage()
        times.append(time.thread_time_ns() - start)
    return statistics.median(times) / 1000
