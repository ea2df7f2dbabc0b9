"""Whose risk counts: the identities of a request, as the snapshot and the table know them. Pure."""

import enum
import re
from typing import Final

import msgspec

from core.people.subject import Subject
from core.risk.model import Role, identity_key, subject_key

_OBJECT_ID: Final = "oid:"
_CLUSTERS_OWN: Final = "system:"
_OUTSIDE: Final = "user:"
_GUEST: Final = "#ext#"
"""In the user principal name that Entra gives a guest, in whatever case."""

GUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
"""As Entra writes ids of objects, applications and tenants."""

UNIDENTIFIED: Final = "unidentified"
"""In the place of the client id of what hides which it uses."""


class PrincipalNature(enum.Enum):
    """Where an identity's risk would be told."""

    PERSON = "person"
    """A user of Entra ID."""
    APPLICATION = "application"
    """A client id, or a service principal that asks kube-apiserver itself; also what hides which
    identity of Entra's it is."""
    OUTSIDE = "outside"
    """None of Entra's: of a certificate, or of another issuer."""


class Principal(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One identity that counts for a request."""

    role: Role
    who: str
    """`Subject.label`; of a workload `client:<client id>`, or `client:unidentified`."""
    key: bytes
    """By which the snapshot knows it: `core.risk.model.identity_key`, also of a client id."""
    nature: PrincipalNature
    is_guest: bool = False
    client_id: str = ""
    """Of a workload, a GUID in lower case; empty for what hides which it uses."""
    tenant: str = ""
    """In which a workload signs in, in lower case; empty for the installation's."""
    groups: frozenset[str] = frozenset()
    """Object ids of Entra's groups, in lower case. Known only of who asks."""


def principal_of(subject: Subject) -> Principal | None:
    """Return who asks; None for the cluster's own identities, which have no risk.

    On AKS the user name is the user principal name, and the object id where there is none: so a
    user name that is the object id is an application's (`docs/operate/risk-table.md`).
    """
    if subject.is_system:
        return None
    who = subject.label
    groups = frozenset(each.lower() for each in subject.groups if GUID.fullmatch(each))
    return Principal(
        role=Role.REQUESTER,
        who=who,
        key=subject_key(subject),
        nature=_nature(who, subject),
        is_guest=_GUEST in subject.username.lower(),
        groups=groups,
    )


def _nature(who: str, subject: Subject) -> PrincipalNature:
    """Tell them apart; whoever shows an object id that is none, or several, is not outside."""
    if not who.startswith(_OBJECT_ID):
        return PrincipalNature.APPLICATION if subject.extra.get("oid") else PrincipalNature.OUTSIDE
    is_application = subject.username.lower() == who.removeprefix(_OBJECT_ID).lower()
    return PrincipalNature.APPLICATION if is_application else PrincipalNature.PERSON


def principal_of_note(label: str) -> Principal | None:
    """Return who submitted a workload, by its requester note; None for the cluster's own.

    A note does not tell a person from an application: whose object id the snapshot lists among
    the applications is one (`identity.risk.standings`).
    """
    if not label or label.startswith(_CLUSTERS_OWN):
        return None
    is_entras = label.startswith(_OBJECT_ID)
    nature = PrincipalNature.PERSON if is_entras else PrincipalNature.OUTSIDE
    return Principal(role=Role.AUTHOR, who=label, key=identity_key(label), nature=nature)


def principal_of_client(client_id: str, tenant: str = "") -> Principal:
    """Return what a Pod signs in as; an empty or malformed client id is one that hides."""
    known = client_id.lower() if GUID.fullmatch(client_id) else ""
    who = f"client:{known or UNIDENTIFIED}"
    return Principal(
        role=Role.WORKLOAD,
        who=who,
        key=identity_key(known or who),
        nature=PrincipalNature.APPLICATION,
        client_id=known,
        tenant=tenant.lower(),
    )
