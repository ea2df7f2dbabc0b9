"""Asks two bundles about recorded inputs, in processes of their own."""

import asyncio
import multiprocessing
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from admission.replay.evaluation import BundleAnswer, BundleAsker, find_group_names, read_inputs
from app.settings.policies import EvaluationSection
from app.wiring import load_embedded
from policies import BUILT_IN_BUNDLE
from policies.bundle.format import read_bundle

_ENCODER: Final = msgspec.msgpack.Encoder(order="deterministic")
_DECODER: Final = msgspec.msgpack.Decoder(BundleAnswer)


class RecordedInput(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What policies were shown of a request, as the ledger has it; empty: it has nothing."""

    kind: str
    asked: bool
    projection: bytes = b""
    context: bytes = b""
    fields: bytes = b""


@dataclass(frozen=True)
class ComparedBundles:
    """What is compared."""

    base: Path | None
    """None for the built-in bundle."""
    candidate: Path
    evaluation: EvaluationSection
    """The limits of an evaluation."""
    points: Mapping[str, int]
    """The site's own points of signals."""


class _Process:
    """What one process has."""

    askers: tuple[BundleAsker, BundleAsker]
    names: Mapping[str, str]
    """Of groups, as the record has them."""


def load_bundles(bundles: ComparedBundles) -> None:
    """Load both bundles into this process.

    Raises:
        BundleRefusedError: one cannot be put in force.
    """
    paths = [each or BUILT_IN_BUNDLE for each in (bundles.base, bundles.candidate)]
    texts = [text for path in paths for text in read_bundle(path).sources.values()]
    _Process.names = find_group_names(texts)
    engines = [load_embedded(read_bundle(path), bundles.evaluation) for path in paths]
    _Process.askers = (
        BundleAsker(engines[0], bundles.points),
        BundleAsker(engines[1], bundles.points),
    )


def ask_both(recorded: Sequence[RecordedInput]) -> list[tuple[bytes, bytes]]:
    """Return for each what the base says and what the candidate does, encoded."""
    return asyncio.run(_ask(recorded))


async def _ask(recorded: Sequence[RecordedInput]) -> list[tuple[bytes, bytes]]:
    base, candidate = _Process.askers
    answers = []
    for each in recorded:
        try:
            content = each.projection, each.context, each.fields
            inputs = read_inputs(each.kind, *content, _Process.names, asked=each.asked)
        except ValueError as error:
            said = BundleAnswer(error=f"the record cannot be read: {error}")
            answers.append((_ENCODER.encode(said),) * 2)
            continue
        both = await base.ask(inputs), await candidate.ask(inputs)
        answers.append((_ENCODER.encode(both[0]), _ENCODER.encode(both[1])))
    return answers


def decode_said(content: bytes) -> BundleAnswer:
    """Read what a bundle said."""
    return _DECODER.decode(content)


def open_pool(bundles: ComparedBundles, jobs: int) -> Executor:
    """Return processes that have both bundles loaded; for one job a thread of this process.

    Each is a fresh interpreter: what runs in threads here does not survive a fork.
    """
    if jobs == 1:
        return ThreadPoolExecutor(1, "replay", load_bundles, (bundles,))
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, context, initializer=load_bundles, initargs=(bundles,))
