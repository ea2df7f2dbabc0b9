"""What a process that tries a bundle out is given, and what it answers."""

from collections.abc import Sequence
from typing import Final

import msgspec

from policies.bundle.format import Bundle, Case, Rule
from policies.engine.cache import Sample
from policies.engine.embedded_engine import Limits
from policies.engine.interface import A_POD, Answer, Judgement, Shown


class Seen(msgspec.Struct, frozen=True, array_like=True):
    """A sample, on its way: it holds an answer or a judgement."""

    answer: Answer | None
    judgement: Judgement | None
    projection: bytes | None
    context: bytes = b""
    shown: Shown = A_POD

    def sample(self) -> Sample:
        """Give it back."""
        said = self.answer if self.answer is not None else self.judgement
        return Sample(said or Judgement(), self.projection, self.context, self.shown)


class Task(msgspec.Struct, frozen=True, array_like=True):
    """What is to be tried."""

    bundle: Bundle
    """Without its cases."""
    cases: bytes
    """These as JSON, of which they hold parts that are not parsed."""
    built_in_rules: dict[str, Rule]
    built_in_sources: dict[str, str]
    seen: list[Seen]
    limits: Limits
    cpu_s: int
    """CPU time that it may take in all."""
    memory_bytes: int
    """Memory of the whole process, beside what it maps from files."""


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """What became of it."""

    refused: str = ""
    """Why; empty where it is not."""
    machine: bytes = b""
    """The machine code that was compiled."""
    compared: int = 0
    differing: int = 0
    differing_rules: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    seen: list[Seen] = []
    """What the new bundle says of what it was asked, the latest first."""


CASES: Final = msgspec.json.Decoder(tuple[Case, ...])
TASKS: Final = msgspec.msgpack.Decoder(Task)
OUTCOMES: Final = msgspec.msgpack.Decoder(Outcome)
ENCODER: Final = msgspec.msgpack.Encoder()


def seen_of(samples: Sequence[Sample]) -> list[Seen]:
    """Make samples ready to be sent."""
    return [
        Seen(
            each.said if isinstance(each.said, Answer) else None,
            each.said if isinstance(each.said, Judgement) else None,
            each.projection,
            each.context,
            each.shown,
        )
        for each in samples
    ]
