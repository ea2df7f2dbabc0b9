"""Descriptions of openings for people: whose Pods, where to, on which ports. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final

import msgspec

from core.base import names
from core.base.networks import Network
from core.egress.allowlists import EgressAllowlist, EgressDestinations
from core.egress.destinations import Destination, PortRange
from core.egress.dns_names import ANY, readable_name
from core.egress.pod_labels import NO_WORKLOAD
from core.kubernetes.label_selectors import Requirement, Requirements, sort_requirements
from egress.model.openings import Addresses, Block, Name, Opening, Peer, Pods, Service
from kube.egress.snapshot import EgressSnapshot

MOST: Final = 4
"""Networks that are shown of one peer; the others are counted."""

_PATH: Final = re.compile(r"spec\.to\[(\d+)\](?: \(EgressDestinations (\S+): spec\.to\[(\d+)\]\))?")
_GATES: Final = (names.EGRESS_ACCOUNT_LABEL, names.EGRESS_WORKLOAD_LABEL)


class PodSubject(msgspec.Struct, frozen=True, order=True):
    """Pods of one service account, of one workload or of any."""

    namespace: str
    account: str
    """As the gate's label has it; empty for every one."""
    workload: str = ""
    """`Kind.name`; empty for any."""
    rest: Requirements = ()
    """What the author's selector demands beside."""

    @property
    def requirements(self) -> Requirements:
        """What the labels of its Pods must be."""
        named = zip(_GATES, (self.account, self.workload), strict=True)
        gates = (Requirement(key, "In", (value,)) for key, value in named if value)
        return sort_requirements((*gates, *self.rest))

    def __str__(self) -> str:
        """Write it as people do: `research/trainer`, `research/trainer Job.fetch`."""
        workload = "no workload" if self.workload == NO_WORKLOAD else self.workload
        parts = (
            f"{self.namespace}/{self.account or '*'}",
            workload,
            describe_requirements(self.rest),
        )
        return " ".join(filter(None, parts))


def subjects_of(namespace: str, selects: Requirements) -> Iterator[PodSubject]:
    """Yield whom a selection means, one for each service account and workload."""
    values: dict[str, Sequence[str]] = dict.fromkeys(_GATES, ("",))
    rest = []
    for each in selects:
        if each.key in _GATES and each.operator == "In" and values[each.key] == ("",):
            values[each.key] = each.values
        else:
            rest.append(each)
    for account, workload in product(*(values[key] for key in _GATES)):
        yield PodSubject(namespace, account, workload, tuple(rest))


def describe_requirements(requirements: Requirements) -> str:
    """Return the selector in words, in brackets; empty where it demands nothing."""
    said = []
    for each in requirements:
        values = ",".join(each.values)
        words = {
            "In": f"={values}" if len(each.values) == 1 else f" in {values}",
            "NotIn": f" not in {values}",
            "Exists": "",
            "DoesNotExist": " absent",
        }
        said.append(f"{each.key}{words[each.operator]}")
    return f"[{'; '.join(said)}]" if said else ""


def destination_of(peer: Peer, entry: Destination | None = None) -> str:
    """Return a peer in words; `entry` is what the intent says of it, where that is known."""
    match peer:
        case Addresses(blocks):
            if entry is not None and entry.service_tag is not None:
                return f"service tag {entry.service_tag}"
            return describe_networks([each.network for each in blocks], _excepts(blocks))
        case Name(pattern, addresses, pinned):
            pins = f" (only {describe_networks(addresses) or 'nowhere yet'})" if pinned else ""
            plain = f" ({readable_name(pattern)})" if readable_name(pattern) != pattern else ""
            return f"{'every name' if pattern == ANY else pattern}{plain}{pins}"
        case Service(namespace, name):
            return f"service {namespace}/{name}"
        case Pods(namespaces=tuple() as chosen):
            labels = describe_requirements(peer.requirements)
            where = describe_requirements(chosen) or "every namespace"
            return " ".join(filter(None, ("Pods", labels, f"of namespaces {where}")))
        case Pods(namespace, requirements):
            subject = next(subjects_of(namespace, requirements))
            whose = f"Pods {namespace}/{subject.account}" if subject.account else ""
            whose = whose or f"{'' if subject.rest else 'every '}Pod of {namespace}"
            return " ".join(filter(None, (whose, describe_requirements(subject.rest))))


def describe_networks(networks: Sequence[Network], without: Sequence[Network] = ()) -> str:
    """Return some networks in words; single addresses without their length."""
    holes = f" but {describe_networks(without)}" if without else ""
    some = [str(each).removesuffix(f"/{each.max_prefixlen}") for each in networks[:MOST]]
    more = len(networks) - MOST
    return ", ".join(some) + (f" and {more} more" if more > 0 else "") + holes


def _excepts(blocks: Iterable[Block]) -> list[Network]:
    return [hole for block in blocks for hole in block.excepts]


def describe_ports(ports: Iterable[PortRange]) -> str:
    """Return ports in words: `TCP 80, 443; UDP 53`."""
    found: dict[str, list[str]] = {}
    for each in sorted(ports):
        found.setdefault(each.protocol, []).append(str(each).partition(" ")[2])
    return "; ".join(f"{protocol} {', '.join(some)}" for protocol, some in found.items())


def entry_of(opening: Opening, allowlist: EgressAllowlist, snapshot: EgressSnapshot) -> Destination:
    """Return the entry that an opening was read from, of the allowlist or of the set in it."""
    return entry_in(opening, allowlist, snapshot.sets)


def entry_in(
    opening: Opening, allowlist: EgressAllowlist, sets: Mapping[str, EgressDestinations]
) -> Destination:
    """Return the same, where only the sets are at hand."""
    index, name, inner = _parts(opening.path)
    entry = allowlist.spec.to[index]
    return entry if not name else sets[name].spec.to[inner]


def set_of(opening: Opening) -> str:
    """Return the set that an opening was read from; empty where there is none."""
    return _parts(opening.path)[1]


def _parts(path: str) -> tuple[int, str, int]:
    found = _PATH.fullmatch(path)
    index, name, inner = found.groups() if found else ("0", None, None)
    return int(index or 0), name or "", int(inner or 0)
