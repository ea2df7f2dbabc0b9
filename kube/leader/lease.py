"""A Lease of coordination.k8s.io/v1 as the record of a leader election, and its times."""

import datetime as dt
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from core.base.errors import ClusterError, NotLeaderError, SettingsError

LONGEST_S: Final = 60.0
"""Seconds that a record may demand of candidates; a stranger may write any number into it."""

RELEASED_S: Final = 1
"""`leaseDurationSeconds` of a record whose holder gave it up; client-go writes the same."""


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """Times in seconds; the first three are client-go's own.

    A leader acts until `deadline_s` after it sent its last renewal, and a call that it begins at
    that moment ends `call_timeout_s` later: before `duration_s`, when another may take over.
    """

    duration_s: float = 15.0
    """How long a candidate must have seen the same record before it takes over."""
    deadline_s: float = 10.0
    """How long after sending its last renewal a leader acts."""
    retry_s: float = 2.0
    """From one renewal, or one look at the record, to the next; cut by up to a quarter."""
    call_timeout_s: float = 4.0
    """For each request of a leader, those of its loops included."""

    def __post_init__(self) -> None:
        """Refuse times by which two could lead.

        Raises:
            SettingsError: naming the two sums that must fit.
        """
        if not 0 < self.retry_s + self.call_timeout_s < self.deadline_s:
            raise SettingsError("lease: retry and call timeout together must be below the deadline")
        if not self.deadline_s + self.call_timeout_s < self.duration_s <= LONGEST_S:
            raise SettingsError(
                "lease: deadline and call timeout together must be below the duration, "
                f"and that at most {LONGEST_S:.0f} s"
            )


def boot_time() -> float:
    """Return seconds since the machine booted (CLOCK_BOOTTIME): no jumps, and sleep counts."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def wall_time() -> dt.datetime:
    """Return the time of day, UTC."""
    return dt.datetime.now(dt.UTC)


@dataclass(frozen=True, slots=True)
class Clocks:
    """What tells the time in an election."""

    elapsed: Callable[[], float] = boot_time
    """Seconds; decides everything."""
    today: Callable[[], dt.datetime] = wall_time
    """Written into the record for people; decides nothing."""


class Leadership:
    """One term of one leader. Once lost, it never comes back: a next term is another object."""

    def __init__(self, term: int, until: float, elapsed: Callable[[], float]) -> None:
        self.term = term
        """The record's leaseTransitions: it grows with each change of the holder."""
        self._until = until
        self._elapsed = elapsed
        self._ended = False

    def holds(self) -> bool:
        """Return whether this process may act, now."""
        return self.remaining() > 0

    def require(self) -> None:
        """Pass only who may act. Call it right before each write.

        Whatever stops the process between this and the write (SIGSTOP, a frozen machine) is
        not seen by it: so each write carries a precondition as well.

        Raises:
            NotLeaderError: this term is over.
        """
        if not self.holds():
            raise NotLeaderError(
                "this process does not lead any more; the leader does what is left to do"
            )

    def remaining(self) -> float:
        """Return the seconds that are left without another renewal; 0 when it is over."""
        return 0.0 if self._ended else max(0.0, self._until - self._elapsed())

    def extend(self, until: float) -> None:
        """Go on until then. For the election alone."""
        self._until = max(self._until, until)

    def end(self) -> None:
        """End it, now and for good."""
        self._ended = True


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """What a Lease says; `metadata` is kept, so that labels of others survive a renewal."""

    metadata: Mapping[str, Any] = field(repr=False)
    version: str
    holder: str
    """Empty for a record that nobody holds."""
    duration_s: float
    transitions: int
    acquired: str

    def patience(self, settings: LeaseSettings) -> float:
        """Return the seconds for which a candidate must have seen exactly this record.

        None for a record that its holder gave up. One that is emptied by somebody else may
        have a leader that acts and does not know yet; so may one that was deleted.
        """
        if not self.holder and self.duration_s == RELEASED_S:
            return 0.0
        return max(settings.duration_s, min(self.duration_s, LONGEST_S))


def read_record(body: Mapping[str, Any]) -> LeaseRecord:
    """Read a Lease; whatever is missing or senseless in its `spec` counts as not said.

    Raises:
        ClusterError: it has no resourceVersion, without which nothing can be written safely.
    """
    metadata, spec = body.get("metadata"), body.get("spec")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    spec = spec if isinstance(spec, Mapping) else {}
    version = metadata.get("resourceVersion")
    if not isinstance(version, str) or not version:
        raise ClusterError("the Lease has no metadata.resourceVersion; is this kube-apiserver?")
    return LeaseRecord(
        metadata=metadata,
        version=version,
        holder=_typed(spec, "holderIdentity", str, ""),
        duration_s=float(max(0, _typed(spec, "leaseDurationSeconds", int, 0))),
        transitions=max(0, _typed(spec, "leaseTransitions", int, 0)),
        acquired=_typed(spec, "acquireTime", str, ""),
    )


def build_unheld(namespace: str, name: str, settings: LeaseSettings) -> dict[str, Any]:
    """Return the Lease to create where there is none: nobody's, so that everyone waits first."""
    return {
        **_kind({"namespace": namespace, "name": name}),
        "spec": {"holderIdentity": "", "leaseDurationSeconds": math.ceil(settings.duration_s)},
    }


def build_claim(
    record: LeaseRecord, identity: str, settings: LeaseSettings, now: dt.datetime
) -> dict[str, Any]:
    """Return the Lease by which `identity` takes it over, or renews it."""
    renewal = record.holder == identity
    return {
        **_kind(record.metadata),
        "spec": {
            "holderIdentity": identity,
            "leaseDurationSeconds": math.ceil(settings.duration_s),
            "acquireTime": record.acquired if renewal and record.acquired else _micro_time(now),
            "renewTime": _micro_time(now),
            "leaseTransitions": record.transitions + (not renewal),
        },
    }


def build_release(record: LeaseRecord, now: dt.datetime) -> dict[str, Any]:
    """Return the Lease by which its holder gives it up: the next may take over at once."""
    return {
        **_kind(record.metadata),
        "spec": {
            "holderIdentity": "",
            "leaseDurationSeconds": RELEASED_S,
            "renewTime": _micro_time(now),
            "leaseTransitions": record.transitions,
        },
    }


def _kind(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": dict(metadata)}


def _micro_time(now: dt.datetime) -> str:
    """Return a time as Kubernetes' MicroTime spells it (apimachinery, meta/v1): to the µs."""
    return now.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _typed(spec: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    value = spec.get(name)
    return value if isinstance(value, kind) and not isinstance(value, bool) else default
