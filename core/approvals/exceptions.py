"""PolicyExceptions: privileges and rules excused for workloads that they name, until a time."""

import re
from typing import Annotated, Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.sallyport_objects import (
    Metadata,
    convert_spec,
    parse_time,
    read_object,
    require_match,
)
from core.decision.decision import Denial, Need
from core.kubernetes.names import LABEL, SUBDOMAIN_CHARACTERS
from core.people.two_person import Approvable, approvable_of
from core.profiles.privileges import validate_pattern
from core.sandbox import decision

KIND: Final = "PolicyException"

MAX_DAYS: Final = 180
"""An exception that is made or changed ends within so many days."""

_API_VERSION: Final = re.compile(r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?v[a-z0-9]+")
_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
_RULE: Final = re.compile(rf"rules(/[a-z0-9_]+)+|{decision.REQUIRED}")

_OPTIONAL: Final = frozenset({"privilege", "rule", "container", "value"})

_Text = Annotated[str, msgspec.Meta(max_length=253)]


class WorkloadName(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A workload of the exception's namespace, exactly: its version, kind and name."""

    api_version: _Text
    kind: Annotated[str, msgspec.Meta(max_length=63)]
    name: _Text


class ExceptionItem(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One privilege, or one value that a rule denies."""

    privilege: Annotated[str, msgspec.Meta(max_length=1024)] | None = None
    container: Annotated[str, msgspec.Meta(max_length=63)] | None = None
    """Whose need it is; without it, that of no container: the Pod's own."""
    rule: _Text | None = None
    value: Annotated[str, msgspec.Meta(max_length=1024)] | None = None
    """What the rule's message names, such as an annotation."""

    def covers(self, need: Need) -> bool:
        """Return whether it covers this very need."""
        return self.privilege == need.privilege and self.container == need.container

    def covers_denial(self, denial: Denial) -> bool:
        """Return whether it covers this very denial."""
        return self.rule == denial.rule and (self.value or "") == denial.value


class ExceptionSpec(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`spec` of a PolicyException; the CRD says what each field means."""

    workloads: Annotated[list[WorkloadName], msgspec.Meta(min_length=1, max_length=16)]
    excuses: Annotated[list[ExceptionItem], msgspec.Meta(min_length=1, max_length=32)]
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]
    expires_at: str


class PolicyException(msgspec.Struct, frozen=True):
    """A PolicyException as it is stored, checked."""

    meta: Metadata
    spec: ExceptionSpec
    expires: float
    """Unix seconds: from then on it excuses nothing."""
    approvable: Approvable

    @property
    def id(self) -> str:
        """Name it as decisions do: `name@uid`."""
        return f"{self.meta.name}@{self.meta.uid}"

    @property
    def privileges(self) -> frozenset[str]:
        """The privileges that it excuses."""
        return frozenset(each.privilege for each in self.spec.excuses if each.privilege)

    def in_time(self, now: float) -> bool:
        """Return whether it has neither expired nor is being deleted."""
        return now < self.expires and self.meta.deletion_timestamp is None


def parse_exception(raw: bytes | msgspec.Raw, namespace: str = "") -> PolicyException:
    """Read a PolicyException from its JSON; `namespace` is the request's, if there is one.

    Raises:
        InvalidObjectError: with the field's path and what it must be. The CRD's schema and CEL
            rules refuse the same objects (a test proves it).
    """
    written = read_object(raw, KIND, namespace)
    spec = convert_spec(written, KIND, ExceptionSpec, _OPTIONAL)
    what = f"{KIND} {written.meta.name}"
    for index, workload in enumerate(spec.workloads):
        _check_workload(workload, f"spec.workloads[{index}]", what)
    for index, excuse in enumerate(spec.excuses):
        _check_excuse(excuse, f"spec.excuses[{index}]", what)
    meta = written.meta
    return PolicyException(
        meta=meta,
        spec=spec,
        expires=parse_time(spec.expires_at, field="spec.expiresAt", what=what),
        approvable=approvable_of(written),
    )


def _check_workload(workload: WorkloadName, path: str, what: str) -> None:
    require_match(_API_VERSION, workload.api_version, f"{path}.apiVersion", what, "such as apps/v1")
    require_match(_KIND, workload.kind, f"{path}.kind", what, "a kind such as Deployment")
    require_match(
        SUBDOMAIN_CHARACTERS, workload.name, f"{path}.name", what, "the whole name of one workload"
    )


def _check_excuse(excuse: ExceptionItem, path: str, what: str) -> None:
    if (excuse.privilege is None) == (excuse.rule is None):
        raise InvalidObjectError(what, path, "must name a privilege or a rule: one of them")
    if excuse.privilege is not None:
        if "*" in excuse.privilege:
            message = f"{excuse.privilege!r} must be one privilege: patterns excuse nothing"
            raise InvalidObjectError(what, f"{path}.privilege", message)
        validate_pattern(excuse.privilege, field=f"{path}.privilege", what=what)
        if excuse.value is not None:
            raise InvalidObjectError(what, f"{path}.value", "goes with a rule: remove it")
    else:
        require_match(
            _RULE, excuse.rule or "", f"{path}.rule", what, "such as rules/runtime/annotations"
        )
        if excuse.container is not None:
            raise InvalidObjectError(what, f"{path}.container", "goes with a privilege: remove it")
    if excuse.container is not None:
        require_match(LABEL, excuse.container, f"{path}.container", what, "a container's name")
