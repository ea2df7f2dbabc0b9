"""`sallyport rollout set`: puts namespaces into another mode, once it is known what that does."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec

from app.settings.root import Settings
from cli import exits
from cli.rollout.cluster import RolloutCluster, read_rollout_cluster
from cli.rollout.status import RolloutRequest, open_cluster_objects, read_status
from cli.rollout.verdicts import Standing, Verdict
from core.base import names
from core.base.errors import ClusterError, SettingsError
from core.decision.namespaces import (
    STRICTNESS,
    Mode,
    Namespace,
    enforce_from,
    parse_moment,
    stricter_mode,
)
from kube.client.objects import Objects

FORMAT: Final = 1

_REFUSED: Final = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY})


class Did(enum.Enum):
    """What became of a namespace."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    """It was so already."""
    HELD = "held"
    """Nothing was changed: this namespace, or another one that was named, is not ready."""
    REFUSED = "refused"
    """The cluster did not let you."""


class Set(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What became of one namespace."""

    namespace: str
    before: str
    after: str
    enforce_from: str
    did: Did
    message: str = ""
    verdict: Verdict | None = None
    """What was known of it; None where nobody asked."""


class Answer(msgspec.Struct, frozen=True, rename="camel"):
    """`sallyport rollout set -o json` (docs/reference/rollout-set.schema.json)."""

    format: int
    namespaces: list[Set]


@dataclass(frozen=True)
class SetOptions:
    """What a person asked for."""

    mode: Mode
    announced: str = ""
    """From when it is to enforce; empty: not said."""
    lower: bool = False
    force: bool = False
    dry_run: bool = False


async def set_modes(settings: Settings, asked: RolloutRequest, options: SetOptions) -> Answer:
    """Put the namespaces into the mode: all of them, or none where one is not ready.

    Raises:
        ClusterError: kube-apiserver does not answer.
        LedgerError: it is to enforce, and the ledger cannot be read.
        SettingsError: what is asked for cannot be.
    """
    _demand_sense(options)
    async with open_cluster_objects(settings) as objects:
        ground = await read_rollout_cluster(objects, settings)
        chosen = ground.chosen(asked.namespaces)
        _demand_allowed(ground, chosen, options)
        known = await _known(settings, asked, ground, chosen, options)
        held = [] if options.force else [each for each in known.values() if _holds(each)]
        answers = []
        for namespace in chosen:
            before = ground.modes.of(namespace)
            standing = known.get(namespace.name)
            if held:
                said = _held(namespace, before, standing)
            else:
                said = await _put(objects, namespace, before, options)
            verdict = standing.verdict if standing else None
            answers.append(msgspec.structs.replace(said, verdict=verdict))
    return Answer(FORMAT, answers)


def exit_code(answer: Answer) -> int:
    """Return the exit code: what could not be known weighs more than what was refused."""
    kept = [each for each in answer.namespaces if each.did in {Did.HELD, Did.REFUSED}]
    if any(each.verdict is Verdict.UNKNOWN for each in kept):
        return exits.NOT_JUDGED
    return exits.REFUSED if kept else exits.ADMITTED


def _demand_sense(options: SetOptions) -> None:
    if options.announced and options.mode is not Mode.WARN:
        raise SettingsError(
            "--from: says in warnings from when it is to enforce: give it with --mode warn, and "
            "set --mode enforce on that day"
        )
    if options.announced and parse_moment(options.announced) is None:
        raise SettingsError(
            f"--from {options.announced}: give a day (2026-12-01) or a time with its zone "
            "(2026-12-01T08:00:00Z)"
        )


def _demand_allowed(
    ground: RolloutCluster, chosen: Sequence[Namespace], options: SetOptions
) -> None:
    least = ground.modes.least
    if stricter_mode(options.mode, least) is not options.mode:
        raise SettingsError(
            f"--mode {options.mode.value}: the installation's least mode is {least.value} "
            "(rollout.least), which no label undercuts"
        )
    lowered = [
        each.name
        for each in chosen
        if STRICTNESS[options.mode] < STRICTNESS[ground.modes.of(each)] and not options.lower
    ]
    if lowered:
        raise SettingsError(
            f"--mode {options.mode.value} is milder than what holds in {', '.join(lowered)}: "
            "give --lower too if that is meant"
        )


async def _known(
    settings: Settings,
    asked: RolloutRequest,
    ground: RolloutCluster,
    chosen: Sequence[Namespace],
    options: SetOptions,
) -> dict[str, Standing]:
    """Return the status of the namespaces that are to enforce and do not yet."""
    new = [each.name for each in chosen if ground.modes.of(each) is not Mode.ENFORCE]
    if options.mode is not Mode.ENFORCE or not new or options.force:
        return {}
    only = RolloutRequest(tuple(new), asked.since, asked.sweep_age)
    status = await read_status(settings, only)
    return {each.namespace: each for each in status.namespaces}


def _holds(standing: Standing) -> bool:
    return standing.verdict in {Verdict.WOULD_REFUSE, Verdict.UNKNOWN}


def _held(namespace: Namespace, before: Mode, standing: Standing | None) -> Set:
    if standing is None or not _holds(standing):
        message = "it is ready itself; name it alone"
    elif standing.verdict is Verdict.UNKNOWN:
        message = f"not enough is known: {'; '.join(standing.evidence)}"
    else:
        several = "" if standing.would_refuse == 1 else "s"
        message = (
            f"{standing.would_refuse} workload{several} would be refused: "
            f"sallyport rollout status {namespace.name}"
        )
    return Set(
        namespace=namespace.name,
        before=before.value,
        after=before.value,
        enforce_from=enforce_from(namespace),
        did=Did.HELD,
        message=message,
    )


async def _put(objects: Objects, namespace: Namespace, before: Mode, options: SetOptions) -> Set:
    announced = options.announced if options.mode is Mode.WARN else ""
    said = Set(
        namespace=namespace.name,
        before=before.value,
        after=options.mode.value,
        enforce_from=announced,
        did=Did.CHANGED,
        message="nothing was written: --dry-run" if options.dry_run else "",
    )
    label = namespace.labels.get(names.MODE_LABEL)
    if label == options.mode.value and enforce_from(namespace) == announced:
        return msgspec.structs.replace(said, did=Did.UNCHANGED)
    if options.dry_run:
        return said
    try:
        await objects.merge(
            f"/api/v1/namespaces/{namespace.name}", _body(namespace, options.mode, announced)
        )
    except ClusterError as error:
        if error.status not in _REFUSED:
            raise
        return msgspec.structs.replace(
            said, after=before.value, did=Did.REFUSED, message=str(error)
        )
    return said


def _body(namespace: Namespace, mode: Mode, announced: str) -> dict[str, Any]:
    """Return the change, bound to the namespace that was looked at."""
    return {
        "metadata": {
            "uid": namespace.uid,
            "labels": {names.MODE_LABEL: mode.value},
            "annotations": {names.ENFORCE_FROM_ANNOTATION: announced or None},
        }
    }
