"""What makes containers risky by themselves, read once for all Pods of a gang.

Exact: all that it depends on is the key under which it is remembered, as JSON.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from core.kubernetes import pod as k8s
from policies.projection.container_risks import NOTHING, Start, started
from policies.projection.resources import special_resources

_MOST_REMEMBERED: Final = 512
_LONGEST_REMEMBERED: Final = 16 * 1024
"""Bytes of all that is read of one Pod. Together at most 8 MiB."""


class Risk(NamedTuple):
    """Of one container."""

    start: Start = NOTHING
    interactive: bool = False
    """Whether it has a terminal and waits for what is typed into it."""
    resources: tuple[str, ...] = ()
    """Those that not every node has."""


NONE: Final = Risk()


_ENCODER: Final = msgspec.json.Encoder()

_remembered: Final[dict[bytes, tuple[Risk, ...]]] = {}


def risks_of(containers: Sequence[tuple[str, k8s.Container]]) -> Sequence[Risk]:
    """Give what makes each of a Pod's containers risky; each comes with its path.

    Raises:
        InvalidObjectError: a command is no list of texts, or it wants more resources than any real
            container does.
    """
    read: list[object] = []
    for _, each in containers:
        limits = each.resources and each.resources.limits
        read += (each.command, each.args, each.lifecycle, limits, each.stdin, each.tty)
    key = _ENCODER.encode(read)
    if len(key) > _LONGEST_REMEMBERED:
        return _all(containers)
    risks = _remembered.get(key)
    if risks is None:
        if len(_remembered) >= _MOST_REMEMBERED:
            _remembered.clear()
        risks = _remembered[key] = _all(containers)
    return risks


def _all(containers: Sequence[tuple[str, k8s.Container]]) -> tuple[Risk, ...]:
    return tuple(_of(path, each) for path, each in containers)


def _of(path: str, container: k8s.Container) -> Risk:
    limits = container.resources and container.resources.limits
    return Risk(
        started(container, path),
        bool(container.stdin and container.tty),
        special_resources(limits, path) if limits else (),
    )
