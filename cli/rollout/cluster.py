"""What `sallyport rollout` reads of a cluster: namespaces, their modes, some of their Pods."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from app.settings.root import Settings
from cli.shared.modes import read_modes
from core.base.errors import ClusterError, SettingsError
from core.decision.namespaces import Modes, Namespace, parse_moment
from core.kubernetes.label_selectors import selects
from kube.client.objects import Objects, list_objects
from kube.resources.namespaces import parse_namespace
from kube.resources.paths import ADMISSION_PATH, NAMESPACES_PATH

_WEBHOOKS: Final = f"{ADMISSION_PATH}/validatingwebhookconfigurations/sallyport"
_JUDGING: Final = "validate.sallyport.dev"
_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_MIRROR: Final = "kubernetes.io/config.mirror"
_LOOKED_AT: Final = 20
"""Pods of a namespace that are looked for in the ledger."""

_LISTED: Final = 200


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    uid: str = ""
    creation_timestamp: str = ""
    annotations: dict[str, str] | None = None


class _Pod(msgspec.Struct):
    metadata: _Meta


@dataclass(frozen=True)
class RolloutCluster:
    """Namespaces of a cluster, and which mode holds where."""

    cluster: str
    namespaces: tuple[Namespace, ...]
    modes: Modes
    left_out: frozenset[str]
    """Names that the webhooks are not asked about."""
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """What keeps every namespace from being ready."""

    def chosen(self, wanted: Iterable[str]) -> list[Namespace]:
        """Return the namespaces of these names, each once; of no name, all in order.

        Raises:
            SettingsError: one is not there.
        """
        known = {each.name: each for each in self.namespaces}
        names = list(dict.fromkeys(wanted)) or sorted(known)
        if missing := sorted(name for name in names if name not in known):
            raise SettingsError(
                f"the cluster has no namespace {', '.join(missing)}: see kubectl get namespaces"
            )
        return [known[name] for name in names]


async def read_rollout_cluster(objects: Objects, settings: Settings) -> RolloutCluster:
    """Read it.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses to list namespaces.
        InvalidObjectError: what it answers is no namespace.
    """
    modes, notes = await read_modes(objects, settings)
    namespaces = [parse_namespace(raw) async for raw in list_objects(objects, NAMESPACES_PATH)]
    problems: list[str] = []
    left_out = await _left_out(objects, namespaces, notes, problems)
    uids = {namespace.name: namespace.uid for namespace in namespaces}
    cluster = settings.cluster_id or uids.get("kube-system", "")
    return RolloutCluster(
        cluster, tuple(namespaces), modes, left_out, tuple(notes), tuple(problems)
    )


async def _left_out(
    objects: Objects, namespaces: list[Namespace], notes: list[str], problems: list[str]
) -> frozenset[str]:
    try:
        found = await objects.get(_WEBHOOKS)
    except ClusterError as error:
        notes.append(f"which namespaces the webhooks leave out is not known: {error}")
        return frozenset()
    if found is None or not found.get("webhooks"):
        problems.append("the webhooks are not registered: nothing is judged as it is asked for")
        return frozenset()
    hooks = [hook for hook in found["webhooks"] if hook.get("name") == _JUDGING]
    names: set[str] = set()
    for hook in hooks:
        selector = hook.get("namespaceSelector")
        names |= {each.name for each in namespaces if not selects(selector, _labels(each))}
    return frozenset(names)


def _labels(namespace: Namespace) -> dict[str, str]:
    return {**namespace.labels, _NAME_LABEL: namespace.name}


async def some_pods(
    objects: Objects, namespace: str, since: dt.datetime, until: dt.datetime
) -> list[tuple[str, str]]:
    """Return names and UIDs of some Pods made in this time, but those of nodes themselves.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    path = f"/api/v1/namespaces/{namespace}/pods"
    page = await objects.page(path, _LISTED, metadata_only=True)
    found = []
    for raw in page.items:
        meta = msgspec.json.decode(raw, type=_Pod).metadata
        made = parse_moment(meta.creation_timestamp)
        if made is None or not since <= made <= until or _MIRROR in (meta.annotations or {}):
            continue
        found.append((meta.name, meta.uid))
    step = max(1, len(found) // _LOOKED_AT)
    return found[::step][:_LOOKED_AT]
