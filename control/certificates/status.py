"""Metrics of certificates, and Events on the Secrets that hold them."""

import datetime as dt
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Final

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge

from certs.authority import is_pair, is_valid, read_certificates
from certs.rotation import RotationState
from certs.status import CertificateReport, fingerprint, is_overdue
from control.certificates.store import AUTHORITIES
from control.events import NORMAL, WARNING, event_body
from core.base.errors import ClusterError
from kube.client.objects import Objects
from kube.leader.lease import Leadership

_DIGITS: Final = 16

_log = structlog.get_logger(__name__)

_WHY: Final = {
    "made": "There was no certificate, so one was made",
    "due": "The certificate was due to be replaced",
    "mended": "The certificate did not work (broken, expired or foreign) and was replaced",
}


@dataclass(frozen=True)
class CertificateChange:
    """A certificate that was made, and why."""

    secret: str
    why: str
    """`made` (there was none), `due`, or `mended` (there was one that did not work)."""
    mark: str
    """Tells it from all others."""
    until: dt.datetime


class CertificateStatus:
    """Metrics in `registry`, and Events in `namespace`, each once for a certificate."""

    def __init__(
        self,
        objects: Objects,
        namespace: str,
        registry: CollectorRegistry,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._wall = wall
        self._told: set[str] = set()
        self._left = Gauge(
            "sallyport_certificate_seconds_left",
            "Seconds until a certificate expires, by its Secret; of the CAs the one that signs. "
            "Only the leader shows it.",
            ("certificate",),
            registry=registry,
        )
        self._life = Gauge(
            "sallyport_certificate_lifetime_seconds",
            "Seconds for which that certificate is valid in all.",
            ("certificate",),
            registry=registry,
        )
        self._troubles = Gauge(
            "sallyport_certificate_troubles",
            "Things that are wrong with certificates, by whether control mends them itself; only "
            "the leader shows it.",
            ("mends",),
            registry=registry,
        )
        self._offset = Gauge(
            "sallyport_certificate_clock_offset_seconds",
            "By how much this process's clock is ahead of kube-apiserver's.",
            registry=registry,
        )
        self._rotations = Counter(
            "sallyport_certificate_rotations",
            "Certificates made, by why: made (there was none), due, or mended.",
            ("certificate", "why"),
            registry=registry,
        )

    async def show(
        self, leadership: Leadership, standing: CertificateReport, now: dt.datetime
    ) -> None:
        """Show how all stands, and say before it happens what is going to expire."""
        self._forget_lives()
        for name, since, until in _lives(standing):
            self._left.labels(name).set_function(partial(self._until, until.timestamp()))
            self._life.labels(name).set((until - since).total_seconds())
        for mends in (True, False):
            count = sum(each.person != mends for each in standing.troubles)
            self._troubles.labels("itself" if mends else "person").set(count)
        theirs = self._objects.server_time
        if theirs is not None:
            self._offset.set((now - theirs).total_seconds())
        for leaf in standing.leaves:
            if is_overdue(leaf.since, leaf.until, now):
                end = f"{leaf.until:%Y-%m-%d %H:%M} UTC"
                message = (
                    f"The certificate ends {end} and should have been replaced "
                    f"{leaf.changes:%Y-%m-%d}: run `sallyport certs status`."
                )
                mark = str(int(leaf.until.timestamp()))
                await self._tell(leadership, leaf.secret, mark, "CertificateExpiring", message, now)

    async def tell_of_changes(
        self, leadership: Leadership, before: RotationState, after: RotationState, now: dt.datetime
    ) -> None:
        """Count and tell what was made anew."""
        for each in certificate_changes(before, after, now):
            self._rotations.labels(each.secret, each.why).inc()
            reason = "CertificateMended" if each.why == "mended" else "CertificateRotated"
            message = f"{_WHY[each.why]}; the new one ends {each.until:%Y-%m-%d %H:%M} UTC."
            await self._tell(leadership, each.secret, each.mark, reason, message, now)

    def forget(self) -> None:
        """Take back what only a leader can know."""
        self._forget_lives()
        self._troubles.clear()

    def _forget_lives(self) -> None:
        self._left.clear()
        self._life.clear()

    def _until(self, end: float) -> float:
        return end - self._wall()

    async def _tell(  # noqa: PLR0913, PLR0917  An Event has this many parts.
        self,
        leadership: Leadership,
        secret: str,
        mark: str,
        reason: str,
        message: str,
        now: dt.datetime,
    ) -> None:
        """Write an Event, once; one that could not be written holds nothing up.

        It is tried again where it is told again: what is going to expire, at the next look.
        """
        name = f"{secret}.{mark[:_DIGITS]}.{reason.lower()}"
        if name in self._told:
            return
        leadership.require()
        kind = NORMAL if reason == "CertificateRotated" else WARNING
        place = {"namespace": self._namespace}
        involved = {"apiVersion": "v1", "kind": "Secret", "name": secret} | place
        body = event_body(
            {"name": name} | place, involved, (kind, reason, message), now.timestamp()
        )
        try:
            await self._objects.create(f"/api/v1/namespaces/{self._namespace}/events", body)
        except ClusterError as error:
            if error.status != HTTPStatus.CONFLICT:
                _log.warning("no Event could be written", name=name, problem=str(error))
                return
        self._told.add(name)


def certificate_changes(
    before: RotationState, after: RotationState, now: dt.datetime
) -> Iterator[CertificateChange]:
    """Yield what is new in one state against another."""
    known = {each.certificate for each in before.authorities}
    for each in after.authorities:
        if each.certificate not in known:
            one = read_certificates(each.certificate)[0]
            why = "due" if any(other.key for other in after.authorities[:-1]) else "made"
            yield CertificateChange(AUTHORITIES, why, fingerprint(one), one.not_valid_after_utc)
    for name, leaf in after.leaves.items():
        old = before.leaves.get(name)
        if old is None or old.pair != leaf.pair:
            one = read_certificates(leaf.pair.certificate)[0]
            worked = (
                old is not None
                and is_pair(old.pair)
                and is_valid(read_certificates(old.pair.certificate)[0], now)
            )
            why = "made" if old is None else "due" if worked else "mended"
            yield CertificateChange(name, why, fingerprint(one), one.not_valid_after_utc)


def _lives(standing: CertificateReport) -> Iterator[tuple[str, dt.datetime, dt.datetime]]:
    """Yield name, beginning and end of each certificate in use."""
    for authority in standing.authorities:
        if authority.stage == "signs":
            yield AUTHORITIES, authority.since, authority.until
    for leaf in standing.leaves:
        yield leaf.secret, leaf.since, leaf.until
