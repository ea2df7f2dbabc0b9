"""Who holds control's Lease, and since when nobody does."""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from certs.status import CertificateProblem
from core.base.process_names import CONTROL
from kube.client.objects import Objects

_LONGEST: Final = dt.timedelta(minutes=2)
"""A Lease is renewed every two seconds; clocks may differ a little."""


@dataclass(frozen=True)
class Leader:
    """Who holds control's Lease, and since when it has not been renewed."""

    holder: str
    renewed: dt.datetime | None


async def read_leader(objects: Objects, namespace: str) -> Leader | None:
    """Read the Lease; None where there is none.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{CONTROL}"
    body = await objects.get(path)
    return None if body is None else parse_leader(body)


def parse_leader(lease: Mapping[str, Any]) -> Leader:
    """Read a Lease."""
    spec = lease.get("spec") or {}
    return Leader(str(spec.get("holderIdentity") or ""), _time(spec.get("renewTime")))


def troubles_of_leader(leader: Leader | None, now: dt.datetime) -> Iterator[CertificateProblem]:
    """Say where nobody leads."""
    remedy = "see why control does not run: kubectl get pods, and its log"
    if leader is None:
        what = "does not exist: nobody has ever led, and nothing is renewed"
    elif not leader.holder:
        what = f"is nobody's since {_since(leader)}: nothing is renewed"
    elif leader.renewed is None or now - leader.renewed > _LONGEST:
        what = f"has not been renewed since {_since(leader)}: nothing is renewed"
    else:
        return
    yield CertificateProblem(f"Lease {CONTROL}", what, remedy, person=True)


def _since(leader: Leader) -> str:
    return f"{leader.renewed:%Y-%m-%d %H:%M} UTC" if leader.renewed else "an unknown time"


def _time(text: object) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(str(text)).astimezone(dt.UTC)
    except ValueError:
        return None
