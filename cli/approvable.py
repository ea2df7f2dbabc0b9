"""What `sallyport approve` knows of each kind: where it lies, what it shows of one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from core import approvals, break_glass, exceptions
from core.break_glass import BreakGlass, parse_break_glass
from core.exceptions import Excuse, PolicyException, parse_exception
from kube.break_glasses import BREAK_GLASSES_PATH, CLUSTER_APPROVALS_PATH
from kube.exceptions import approvals_path, exceptions_path

Line = tuple[str, str]
"""A line and its colour, if it has one."""


@dataclass(frozen=True)
class ApprovableKind:
    """One kind that two people approve."""

    kind: str
    approval: str
    """The kind of its approvals."""
    called: Sequence[str]
    """What a person may call it."""
    path: Callable[[str], str]
    """The path of all of them in a namespace."""
    approvals: Callable[[str], str]
    """The path of their approvals."""
    parse: Callable[[bytes], Any]
    lines: Callable[[Any], Iterator[Line]]
    """What it adds to what may be done."""
    namespaced: bool = True


def _excused(exception: PolicyException) -> Iterator[Line]:
    for workload in exception.spec.workloads:
        yield f"{workload.kind} {workload.name} ({workload.api_version}) may also have", ""
        for excuse in exception.spec.excuses:
            yield f"+ {_excuse(excuse)}", "green"


def _excuse(excuse: Excuse) -> str:
    if excuse.privilege is None:
        return f"what {excuse.rule} denies{f': {excuse.value}' if excuse.value else ''}"
    whose = f"in container {excuse.container}" if excuse.container else "for the Pod itself"
    return f"{excuse.privilege}, {whose}"


def _relaxed(one: BreakGlass) -> Iterator[Line]:
    state = f"activated, until {one.until}" if one.spec.activated else "sealed"
    yield f"state:    {state}", ""
    hours = one.spec.hours
    yield f"once activated, for {hours} hour{'' if hours == 1 else 's'}, only warn", ""
    for namespace in one.spec.namespaces:
        yield f"in namespace {namespace} of", ""
        for rule in one.spec.rules or ():
            whole = "EVERYTHING that can be relaxed"
            yield f"+ {whole if rule == break_glass.EVERYTHING else f'the rule {rule}'}", "red"
        for pattern in one.spec.privileges or ():
            yield f"+ the privilege {pattern}", "red"


KINDS: Final = (
    ApprovableKind(
        exceptions.KIND,
        approvals.KIND,
        ("policyexception", "policyexceptions", "pex"),
        exceptions_path,
        approvals_path,
        parse_exception,
        _excused,
    ),
    ApprovableKind(
        break_glass.KIND,
        approvals.CLUSTER_KIND,
        ("breakglass", "breakglasses"),
        lambda _: BREAK_GLASSES_PATH,
        lambda _: CLUSTER_APPROVALS_PATH,
        parse_break_glass,
        _relaxed,
        namespaced=False,
    ),
)
"""The kinds that can be approved."""
