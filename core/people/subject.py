"""Who asks: the user of a request, as kube-apiserver authenticated it."""

import hashlib
import re
from typing import Final

import msgspec

from core.base.short_text_cache import cache_short_text

SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"
_SYSTEM_PREFIX = "system:"

_OBJECT_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Subject(msgspec.Struct, frozen=True, gc=False):
    """`userInfo` of an AdmissionReview (k8s.io/api/authentication/v1 UserInfo)."""

    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}

    @property
    def is_system(self) -> bool:
        """Whether this is an identity of the cluster itself, and no person's."""
        return self.username.startswith(_SYSTEM_PREFIX)

    @property
    def is_service_account(self) -> bool:
        """Whether this is a service account of the cluster."""
        return self.username.startswith(SERVICE_ACCOUNT_PREFIX)

    @property
    def label(self) -> str:
        """A name fit for logs and evidence: never a person's.

        Identities of the cluster itself (`system:…`) keep their names, since they name no one.
        A person becomes the Entra object id (`extra.oid`) where there is one, else the first
        16 hex digits of the SHA-256 of the user name.
        """
        if self.is_system:
            return self.username
        oid = self.extra.get("oid", [])
        if len(oid) == 1 and _OBJECT_ID.fullmatch(oid[0]):
            return f"oid:{oid[0]}"
        return "user:" + hashlib.sha256(self.username.encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        """Return the label: what is printed by accident names no one."""
        return f"Subject({self.label})"


def pseudonymous_user(name: str) -> str:
    """Return the name of a user fit for privileges and the record: never a person's.

    Those of the cluster (`system:…`), `*` and Entra object ids name no person and stay; any other
    is a person's, and becomes what `Subject.label` makes of it (docs/adr/0009). Nothing stays
    nothing. No name stays that looks like a label: each privilege means one user.
    """
    if name in {"", "*"} or name.startswith("system:") or _OBJECT_ID.fullmatch(name):
        return name
    return Subject(name).label


GROUP_PREFIX: Final = "group:"


@cache_short_text(4096, longest=256)
def pseudonymous_group(name: str) -> str:
    """Return the name of a group fit for the record: people name groups after themselves.

    Those of the cluster (`system:…`) and Entra object ids stay; any other becomes `group:` and the
    first 16 hex digits of its SHA-256, so that whoever has the name finds it again.
    """
    if name.startswith(_SYSTEM_PREFIX) or _OBJECT_ID.fullmatch(name):
        return name
    return GROUP_PREFIX + hashlib.sha256(name.encode()).hexdigest()[:16]


def service_account_subject(namespace: str, name: str) -> Subject:
    """Return the subject that a Pod running as this service account is.

    Groups as kube-apiserver gives them (k8s.io/apiserver/pkg/authentication/serviceaccount).
    """
    return Subject(
        username=f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}",
        groups=[
            "system:serviceaccounts",
            f"system:serviceaccounts:{namespace}",
            "system:authenticated",
        ],
    )
