"""When certificates end, as the processes themselves say: no Secret is read."""

import datetime as dt
from typing import Final

from cli.shared.cluster_status.model import AreaFindings, CertificateEnd, alert
from cli.shared.cluster_status.process_metrics import largest
from cli.shared.cluster_status.processes import ProcessesSeen
from core.base.times import DAY_S, time_text

_LATE: Final = 0.25
"""Of a lifetime that is left: a certificate should have been replaced before."""


def read_certificate_ends(
    seen: ProcessesSeen, found: AreaFindings, now: dt.datetime
) -> list[CertificateEnd]:
    """Return when each certificate that is known of ends, the first to end first."""
    ends: dict[str, float] = {}
    lifetimes: dict[str, float] = {}
    for metrics in seen.of("control").values():
        for labels, left in metrics.all("sallyport_certificate_seconds_left"):
            ends[labels["certificate"]] = now.timestamp() + left
        for labels, whole in metrics.all("sallyport_certificate_lifetime_seconds"):
            lifetimes[labels["certificate"]] = whole
    for pod, metrics in seen.of("gate").items():
        end = metrics.value("sallyport_certificate_not_after_seconds")
        if end is not None:
            ends[f"in {pod}"] = end
            lifetimes[f"in {pod}"] = lifetimes.get("sallyport-gate-tls", 0.0)
    if not any(name.startswith("sallyport-") for name in ends):
        leads = largest(seen.of("control"), "sallyport_leader") == 1
        found.gap(
            "control has just begun to lead, and has not looked at its certificates yet: ask again "
            "in half a minute"
            if leads
            else "no leading control could be asked when the certificates in Secrets end"
        )
    for name, end in sorted(ends.items(), key=lambda each: each[1]):
        _judge(name, end, lifetimes.get(name, 0.0), found, now)
    _judge_troubles(seen, found)
    listed = sorted(ends.items(), key=lambda each: each[1])
    if listed:
        found.says.append(f"the first to end: {listed[0][0]}, {time_text(listed[0][1])}")
    return [CertificateEnd(name, time_text(end)) for name, end in listed]


def _judge(name: str, end: float, lifetime: float, found: AreaFindings, now: dt.datetime) -> None:
    left = end - now.timestamp()
    if left <= 0:
        found.problem(
            f"the certificate {name} has ended {time_text(end)}",
            "sallyport certs status",
            alert("SallyportCertificateEnds"),
            critical=True,
        )
    elif left < _LATE * lifetime:
        found.problem(
            f"the certificate {name} ends {time_text(end)} and should have been replaced",
            "sallyport certs status",
            alert("SallyportCertificateLate"),
            critical=left < min(lifetime / 5, DAY_S),
        )


def _judge_troubles(seen: ProcessesSeen, found: AreaFindings) -> None:
    for metrics in seen.of("control").values():
        for labels, count in metrics.all("sallyport_certificate_troubles"):
            if count > 0 and labels.get("mends") == "person":
                found.problem(
                    f"{count:.0f} faults of certificates that control cannot mend",
                    "sallyport certs status names them",
                    alert("SallyportCertificateTrouble"),
                )
