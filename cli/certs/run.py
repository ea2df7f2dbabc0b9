"""What `sallyport certs status` finds: leader, CAs, leaves, signing keys, bundles, troubles."""

import asyncio
import datetime as dt
from collections.abc import Iterator
from typing import Final

import msgspec

from app.settings.root import Settings
from certs.ledger_keys import LedgerKeys, LedgerKeySettings, PublicKey
from certs.status import CertificateProblem, CertificateReport, SeenCertificates, inspect
from cli import exits
from cli.shared.leader import Leader, read_leader, troubles_of_leader
from control.certificates.loop import LARGEST_OFFSET
from control.certificates.signing_keys import SECRET, read_keys
from control.certificates.store import read_certificates, wanted_leaves
from core.base.errors import ClusterError, SettingsError
from kube.client.objects import Objects, open_objects
from kube.resources.paths import ADMISSION_PATH
from kube.resources.secrets import Secrets

FORMAT: Final = 1
"""Version of what programs read."""

_DISCOVERED: Final = tuple(
    f"{ADMISSION_PATH}/{kind}webhookconfigurations/sallyport-discovered"
    for kind in ("validating", "mutating")
)


class Authority(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A CA."""

    name: str
    fingerprint: str
    """SHA-256, hex."""
    stage: str
    """`signs`, `coming` or `former`."""
    since: dt.datetime
    until: dt.datetime
    changes: dt.datetime
    """When the next one is made; of a former one, when it leaves the bundles."""
    absent_from: list[str]
    """Places that do not trust it (yet)."""


class LeafCertificate(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A certificate."""

    secret: str
    names: list[str]
    issuer: str
    since: dt.datetime
    until: dt.datetime
    changes: dt.datetime
    """When it is replaced."""


class SigningKey(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A key that signs the ledger's heads."""

    id: str
    stage: str
    """`signs`, `coming` or `former`."""
    since: dt.datetime
    until: dt.datetime | None
    """When it stopped, or will."""


class TrustBundle(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What one webhook trusts."""

    webhook: str
    authorities: list[str]
    """Names of the CAs."""


class CertificateTrouble(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Something that is not as it should be."""

    where: str
    what: str
    remedy: str
    person: bool
    """Whether Sallyport cannot mend it."""


class CertificatesStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What `-o json` prints."""

    format: int = FORMAT
    namespace: str
    source: str
    """Who makes certificates: `sallyport` or `cert-manager`."""
    leader: str
    """Which control leads; empty where none does."""
    clock_offset_seconds: float
    """By how much this machine's clock is ahead of kube-apiserver's."""
    authorities: list[Authority]
    leaves: list[LeafCertificate]
    keys: list[SigningKey]
    bundles: list[TrustBundle]
    troubles: list[CertificateTrouble]


async def read_status(settings: Settings) -> CertificatesStatus:
    """Read a cluster's certificates, and say how they stand by kube-apiserver's clock.

    Raises:
        SettingsError: no cluster is named.
        ClusterError: it does not answer, or refuses.
    """
    if settings.kubeconfig is None:
        raise SettingsError("say which cluster: give --kubeconfig FILE")
    async with open_objects(settings.kubeconfig) as objects:
        return await _read(objects, settings)


async def _read(objects: Objects, settings: Settings) -> CertificatesStatus:
    namespace, section = settings.namespace, settings.certificates
    wanted = wanted_leaves(namespace, settings.cluster_id or await _uid(objects))
    secrets = Secrets(objects, namespace)
    found, leader, keys = await asyncio.gather(
        read_certificates(objects, secrets, wanted, _DISCOVERED),
        read_leader(objects, namespace),
        secrets.read(SECRET),
    )
    here = dt.datetime.now(dt.UTC)
    now = objects.server_time or here
    seen = found.seen(foreign=section.source != "sallyport")
    standing = inspect(seen, wanted, now, section.rotation())
    return make_status(
        settings, seen, standing, leader, read_keys(keys) if keys else None, (here, now)
    )


async def _uid(objects: Objects) -> str:
    """Return the cluster's id where none is set, as control has it."""
    body = await objects.get("/api/v1/namespaces/kube-system")
    if body is None:
        raise ClusterError("there is no namespace kube-system: give SALLYPORT_CLUSTER_ID")
    return str(body["metadata"]["uid"])


def make_status(  # noqa: PLR0913, PLR0917 (what was read, each by itself)
    settings: Settings,
    seen: SeenCertificates,
    standing: CertificateReport,
    leader: Leader | None,
    keys: LedgerKeys | None,
    clocks: tuple[dt.datetime, dt.datetime],
) -> CertificatesStatus:
    """Put together what was read; `clocks` are this machine's and kube-apiserver's."""
    here, now = clocks
    named = {one.fingerprint: one.name for one in standing.authorities}
    troubles = [
        *standing.troubles,
        *_troubles_of_places(seen),
        *troubles_of_leader(leader, now),
        *_troubles_of_keys(keys),
        *_troubles_of_clocks(here, now),
    ]
    return CertificatesStatus(
        namespace=settings.namespace,
        source=settings.certificates.source,
        leader=leader.holder if leader else "",
        clock_offset_seconds=round((here - now).total_seconds(), 1),
        authorities=[
            Authority(
                name=one.name,
                fingerprint=one.fingerprint,
                stage=one.stage,
                since=one.since,
                until=one.until,
                changes=one.changes,
                absent_from=list(one.absent_from),
            )
            for one in standing.authorities
        ],
        leaves=[
            LeafCertificate(
                secret=one.secret,
                names=list(one.names),
                issuer=one.issuer,
                since=one.since,
                until=one.until,
                changes=one.changes,
            )
            for one in standing.leaves
        ],
        keys=list(_keys(keys)),
        bundles=[
            TrustBundle(webhook=name, authorities=[named.get(each, "another's") for each in held])
            for name, held in standing.bundles.items()
        ],
        troubles=[
            CertificateTrouble(where=one.where, what=one.what, remedy=one.remedy, person=one.person)
            for one in troubles
        ],
    )


def exit_code(status: CertificatesStatus) -> int:
    """Return 0 where all is well, else 1."""
    return exits.REFUSED if status.troubles else exits.ADMITTED


def _keys(keys: LedgerKeys | None) -> Iterator[SigningKey]:
    for one in keys.public if keys else ():
        yield SigningKey(id=one.id, stage=_stage(one, keys), since=one.since, until=_ends(one))


def _stage(key: PublicKey, keys: LedgerKeys | None) -> str:
    if key.until is not None:
        return "former"
    return "coming" if keys and keys.coming and key is keys.public[-1] else "signs"


def _ends(key: PublicKey) -> dt.datetime:
    return key.until or key.since + LedgerKeySettings().period


def _troubles_of_keys(keys: LedgerKeys | None) -> Iterator[CertificateProblem]:
    if keys is None:
        yield CertificateProblem(
            f"Secret {SECRET}", "is not there", "control makes it within an hour"
        )
    elif not keys.current:
        yield CertificateProblem(
            f"Secret {SECRET}", "has no key that signs", "control makes one in an hour"
        )


def _troubles_of_places(seen: SeenCertificates) -> Iterator[CertificateProblem]:
    places = {name.partition(" ")[0] for name in seen.bundles}
    for kind in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"):
        if f"{kind}/sallyport" not in places:
            what = "has no webhooks: nothing is judged"
            fix = "control registers them once kube-apiserver reaches a gate; its log says why not"
            yield CertificateProblem(f"{kind}/sallyport", what, fix, person=True)


def _troubles_of_clocks(here: dt.datetime, now: dt.datetime) -> Iterator[CertificateProblem]:
    if abs(here - now) > LARGEST_OFFSET:
        seconds = (here - now).total_seconds()
        what = f"is {seconds:+.0f} s off kube-apiserver's, by which all above is said"
        yield CertificateProblem("this machine's clock", what, "mend whichever is of", person=True)
