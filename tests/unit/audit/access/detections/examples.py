"""Stories that a detection must find, and stories on which it must be quiet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from audit.access.model.detection import Event
from core.weights.documents.events import Severity
from tests.unit.audit.access.detections.events import Around


@dataclass(frozen=True)
class Example:
    """A story for one detection."""

    detection: str
    name: str
    tell: Callable[[], Sequence[Event]]
    severities: tuple[Severity, ...] = ()
    """Of the findings, in their order; none where it must be quiet."""
    around: Callable[[], Around] = field(default=Around)


EXAMPLES: Final[list[Example]] = []


def fires(
    detection: str,
    name: str,
    tell: Callable[[], Sequence[Event]],
    *severities: Severity,
    around: Callable[[], Around] = Around,
) -> None:
    """Note a story with its findings."""
    assert severities
    EXAMPLES.append(Example(detection, name, tell, severities, around))


def quiet(
    detection: str,
    name: str,
    tell: Callable[[], Sequence[Event]],
    around: Callable[[], Around] = Around,
) -> None:
    """Note a story without findings of the detection."""
    EXAMPLES.append(Example(detection, name, tell, (), around))
