"""The status of CAs, leaves and bundles: what signs, what comes next, what is wrong.

Pure; `certs.rotation` decides what is done. Nothing here holds a private key.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from certs.authority import (
    KeyPair,
    LeafNames,
    is_for,
    is_issued_by,
    is_pair,
    is_valid,
    read_certificates,
    write_certificate,
)
from certs.lifetimes import RotationSettings
from certs.rotation import Authority, Leaf, replacement_time, signing_authority, trusted_until

ITSELF: Final = "control mends it within 30 seconds of leading"
"""What becomes of most troubles."""

_FOREIGN: Final = "kubectl -n NAMESPACE describe certificate, and cert-manager's own log, say why"
"""The same where control only looks."""

_LATE: Final = 4
"""Overdue is what has less than a quarter of its life left: it was due with a third left."""


@dataclass(frozen=True)
class CertificateProblem:
    """Something that is not as it should be."""

    where: str
    what: str
    remedy: str
    person: bool = False
    """Whether control cannot mend it."""


@dataclass(frozen=True)
class AuthorityStatus:
    """A CA of the record."""

    name: str
    fingerprint: str
    """SHA-256 of the certificate, hex."""
    since: dt.datetime
    until: dt.datetime
    stage: str
    """`signs`, `coming` (trusted, and signs next) or `former` (trusted, and signs nothing more)."""
    absent_from: tuple[str, ...]
    """Places that do not trust it."""
    changes: dt.datetime
    """When it is replaced; a former one, when it leaves the bundles."""


@dataclass(frozen=True)
class LeafStatus:
    """A certificate and its Secret."""

    secret: str
    names: tuple[str, ...]
    issuer: str
    """Name of the CA."""
    since: dt.datetime
    until: dt.datetime
    changes: dt.datetime
    """When it is replaced."""


@dataclass(frozen=True)
class CertificateReport:
    """Everything at one moment."""

    authorities: tuple[AuthorityStatus, ...]
    leaves: tuple[LeafStatus, ...]
    bundles: Mapping[str, tuple[str, ...]]
    """Which CAs each webhook trusts, by their fingerprints."""
    troubles: tuple[CertificateProblem, ...]


@dataclass(frozen=True)
class SeenCertificates:
    """What was found, each by the name that people know it by."""

    authorities: tuple[Authority, ...]
    leaves: Mapping[str, Leaf | None]
    """None for a Secret that is not there."""
    bundles: Mapping[str, bytes]
    """Of webhooks: `validatingwebhookconfigurations/sallyport validate.sallyport.dev`."""
    served: str = ""
    """The Secret whose certificate webhooks are shown."""
    foreign: bool = False
    """Whether somebody else (cert-manager) makes them: then there is no record of CAs."""

    def kept(self) -> tuple[Authority, ...]:
        """Return the CAs; of somebody else's, those that stand beside the leaves."""
        if not self.foreign:
            return self.authorities
        beside = (leaf.bundle for leaf in self.leaves.values() if leaf)
        return tuple(
            Authority(write_certificate(one))
            for one in dict.fromkeys(one for each in beside for one in read_certificates(each))
        )


def inspect(
    seen: SeenCertificates,
    wanted: Mapping[str, LeafNames],
    now: dt.datetime,
    settings: RotationSettings,
) -> CertificateReport:
    """Say how all of it stands."""
    readable = [each for each in seen.kept() if read_certificates(each.certificate)]
    trusted = [read_certificates(each.certificate)[0] for each in readable]
    leaves: list[LeafStatus] = []
    troubles = [] if seen.foreign else list(_troubles_of_authorities(seen, now))
    for secret, names in wanted.items():
        leaf = seen.leaves.get(secret)
        certificates = read_certificates(leaf.pair.certificate) if leaf else ()
        if certificates:
            leaves.append(_leaf(secret, certificates[0], settings))
        troubles += _troubles_of_leaf(secret, leaf, names, now)
        if leaf and certificates and not seen.foreign:
            troubles += _troubles_beside_record(secret, leaf, certificates[0], trusted)
    if seen.foreign:
        troubles += _troubles_of_trust(seen, now)
        troubles = [replace(each, remedy=_FOREIGN, person=True) for each in troubles]
    else:
        troubles += _troubles_of_bundles(seen.bundles, trusted)
    signer = signing_authority(readable, now, settings)
    places = {name: leaf.bundle if leaf else b"" for name, leaf in seen.leaves.items()}
    places |= seen.bundles
    authorities = [_authority(each, signer, places, settings) for each in readable]
    bundles = {
        name: tuple(map(fingerprint, read_certificates(bundle)))
        for name, bundle in seen.bundles.items()
    }
    return CertificateReport(tuple(authorities), tuple(leaves), bundles, tuple(troubles))


def is_overdue(since: dt.datetime, until: dt.datetime, now: dt.datetime) -> bool:
    """Return whether so little is left that it should have been replaced."""
    return until - now < (until - since) / _LATE


def fingerprint(certificate: x509.Certificate) -> str:
    """Return what tells a certificate from all others: SHA-256, hex."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def common_name(name: x509.Name) -> str:
    """Return the common name."""
    return str(next((each.value for each in name if each.oid.dotted_string == "2.5.4.3"), "?"))


def _authority(
    authority: Authority,
    signer: Authority | None,
    places: Mapping[str, bytes],
    settings: RotationSettings,
) -> AuthorityStatus:
    certificate = read_certificates(authority.certificate)[0]
    stage = "signs" if authority is signer else "coming" if authority.key else "former"
    absent = [name for name, one in places.items() if certificate not in read_certificates(one)]
    former = stage == "former"
    return AuthorityStatus(
        common_name(certificate.subject),
        fingerprint(certificate),
        certificate.not_valid_before_utc,
        certificate.not_valid_after_utc,
        stage,
        tuple(sorted(absent)),
        trusted_until(authority)
        if former
        else replacement_time(certificate, settings.authority_lifetime),
    )


def _leaf(secret: str, certificate: x509.Certificate, settings: RotationSettings) -> LeafStatus:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        names = x509.SubjectAlternativeName([])
    return LeafStatus(
        secret,
        tuple(str(each.value) for each in names),
        common_name(certificate.issuer),
        certificate.not_valid_before_utc,
        certificate.not_valid_after_utc,
        replacement_time(certificate, settings.leaf_lifetime),
    )


def _troubles_of_authorities(
    seen: SeenCertificates, now: dt.datetime
) -> Iterator[CertificateProblem]:
    where = "the record of the CAs"
    able = 0
    if not seen.authorities:
        yield CertificateProblem(
            where, "is not there, or cannot be read", f"{ITSELF}, with a new CA"
        )
        return
    for each in seen.authorities:
        certificates = read_certificates(each.certificate)
        if not certificates:
            yield CertificateProblem(where, "holds a certificate that cannot be read", ITSELF)
            continue
        ca, name = certificates[0], f"CA {common_name(certificates[0].subject)}"
        if each.key is not None and not is_pair(KeyPair(each.certificate, each.key)):
            yield CertificateProblem(name, "has a key that is another's, or half-written", ITSELF)
        elif each.key is not None:
            able += is_valid(ca, now)
        last = each is seen.authorities[-1]
        yield from _troubles_of_time(name, ca, now, renewed=last)
    if not able:
        yield CertificateProblem(where, "holds no CA that can sign", f"{ITSELF}, with a new CA")


def _troubles_of_leaf(
    secret: str, leaf: Leaf | None, names: LeafNames, now: dt.datetime
) -> Iterator[CertificateProblem]:
    where = f"Secret {secret}"
    if leaf is None:
        yield CertificateProblem(where, "is not there", ITSELF)
        return
    certificates = read_certificates(leaf.pair.certificate)
    if not certificates or not is_pair(leaf.pair):
        yield CertificateProblem(where, "is half-written: tls.crt and tls.key are no pair", ITSELF)
        return
    if not is_for(certificates[0], names):
        yield CertificateProblem(where, "names others than it should, or another purpose", ITSELF)
    yield from _troubles_of_time(where, certificates[0], now)


def _troubles_beside_record(
    secret: str, leaf: Leaf, certificate: x509.Certificate, trusted: Iterable[x509.Certificate]
) -> Iterator[CertificateProblem]:
    where = f"Secret {secret}"
    if not is_issued_by(certificate, trusted):
        yield CertificateProblem(where, "is signed by no CA of the record", ITSELF)
    if set(read_certificates(leaf.bundle)) != set(trusted):
        yield CertificateProblem(where, "holds another bundle (ca.crt) than the record", ITSELF)


def _troubles_of_trust(seen: SeenCertificates, now: dt.datetime) -> Iterator[CertificateProblem]:
    """Say who trusts no CA that is valid and signed what is shown to it.

    Without a record bundles need not be alike: a CA that was renewed stands beside the certificate
    that was renewed after it, and its former self beside all others.
    """
    shown = {
        secret: certificates[0]
        for secret, leaf in seen.leaves.items()
        if leaf and (certificates := read_certificates(leaf.pair.certificate))
    }
    places = {f"Secret {name}": leaf.bundle for name, leaf in seen.leaves.items() if leaf}
    to_webhooks = {seen.served: shown[seen.served]} if seen.served in shown else {}
    for trusting, to in ((places, shown), (seen.bundles, to_webhooks)):
        for name, bundle in trusting.items():
            authorities = [one for one in read_certificates(bundle) if is_valid(one, now)]
            lacking = [each for each, one in to.items() if not is_issued_by(one, authorities)]
            if not authorities:
                yield CertificateProblem(name, "trusts no CA that is valid", _FOREIGN)
            elif lacking:
                yield CertificateProblem(
                    name, f"trusts no CA that signed {', '.join(lacking)}", _FOREIGN
                )


def _troubles_of_bundles(
    bundles: Mapping[str, bytes], trusted: Iterable[x509.Certificate]
) -> Iterator[CertificateProblem]:
    right = set(trusted)
    for name, bundle in bundles.items():
        held = set(read_certificates(bundle))
        if not held:
            yield CertificateProblem(
                name, "has no caBundle: kube-apiserver cannot trust the gate", ITSELF
            )
        elif held != right:
            yield CertificateProblem(name, "has another caBundle than the record", ITSELF)


def _troubles_of_time(
    where: str, one: x509.Certificate, now: dt.datetime, *, renewed: bool = True
) -> Iterator[CertificateProblem]:
    """Former CAs are not renewed: they end."""
    since, until = one.not_valid_before_utc, one.not_valid_after_utc
    if now >= until:
        yield CertificateProblem(where, f"has expired on {until:%Y-%m-%d %H:%M} UTC", ITSELF)
    elif now < since:
        what = f"is not valid before {since:%Y-%m-%d %H:%M} UTC: a clock is or was off"
        yield CertificateProblem(
            where, what, "compare the clocks of the nodes and of kube-apiserver", person=True
        )
    elif renewed and is_overdue(since, until, now):
        what = f"expires on {until:%Y-%m-%d %H:%M} UTC, and should have been replaced"
        yield CertificateProblem(
            where, what, "look at what keeps control from its loop certificates", person=True
        )
