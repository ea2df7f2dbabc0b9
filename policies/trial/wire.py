"""What the process that tries a bundle out is given, and what it answers."""

from collections.abc import Sequence
from typing import Final

import msgspec

from policies.bundle.format import Bundle, BundleCase, Rule
from policies.engine.cache import CachedSample
from policies.engine.embedded_engine import EvaluationLimits
from policies.engine.interface import A_POD, Judgement, PolicyAnswer, ShownFields

CASES: Final = msgspec.json.Decoder(tuple[BundleCase, ...])

ENCODER: Final = msgspec.msgpack.Encoder()


class WireSample(msgspec.Struct, frozen=True, array_like=True):
    """A sample, on its way: it holds an answer or a judgement."""

    answer: PolicyAnswer | None
    judgement: Judgement | None
    projection: bytes | None
    context: bytes = b""
    shown: ShownFields = A_POD

    def sample(self) -> CachedSample:
        """Return the sample that was sent."""
        said = self.answer if self.answer is not None else self.judgement
        return CachedSample(said or Judgement(), self.projection, self.context, self.shown)


class TrialTask(msgspec.Struct, frozen=True, array_like=True):
    """What is to be tried."""

    bundle: Bundle
    """Without its cases."""
    cases: bytes
    """These as JSON, of which they hold parts that are not parsed."""
    built_in_rules: dict[str, Rule]
    built_in_sources: dict[str, str]
    seen: list[WireSample]
    limits: EvaluationLimits
    cpu_s: int
    """CPU time that it may take in all."""
    memory_bytes: int
    """Memory of the whole process, beside what it maps from files."""


class TrialOutcome(msgspec.Struct, frozen=True, array_like=True):
    """What became of it."""

    refused: str = ""
    """Why; empty where it is not."""
    machine: bytes = b""
    """The machine code that was compiled."""
    compared: int = 0
    differing: int = 0
    differing_rules: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    seen: list[WireSample] = []
    """What the new bundle says of what it was asked, the latest first."""


TASKS: Final = msgspec.msgpack.Decoder(TrialTask)
OUTCOMES: Final = msgspec.msgpack.Decoder(TrialOutcome)


def encode_samples(samples: Sequence[CachedSample]) -> list[WireSample]:
    """Make samples ready to be sent."""
    return [
        WireSample(
            each.said if isinstance(each.said, PolicyAnswer) else None,
            each.said if isinstance(each.said, Judgement) else None,
            each.projection,
            each.context,
            each.shown,
        )
        for each in samples
    ]
