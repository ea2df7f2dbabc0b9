"""Shows events to the detections that want them, and keeps what these remember.

Events should come in the order of their times (`audit.access.ingest.event_order`); what comes
later is judged by what is left, and its findings say so. Nothing here asks a clock or a network.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from audit.access.detections.catalogue import DETECTIONS
from audit.access.model.blob_reads import BlobReads, note_blob
from audit.access.model.detection import (
    Detection,
    DetectionSurroundings,
    Event,
    EventContext,
    YoungBaseline,
)
from audit.access.model.findings import make_failure_finding
from core.base.errors import SettingsError
from core.base.ids import uuid7_unix_ms
from core.base.times import DAY_S
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Activity, Finding, LogGap, Topic

FORMAT: Final = 1
"""Of snapshots. One of another format is not read: the engine begins anew and says so."""

_MOST_KNOWN: Final = 32_768
"""Ids of events that are known, twice over: what comes again within them is not seen twice."""

Seer = tuple[Detection, Callable[[Any, Any, EventContext], Sequence[Finding]], Any]


class BrokenDetection(msgspec.Struct, kw_only=True):
    """How often a detection failed, and on what last."""

    times: int = 0
    error: str = ""
    """Name of the exception; its text may quote what a caller chose, and is not kept."""
    day: int = -1


class _Snapshot(msgspec.Struct, kw_only=True):
    format: int
    newest: float
    known: list[int]
    known_before: list[int]
    unraised: dict[str, int]
    broken: dict[str, BrokenDetection]
    states: dict[str, msgspec.Raw]
    reads: BlobReads = {}


_FORMAT_ONLY: Final = msgspec.msgpack.Decoder(dict[str, msgspec.Raw])


class DetectionEngine:
    """The detections with their states. One at a time may call it."""

    def __init__(
        self,
        detections: Sequence[Detection] = DETECTIONS,
        tuned: Mapping[str, float] | None = None,
        expected: Mapping[str, frozenset[str]] | None = None,
        on_failure: Callable[[str, Exception], None] | None = None,
    ) -> None:
        """Begin with nothing seen.

        `tuned` are the operator's numbers by name. `expected` names by detection id whose
        (`Access.who`) findings are not raised but counted: the operator's own automation.
        `on_failure` is told the detection and the exception whenever one fails.

        Raises:
            SettingsError: a number or a detection that there is not.
        """
        self.detections = tuple(detections)
        self.unraised: dict[str, int] = {}
        """Findings that were not raised because the operator expects them, by detection."""
        self.broken: dict[str, BrokenDetection] = {}
        self._tuned = _merge(self.detections, tuned or {})
        self._expected = _check_expected(self.detections, expected or {})
        self._on_failure = on_failure
        self._states: dict[str, Any] = {each.id: each.begin() for each in self.detections}
        self._known: set[int] = set()
        self._known_before: set[int] = set()
        self._reads: BlobReads = {}
        self._newest = 0.0
        """Time of the newest event that was shown. Unix seconds."""
        self._set_tables()

    def see(self, event: Event, surroundings: DetectionSurroundings) -> list[Finding]:
        """Show an event to all that want it; give what they found, in their order.

        An event that was seen lately (by id) is not seen again.
        """
        blob: Access | None = None
        if isinstance(event, Access):
            blob = event if event.store and event.blob else None
            table = self._done if event.succeeded else self._refused
            seers = table[event.act] if event.store else self._seers_elsewhere(event)
        elif isinstance(event, Activity):
            seers = self._topics[event.topic]
        else:
            seers = self._gaps
        if not (seers or blob) or self._is_known(event.id):
            return []
        known = self._known_of(event, surroundings)
        found: list[Finding] = []
        for detection, see, state in seers:
            try:
                findings = see(event, state, known)
            except Exception as error:  # noqa: BLE001  one that fails must not stop the others
                findings = self._note_failure(detection, error, event, known)
            if findings:
                found += [one for one in findings if self._is_raised(detection, one, event)]
        if blob and known.done:
            note_blob(self._reads, blob, known.at, known.who)
        return found

    @property
    def newest(self) -> float:
        """Time of the newest event that was shown. Unix seconds; 0 before the first."""
        return self._newest

    def young(self, now: float) -> list[YoungBaseline]:
        """List what there is too little history of, as of a time: reports show it."""
        return [
            one
            for each in self.detections
            if each.young
            for one in each.young(self._states[each.id], now)
        ]

    def snapshot(self) -> bytes:
        """Return all that is remembered: MessagePack, with its format."""
        states = {
            name: msgspec.Raw(msgspec.msgpack.encode(state)) for name, state in self._states.items()
        }
        return msgspec.msgpack.encode(
            _Snapshot(
                format=FORMAT,
                newest=self._newest,
                known=sorted(self._known),
                known_before=sorted(self._known_before),
                unraised=self.unraised,
                broken=self.broken,
                states=states,
                reads=self._reads,
            )
        )

    def restore(self, content: bytes) -> tuple[str, ...]:
        """Take back a snapshot; give what could not be and begins anew, for the log.

        A snapshot of another format, or none at all, leaves everything as new.
        """
        try:
            number = msgspec.msgpack.decode(_FORMAT_ONLY.decode(content)["format"])
            if number != FORMAT:
                return (f"a snapshot of format {number}: this release reads {FORMAT}",)
            stored = msgspec.msgpack.decode(content, type=_Snapshot)
        except (msgspec.MsgspecError, KeyError, ValueError) as error:
            return (f"a snapshot that cannot be read: {error}",)
        problems = []
        for each in self.detections:
            state, problem = _state_of(each, stored.states)
            self._states[each.id] = state
            problems += [f"{each.id}: {problem}"] if problem else []
        self._known, self._known_before = set(stored.known), set(stored.known_before)
        self._newest = stored.newest
        self.unraised, self.broken = stored.unraised, stored.broken
        self._reads = stored.reads
        self._set_tables()
        return tuple(problems)

    def _set_tables(self) -> None:
        def of(wants: Callable[[Detection], bool]) -> tuple[Seer, ...]:
            chosen = [each for each in self.detections if wants(each)]
            return tuple((each, each.see, self._states[each.id]) for each in chosen)

        self._done = {act: of(lambda each, act=act: act in each.acts) for act in Act}  # type: ignore[misc]
        self._refused = {
            act: of(lambda each, act=act: act in each.acts | each.refused)  # type: ignore[misc]
            for act in Act
        }
        self._elsewhere = {
            act: tuple((seer[0].elsewhere, seer) for seer in seers if seer[0].elsewhere is not None)
            for act, seers in self._done.items()
        }
        self._topics = {
            topic: of(lambda each, topic=topic: topic in each.topics)  # type: ignore[misc]
            for topic in Topic
        }
        self._gaps = of(lambda each: each.gaps)

    def _seers_elsewhere(self, access: Access) -> Sequence[Seer]:
        return [seer for concerns, seer in self._elsewhere[access.act] if concerns(access)]

    def _known_of(self, event: Event, surroundings: DetectionSurroundings) -> EventContext:
        at = uuid7_unix_ms(event.id) / 1000
        is_late = at < self._newest
        if not is_late:
            self._newest = at
        if isinstance(event, LogGap):
            who, pair, done = "", "", True
        else:
            who, done = event.who, event.succeeded
            pair = f"{event.store} {who}"
        day = int(at // DAY_S)
        return EventContext(
            surroundings, at, day, is_late, self._tuned, who, pair, done, self._reads
        )

    def _is_known(self, event_id: str) -> bool:
        number = int(event_id[-17:-13] + event_id[-12:], 16)
        if number in self._known or number in self._known_before:
            return True
        if len(self._known) >= _MOST_KNOWN:
            self._known, self._known_before = set(), self._known
        self._known.add(number)
        return False

    def _is_raised(self, detection: Detection, finding: Finding, event: Event) -> bool:
        expected = self._expected.get(detection.id)
        if not expected:
            return True
        names = {finding.who}
        if not isinstance(event, LogGap) and finding.who == event.who:
            names.add(f"client:{event.application}")
        if not names & expected:
            return True
        self.unraised[detection.id] = self.unraised.get(detection.id, 0) + 1
        return False

    def _note_failure(
        self, detection: Detection, error: Exception, event: Event, known: EventContext
    ) -> Sequence[Finding]:
        broken = self.broken.setdefault(detection.id, BrokenDetection())
        broken.times += 1
        broken.error = type(error).__name__
        if self._on_failure:
            self._on_failure(detection.id, error)
        if broken.day >= known.day:
            return ()
        broken.day = known.day
        return (make_failure_finding(detection, broken.error, event, known),)


def _merge(detections: Sequence[Detection], tuned: Mapping[str, float]) -> Mapping[str, float]:
    values = {one.name: one.value for each in detections for one in each.tuning}
    for name in sorted(tuned):
        if name not in values:
            message = f"weights.tuning: there is no number {name}; docs/detections has all"
            raise SettingsError(message)
    return {**values, **tuned}


def _check_expected(
    detections: Sequence[Detection], expected: Mapping[str, frozenset[str]]
) -> Mapping[str, frozenset[str]]:
    for name in sorted(expected):
        if name not in {each.id for each in detections}:
            message = f"weights.expected: there is no detection {name}; docs/detections has all"
            raise SettingsError(message)
    return expected


def _state_of(detection: Detection, states: Mapping[str, msgspec.Raw]) -> tuple[Any, str]:
    """Return the stored state, or a new one and why."""
    fresh = detection.begin()
    if detection.id not in states:
        return fresh, "not in the snapshot; it begins anew"
    try:
        return msgspec.msgpack.decode(states[detection.id], type=type(fresh)), ""
    except (msgspec.MsgspecError, ValueError) as error:
        return fresh, f"its state cannot be read and begins anew: {error}"
