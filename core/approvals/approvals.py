"""Approvals: one person's consent to one object as it was, until a time."""

import re
from typing import Annotated, Final, Literal

import msgspec

from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS
from core.base.sallyport_objects import DIGEST, Metadata, convert_spec, parse_time, read_object
from core.egress import allowlists
from core.kubernetes.names import SUBDOMAIN_CHARACTERS
from core.people.subject import Subject
from core.people.two_person import Consent
from core.weights import access_grants, stores

KIND: Final = "Approval"
CLUSTER_KIND: Final = "ClusterApproval"

PROFILE: Final = "ContainerProfile"

PROPOSED: Final = {PROFILE: "profile", stores.KIND: "store"}
"""Kinds whose change is approved before it is written, by its digest, and how its UID begins."""

APPROVES: Final = {
    KIND: ("PolicyException", allowlists.KIND, access_grants.KIND),
    CLUSTER_KIND: ("BreakGlass", PROFILE, allowlists.SET_KIND, stores.KIND),
}
"""What each of both approves."""

TIERS: Final = {
    "PolicyException": names.EXCEPTIONS_TIER,
    "BreakGlass": names.BREAK_GLASS_TIER,
    PROFILE: names.PROFILES_TIER,
    allowlists.KIND: names.EGRESS_TIER,
    allowlists.SET_KIND: names.EGRESS_TIER,
    access_grants.KIND: names.GRANTS_TIER,
    stores.KIND: names.GRANTS_TIER,
}
"""The tier that the approver must have the right to, by the kind that is approved."""

SUSPENDABLE: Final = frozenset({"PolicyException", access_grants.KIND})
"""Kinds that are not in force while somebody who wrote them is at risk, where the site says so."""

MAX_DAYS: Final = 90
"""An approval ends within so many days: so long may a group that its approver left still count."""

MAX_DAYS_OF_PROPOSAL: Final = 7
"""One of a change is for one that comes now, and could be made again until it ends."""

_NOT_YET: Final = "none"
"""Stands for the UID of what does not exist yet."""

_UID: Final = re.compile(r"[A-Za-z0-9-]+")
_OPTIONAL: Final = frozenset({"uid", "digest", "reason"})


class ApprovedObject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is approved; with `uid` and `digest`, only as the approver saw it."""

    kind: Literal[
        "PolicyException",
        "BreakGlass",
        "ContainerProfile",
        "EgressAllowlist",
        "EgressDestinations",
        "AccessGrant",
        "WeightStore",
    ]
    name: Annotated[str, msgspec.Meta(max_length=253)]
    uid: Annotated[str, msgspec.Meta(max_length=64)] | None = None
    digest: str | None = None


class ApprovalSpec(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`spec` of an Approval; the CRD says what each field means."""

    for_: ApprovedObject = msgspec.field(name="for")
    expires_at: str
    reason: Annotated[str, msgspec.Meta(max_length=1024)] = ""


class ApproverAccount(msgspec.Struct, frozen=True, omit_defaults=True):
    """The approver as kube-apiserver authenticated them, kept to ask for their right again."""

    user: str
    groups: list[str] = []
    oid: str = ""

    @property
    def subject(self) -> Subject:
        """The subject to ask access reviews about."""
        extra = {"oid": [self.oid]} if self.oid else {}
        return Subject(self.user, groups=self.groups, extra=extra)


class Approval(msgspec.Struct, frozen=True):
    """An Approval or ClusterApproval as it is stored, checked."""

    meta: Metadata
    spec: ApprovalSpec
    expires: float
    digest: str
    """Of the Approval itself: it never changes."""
    consent: Consent | None
    """None where the webhook has not recorded whose it is: it counts for nothing."""


def parse_approval(raw: bytes | msgspec.Raw, namespace: str = "", kind: str = KIND) -> Approval:
    """Read an Approval, or a ClusterApproval, from its JSON; `namespace` is the request's, if any.

    Raises:
        InvalidObjectError: with the field's path and what it must be. The CRD's schema and CEL
            rules refuse the same objects (a test proves it).
    """
    written = read_object(raw, kind, namespace)
    spec = convert_spec(written, kind, ApprovalSpec, _OPTIONAL)
    what = f"{kind} {written.meta.name}"
    if spec.for_.kind not in APPROVES[kind]:
        raise InvalidObjectError(what, "spec.for.kind", f"must be {' or '.join(APPROVES[kind])}")
    if spec.for_.kind in PROPOSED and spec.for_.digest is None:
        message = "is missing: the change is approved before it is written (sallyport approve)"
        raise InvalidObjectError(what, "spec.for.digest", message)
    if not SUBDOMAIN_CHARACTERS.fullmatch(spec.for_.name):
        raise InvalidObjectError(what, "spec.for.name", f"{spec.for_.name!r} must be its name")
    if spec.for_.uid is not None and not _UID.fullmatch(spec.for_.uid):
        raise InvalidObjectError(what, "spec.for.uid", f"{spec.for_.uid!r} must be its UID")
    if spec.for_.digest is not None and not DIGEST.fullmatch(spec.for_.digest):
        message = f"{spec.for_.digest!r} must be sha256: and 64 hex digits"
        raise InvalidObjectError(what, "spec.for.digest", message)
    expires = parse_time(spec.expires_at, field="spec.expiresAt", what=what)
    consent = _consent(written.meta, expires)
    return Approval(written.meta, spec, expires, written.digest, consent)


def profile_uid(uid: str | None) -> str:
    """Return the key under which approvals of a profile are found; `uid` is None for a new one."""
    return proposal_uid(PROFILE, uid)


def proposal_uid(kind: str, uid: str | None) -> str:
    """Return the key under which approvals of a change are found; `uid` is None for a new object.

    No UID has a colon, so it is never taken for an approval of something else.
    """
    return f"{PROPOSED[kind]}:{uid or _NOT_YET}"


def account_of(subject: Subject) -> ApproverAccount:
    """Return what is kept of an approver."""
    oid = subject.extra.get("oid", [])
    groups = sorted(set(subject.groups))
    return ApproverAccount(subject.username, groups, oid[0] if len(oid) == 1 else "")


def _consent(meta: Metadata, expires: float) -> Consent | None:
    uid = meta.annotation(names.APPROVED_UID_ANNOTATION)
    digest = meta.annotation(names.APPROVED_DIGEST_ANNOTATION)
    try:
        account = msgspec.json.decode(
            meta.annotation(names.APPROVER_ACCOUNT_ANNOTATION), type=ApproverAccount
        )
    except DECODE_ERRORS:
        return None
    if not (uid and digest and meta.uid):
        return None
    return Consent(
        approval=meta.uid,
        approver=account.subject,
        uid=uid,
        digest=digest,
        expires=expires,
        withdrawn=meta.deletion_timestamp is not None,
        given=_given(meta),
    )


def _given(meta: Metadata) -> float:
    """Return when an Approval was made; 0 where that is not recorded."""
    try:
        return parse_time(meta.creation_timestamp or "", field="", what="")
    except InvalidObjectError:
        return 0.0
