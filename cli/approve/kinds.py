"""What `sallyport approve` knows of each kind: where it lies, what it shows of one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.approvals import approvals, break_glass, exceptions
from core.approvals.break_glass import BreakGlass, parse_break_glass
from core.approvals.exceptions import ExceptionItem, PolicyException, parse_exception
from core.egress import allowlists
from core.egress.allowlists import (
    EgressAllowlist,
    EgressDestinations,
    parse_allowlist,
    parse_destinations,
)
from core.egress.destinations import Destination
from core.egress.dns_names import readable_name
from core.kubernetes.label_selectors import requirements_of
from core.weights import access_grants
from core.weights.access_grants import AccessGrant, parse_grant
from egress.model.descriptions import describe_requirements
from kube.approvals.watch import (
    BREAK_GLASSES_PATH,
    CLUSTER_APPROVALS_PATH,
    approvals_path,
    exceptions_path,
)
from kube.egress.allowlists import SETS_PATH, allowlists_path
from kube.weights.watch import grants_path

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


def _excuse(excuse: ExceptionItem) -> str:
    if excuse.privilege is None:
        return f"what {excuse.rule} denies{f': {excuse.value}' if excuse.value else ''}"
    whose = f"in container {excuse.container}" if excuse.container else "for the Pod itself"
    return f"{excuse.privilege}, {whose}"


def _relaxed(one: BreakGlass) -> Iterator[Line]:
    state = f"activated, until {one.until}" if one.spec.activated else "sealed"
    yield f"state:    {state}", ""
    while_open = f"once activated, for {one.spec.hours} hour{'' if one.spec.hours == 1 else 's'}"
    if one.spec.rules or one.spec.privileges:
        yield f"{while_open}, only warn", ""
    for namespace in one.spec.namespaces if one.spec.rules or one.spec.privileges else ():
        yield f"in namespace {namespace} of", ""
        for rule in one.spec.rules or ():
            whole = "EVERYTHING that can be relaxed"
            yield f"+ {whole if rule == break_glass.EVERYTHING else f'the rule {rule}'}", "red"
        for pattern in one.spec.privileges or ():
            yield f"+ the privilege {pattern}", "red"
    if one.spec.egress is not None:
        workloads = ", ".join(one.spec.egress.workloads or ())
        pods = f"Pods of {workloads}" if workloads else "ALL Pods"
        yield f"{while_open}, whatever allowlists say", ""
        for namespace in one.spec.namespaces:
            where = "EVERYWHERE but to reserved ranges"
            yield f"+ {pods} of namespace {namespace} connect {where}", "red"


def _opened(one: EgressAllowlist) -> Iterator[Line]:
    yield f"owner:    {one.spec.owner}", ""
    narrowed = [f"{each.kind} {each.name}" for each in one.spec.workloads or ()]
    narrowed += ["with labels"] if one.spec.pod_selector is not None else []
    only = f" (only {', '.join(narrowed)})" if narrowed else ""
    yield f"Pods of {', '.join(one.spec.service_accounts)}{only} may connect to", ""
    yield from map(_destination, one.spec.to)


def _granted(one: AccessGrant) -> Iterator[Line]:
    spec = one.spec
    where = f"container {spec.container}" if spec.container else "all of it"
    under = f", under {', '.join(spec.prefixes)}" if spec.prefixes else ""
    yield f"begins:   {spec.not_before or 'at once'}", ""
    yield f"+ {', '.join(spec.rights)} weights of {spec.store} ({where}{under})", "red"
    accounts = ", ".join(spec.service_accounts or ()) or "no service account: no Pod may by it"
    yield f"as {accounts}", ""
    for person in spec.people or ():
        yield f"+ {person}", "green"
    for group in spec.groups or ():
        yield f"+ whoever is in the group {group}", "green"


def _shared(one: EgressDestinations) -> Iterator[Line]:
    yield f"owner:    {one.spec.owner}", ""
    yield (
        "Pods of service accounts that may use it, and whose allowlist names it, may connect to",
        "",
    )
    yield from map(_destination, one.spec.to)


def _destination(entry: Destination) -> Line:
    ports = ", ".join(map(str, entry.ranges)) or "on its ports"
    if entry.all_ports:
        ports = "on every port"
    return f"+ {_place(entry)}, {ports}", "green"


def _place(entry: Destination) -> str:
    if entry.service is not None:
        where = f"{entry.service.namespace}/" if entry.service.namespace else ""
        return f"Service {where}{entry.service.name}"
    if entry.pods is not None:
        found = entry.pods
        whose = f" of {', '.join(found.service_accounts)}" if found.service_accounts else ""
        labels = " with labels" if found.pod_selector is not None else ""
        if found.namespace_selector is not None:
            wanted = requirements_of(found.namespace_selector, field="", what="")
            where = f"namespaces {describe_requirements(wanted)}" if wanted else "every namespace"
        else:
            where = found.namespace or "its own namespace"
        return f"Pods{whose}{labels} in {where}"
    if entry.destinations is not None:
        return f"EgressDestinations {entry.destinations.name}"
    if entry.cidr is not None:
        holes = f" but {', '.join(entry.except_)}" if entry.except_ else ""
        return f"{entry.cidr}{holes}"
    if entry.service_tag is not None:
        return f"service tag {entry.service_tag}"
    return _name(entry)


def _name(entry: Destination) -> str:
    name = entry.dns_name or ""
    read = f" ({readable_name(name)!a})" if readable_name(name) != name else ""
    within = f" within {', '.join(entry.within)}" if entry.within else ""
    return f"{name}{read}{within}"


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
    ApprovableKind(
        allowlists.KIND,
        approvals.KIND,
        ("egressallowlist", "egressallowlists", "eal"),
        allowlists_path,
        approvals_path,
        parse_allowlist,
        _opened,
    ),
    ApprovableKind(
        access_grants.KIND,
        approvals.KIND,
        ("accessgrant", "accessgrants", "agr", "grant"),
        grants_path,
        approvals_path,
        parse_grant,
        _granted,
    ),
    ApprovableKind(
        allowlists.SET_KIND,
        approvals.CLUSTER_KIND,
        ("egressdestinations", "eds"),
        lambda _: SETS_PATH,
        lambda _: CLUSTER_APPROVALS_PATH,
        parse_destinations,
        _shared,
        namespaced=False,
    ),
)
"""The kinds that can be approved."""
