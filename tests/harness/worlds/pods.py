"""Pods to compare verdicts on: bases, each with one change or a pair of them, by a seed."""

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tests.harness.worlds.changes import UNSET, Change
from tests.harness.worlds.container_changes import CONTAINER_CHANGES, HANDLER_CHANGES
from tests.harness.worlds.pod_changes import POD_CHANGES

Pod = dict[str, Any]

_LISTS: Final = {
    "main": "containers",
    "second": "containers",
    "init": "initContainers",
    "sidecar": "initContainers",
    "debug": "ephemeralContainers",
}
"""The containers that a change may be made to, and the lists in which they lie."""

SLOTS: Final = ("main", "second", "init", "sidecar")
"""Those that a Pod may have when it is created."""


@dataclass(frozen=True, slots=True)
class Base:
    """A Pod to start from, and what any further container in it looks like."""

    name: str
    spec: Pod
    container: Pod

    def pod(self) -> Pod:
        """Return a new Pod with the one container `main`."""
        pod: Pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "pod"},
            "spec": copy.deepcopy(self.spec),
        }
        self.container_of(pod, "main")
        return pod

    def container_of(self, pod: Pod, slot: str) -> Pod:
        """Return the container in a slot, adding it first where the Pod has none there."""
        containers: list[Pod] = pod["spec"].setdefault(_LISTS[slot], [])
        for container in containers:
            if container["name"] == slot:
                return container
        container = {"name": slot, **copy.deepcopy(self.container)}
        if slot == "sidecar":
            container["restartPolicy"] = "Always"
        containers.append(container)
        return container


_IMAGE: Final = "registry.example.org/a:1"
_COMPLIANT: Final = {
    "image": _IMAGE,
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    },
}
_SECCOMP: Final = {"seccompProfile": {"type": "RuntimeDefault"}}

RESTRICTED: Final = Base(
    "restricted",
    {"securityContext": {"runAsNonRoot": True, **_SECCOMP}},
    _COMPLIANT,
)
BARE: Final = Base("bare", {}, {"image": _IMAGE})
USER_NAMESPACE: Final = Base(
    "user-namespace",
    {"hostUsers": False, "securityContext": _SECCOMP},
    _COMPLIANT,
)
WINDOWS: Final = Base(
    "windows",
    {"os": {"name": "windows"}, "securityContext": {"runAsNonRoot": True}},
    {"image": _IMAGE},
)
HOST_PROCESS: Final = Base(
    "host-process",
    {
        "os": {"name": "windows"},
        "hostNetwork": True,
        "securityContext": {"runAsNonRoot": True, "windowsOptions": {"hostProcess": True}},
    },
    {"image": _IMAGE},
)

BASES: Final = (RESTRICTED, USER_NAMESPACE, BARE, WINDOWS, HOST_PROCESS)
_PAIR_WEIGHTS: Final = (55, 20, 20, 4, 1)
"""How often each base is drawn for a pair: most where one change can tip the verdict."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change to the Pod itself (`slot` is None) or to one of its containers."""

    slot: str | None
    change: Change

    @property
    def field(self) -> str:
        """The field's path from the Pod, as Pod Security's own comments spell it."""
        if self.slot is None:
            return self.change.field
        return f"spec.{_LISTS[self.slot]}[*].{self.change.field}"

    @property
    def name(self) -> str:
        """What is changed to what, for a message."""
        value = "unset" if self.change.value is UNSET else json.dumps(self.change.value)
        where = "" if self.slot is None else f"{self.slot}:"
        return f"{where}{'.'.join(self.change.path)}={value}"

    def apply(self, base: Base, pod: Pod) -> None:
        """Make the change in a Pod that was made from `base`."""
        root = pod if self.slot is None else base.container_of(pod, self.slot)
        copy.deepcopy(self.change).applied(root)


def container_mutations(slot: str) -> list[Mutation]:
    """Return every change that the API lets the container in a slot have."""
    handlers = () if slot in {"init", "debug"} else HANDLER_CHANGES
    return [Mutation(slot, change) for change in (*CONTAINER_CHANGES, *handlers)]


MUTATIONS: Final = (
    *(Mutation(None, change) for change in POD_CHANGES),
    *(mutation for slot in SLOTS for mutation in container_mutations(slot)),
)
"""Every change that can be asked about by creating a Pod."""


def pods(seed: int) -> Iterator[tuple[str, Pod]]:
    """Yield (name, Pod) without end: the bases, every single change to each, then pairs.

    The order depends on nothing but the seed: every change to the restricted base comes
    first, then the other bases' changes shuffled together, then pairs.
    """
    rng = random.Random(seed)  # noqa: S311 -- must repeat, need not be secret
    for base in BASES:
        yield _mutated(base)
    singles = [(base, mutation) for base in BASES[1:] for mutation in MUTATIONS]
    rng.shuffle(singles)
    for base, mutation in [(RESTRICTED, mutation) for mutation in MUTATIONS] + singles:
        yield _mutated(base, mutation)
    while True:
        (base,) = rng.choices(BASES, _PAIR_WEIGHTS)
        yield _mutated(base, *rng.sample(MUTATIONS, 2))


def _mutated(base: Base, *mutations: Mutation) -> tuple[str, Pod]:
    pod = base.pod()
    for mutation in mutations:
        mutation.apply(base, pod)
    return " + ".join([base.name, *(mutation.name for mutation in mutations)]), pod
