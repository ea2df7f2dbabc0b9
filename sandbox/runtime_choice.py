"""Decides whether a Pod runs in a sandbox, and in which RuntimeClass, or what is against it.

Pure. The first runtime of the site's order that can run the Pod is taken; the class that an author
names is never exchanged (RuntimeClass admission may have merged its overhead already).
"""

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from core.sandbox.decision import (
    EffectiveMode,
    Feature,
    RuntimeClass,
    SandboxDecision,
    SandboxMode,
)
from sandbox.compatibility import CANNOT, GPU, GVISOR, Kind, RuntimeLimit
from sandbox.risk_score import RiskScore

HANDLERS: Final[Mapping[str, Kind]] = {"runsc": "gvisor", "kata": "kata"}
"""Which sandbox a handler of a node's runtime starts, as containerd is usually configured."""

NEW_ACCOUNT_HOURS: Final = 24

THRESHOLD: Final = 50


@dataclass(frozen=True)
class SandboxSettings:
    """What the operators set."""

    runtimes: tuple[str, ...] = ("gvisor",)
    """RuntimeClasses in the order of choice."""
    handlers: Mapping[str, Kind] = field(default_factory=lambda: HANDLERS)
    """Which sandbox each handler starts: a key of `CANNOT`."""
    threshold: int = THRESHOLD
    points: Mapping[str, int] = field(default_factory=dict)
    """Points of rules that are not those of their METADATA."""
    gpu_label: str = ""
    """`key=value`: nodes with it have a driver that gVisor's proxy knows."""
    new_account_s: float = NEW_ACCOUNT_HOURS * 3600.0
    """Age in seconds below which a service account counts as new."""


DEFAULT_SANDBOX_SETTINGS: Final = SandboxSettings()


class Obstacle(enum.Enum):
    """What keeps a Pod from running in a sandbox."""

    ABSENT = "absent"
    """There is no such RuntimeClass."""
    NO_SANDBOX = "no-sandbox"
    """Its handler is not one that the site calls a sandbox."""
    INCOMPATIBLE = "incompatible"
    OTHER = "other"
    """The author names a class that is none of the site's."""
    EMPTY = "empty"
    """The author names the empty class, which is the node's default runtime."""


class Refusal(msgspec.Struct, frozen=True):
    """One thing that is against it."""

    trouble: Obstacle
    runtime: str
    """The RuntimeClass that it is about."""
    handler: str = ""
    feature: Feature | None = None
    limit: RuntimeLimit | None = None


class RuntimeChoice(msgspec.Struct, frozen=True):
    """The RuntimeClass that a Pod must have, or what speaks against every one."""

    runtime: str
    """Where there are refusals: the first of the site's."""
    refusals: tuple[Refusal, ...] = ()


def is_sandbox_required(mode: SandboxMode, *, asked: bool, score: int, threshold: int) -> bool:
    """Return whether a Pod must run in a sandbox."""
    if asked or mode is SandboxMode.REQUIRED:
        return True
    return mode is SandboxMode.BY_RISK and score >= threshold


def choose_runtime(
    site: SandboxSettings,
    named: str | None,
    features: Sequence[Feature],
    classes: Mapping[str, RuntimeClass | None],
) -> RuntimeChoice:
    """Choose for a Pod that must run in a sandbox; `named` is the class that it has already.

    `classes` holds all of the site's RuntimeClasses; what is not there does not exist.
    """
    if named is not None:
        return _of_named(site, named, features, classes)
    refusals: list[Refusal] = []
    for runtime in site.runtimes:
        found = _against(site, runtime, features, classes.get(runtime))
        if not found:
            return RuntimeChoice(runtime)
        refusals += found
    return RuntimeChoice(site.runtimes[0], _telling(refusals))


def _of_named(
    site: SandboxSettings,
    named: str,
    features: Sequence[Feature],
    classes: Mapping[str, RuntimeClass | None],
) -> RuntimeChoice:
    if named not in site.runtimes:
        trouble = Obstacle.OTHER if named else Obstacle.EMPTY
        without = choose_runtime(site, None, features, classes)
        return RuntimeChoice(without.runtime, (Refusal(trouble, named), *without.refusals))
    return RuntimeChoice(named, tuple(_against(site, named, features, classes.get(named))))


def _telling(refusals: Iterable[Refusal]) -> tuple[Refusal, ...]:
    """Return what the author can mend, of the first runtime that there is; else what is missing."""
    refusals = tuple(refusals)
    own = [each for each in refusals if each.trouble is Obstacle.INCOMPATIBLE]
    if not own:
        return refusals
    return tuple(each for each in own if each.runtime == own[0].runtime)


def _against(
    site: SandboxSettings, runtime: str, features: Sequence[Feature], found: RuntimeClass | None
) -> list[Refusal]:
    if found is None:
        return [Refusal(Obstacle.ABSENT, runtime)]
    kind = site.handlers.get(found.handler)
    if kind is None:
        return [Refusal(Obstacle.NO_SANDBOX, runtime, found.handler)]
    cannot = CANNOT[kind]
    return [
        Refusal(Obstacle.INCOMPATIBLE, runtime, found.handler, feature, cannot[feature.name])
        for feature in features
        if feature.name in cannot and not _gpu_runs(site, kind, feature, found)
    ]


def _gpu_runs(site: SandboxSettings, kind: Kind, feature: Feature, found: RuntimeClass) -> bool:
    """Return whether the class sends Pods only to nodes whose driver gVisor's proxy knows.

    The gate watches no Nodes: a selector is what holds a Pod to labelled ones.
    """
    if kind != GVISOR or feature.name != GPU or not site.gpu_label:
        return False
    key, _, value = site.gpu_label.partition("=")
    return found.node_selector.get(key) == value


def sandbox_record(  # noqa: PLR0913  All that it is made of.
    site: SandboxSettings,
    mode: EffectiveMode,
    weighed: RiskScore,
    runtime: str,
    *,
    asked: bool,
    excused: bool,
) -> SandboxDecision:
    """Return what was decided, for the record."""
    return SandboxDecision(
        mode=mode.mode,
        mode_by=mode.by,
        asked=asked,
        score=weighed.score,
        threshold=site.threshold,
        signals=weighed.counted,
        runtime=runtime,
        excused=excused,
    )
