"""Cilium's own policy library as the judge of connections (tests/tools/cilium-policy)."""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from tests.harness.programs.availability import require

Entity = Literal["", "host", "remote-node", "kube-apiserver", "world"]

_PROGRAM: Final = "cilium-policy"
_TIMEOUT_S: Final = 120


class PodLabels(msgspec.Struct, frozen=True):
    """A Pod, as far as Cilium tells it from others."""

    namespace: str
    labels: Mapping[str, str] = {}


class Destination(msgspec.Struct, frozen=True):
    """Where a Pod connects to: a Pod, or an address, or an entity, with or without its address.

    An entity without one is a node of the cluster, or any IPv4 address of the world; with one,
    kube-apiserver is outside of the cluster.
    """

    pod: PodLabels | None = None
    address: str = ""
    names: tuple[str, ...] = ()
    """What DNS answered with the address."""
    entity: Entity = ""


class Question(msgspec.Struct, frozen=True):
    """A connection, and perhaps the name that it asks a DNS server for."""

    source: PodLabels = msgspec.field(name="from")
    destination: Destination = msgspec.field(name="to")
    protocol: str
    port: int
    name: str = ""


class Answer(msgspec.Struct, frozen=True):
    """What the agent lets through."""

    allowed: bool
    dns: tuple[str, ...] | None
    """Names and patterns that DNS may be asked for there; None where nothing filters names."""
    answered: bool | None
    """Whether a question for the name gets through; None without a name."""


class RefusedPolicy(msgspec.Struct, frozen=True):
    """A policy that Cilium's parser refuses, by namespace and name."""

    policy: str
    reason: str


class Judgement(msgspec.Struct, frozen=True):
    """The answers in the order of the questions; what is refused has no part in them."""

    answers: tuple[Answer, ...]
    problems: tuple[RefusedPolicy, ...]


def judge(policies: Iterable[Mapping[str, Any]], questions: Sequence[Question] = ()) -> Judgement:
    """Let Cilium parse policies and judge connections; without the program see `require`.

    Raises:
        AssertionError: the program failed; the message is what it wrote to standard error.
    """
    asked = msgspec.json.encode({"policies": list(policies), "questions": questions})
    done = subprocess.run(
        [require(_PROGRAM)], input=asked, capture_output=True, check=False, timeout=_TIMEOUT_S
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return msgspec.json.decode(done.stdout, type=Judgement)
