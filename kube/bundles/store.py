"""Publishes policy bundles in ConfigMaps, and says which is wanted: what people and control do."""

import base64
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec

from core.base import names
from core.base.errors import ClusterError, InvalidObjectError
from core.base.times import time_text
from core.policy_bundles import (
    BASE,
    GATES_NAME,
    HEAD_KEY,
    HEAD_NAME,
    PART_KEY,
    SLOTS,
    BundleHead,
    GateAnnouncement,
    PublishedBundle,
    decode_announcement,
    decode_head,
)
from kube.bundles.watch import split_bundle
from kube.client.objects import Objects

_LABELS: Final = {names.MANAGED_BY_LABEL: "sallyport"}

_MEANWHILE: Final = (
    "somebody else publishes or activates a bundle at the same time: look at 'sallyport policy "
    "status', and say it again"
)

_with = msgspec.structs.replace


@dataclass(frozen=True)
class PublishedHead:
    """The head as it was read."""

    head: BundleHead
    version: str
    """resourceVersion; empty where there is none yet."""


class BundleStore:
    """The bundles of one installation."""

    def __init__(self, objects: Objects, namespace: str) -> None:
        self._objects = objects
        self._namespace = namespace
        self._collection = f"/api/v1/namespaces/{namespace}/configmaps"

    def now(self) -> float:
        """Return Unix seconds by kube-apiserver's clock; until it answers, by this machine's."""
        found = self._objects.server_time
        return time.time() if found is None else found.timestamp()

    async def read(self) -> PublishedHead:
        """Return the head; that of nothing published where there is none.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            InvalidObjectError: it cannot be read.
        """
        body = await self._objects.get(f"{self._collection}/{HEAD_NAME}")
        if body is None:
            return PublishedHead(BundleHead(), "")
        text = (body.get("data") or {}).get(HEAD_KEY, "{}")
        return PublishedHead(decode_head(text), body["metadata"]["resourceVersion"])

    async def publish(
        self, before: PublishedHead, packed: bytes, stored: PublishedBundle
    ) -> PublishedHead:
        """Write the parts of a bundle; give the head in which it is wanted, to be written.

        `stored` says revision, time and source; where the parts lie is found here. The slot is
        claimed in the head first. Parts are written over what lay there when the claim still held,
        and over nothing else: so what somebody else writes, who took the slot over, stays whole.
        A bundle that is published already is written again, which heals a part that was damaged.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses; with the status 409, somebody
                else publishes or activates at the same time.
            InvalidObjectError: the bundle is too large.
        """
        digest, parts = hashlib.sha256(packed).hexdigest(), split_bundle(packed)
        known = before.head.of(stored.revision)
        same = known is not None and known.digest == digest
        slot = known.slot if known is not None and same else _free(before.head)
        stored = _with(stored, digest=digest, slot=slot, parts=len(parts))
        kept = tuple(each for each in before.head.bundles if same or each.slot != slot)
        claimed = await self.write(before, _with(before.head, bundles=kept, claim=stored))
        names = stored.names()
        found = [await self._objects.get(f"{self._collection}/{name}") for name in names]
        if (await self.read()).version != claimed.version:
            raise ClusterError(_MEANWHILE, HTTPStatus.CONFLICT)
        for name, part, old in zip(names, parts, found, strict=True):
            await self._write_part(name, part, old)
        others = tuple(each for each in kept if each.revision != stored.revision)
        head = _with(claimed.head, bundles=(*others, stored), claim=None)
        return PublishedHead(with_wanted(head, stored.revision), claimed.version)

    async def write(self, before: PublishedHead, head: BundleHead) -> PublishedHead:
        """Write the head over the one that was read; give it as it is then.

        Raises:
            ClusterError: with the status 409, somebody else changed it meanwhile.
        """
        text = msgspec.json.encode(head).decode()
        body = self._config_map(HEAD_NAME, {"data": {HEAD_KEY: text}})
        if before.version:
            body["metadata"]["resourceVersion"] = before.version
        return PublishedHead(head, await self._put(HEAD_NAME, body))

    async def gates(self) -> dict[str, GateAnnouncement] | None:
        """Return what gates announce, and `control` under CONTROL; None where nothing is stored.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        body = await self._objects.get(f"{self._collection}/{GATES_NAME}")
        if body is None:
            return None
        read = {name: decode_announcement(text) for name, text in (body.get("data") or {}).items()}
        return {name: said or GateAnnouncement("", "") for name, said in sorted(read.items())}

    async def create_announcements(self) -> None:
        """Make the ConfigMap in which gates announce.

        Raises:
            ClusterError: with the status 409, it is there.
        """
        await self._objects.create(self._collection, self._config_map(GATES_NAME, {}))

    async def forget(self, gates: list[str]) -> None:
        """Take away what gates that are gone have announced.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        data = dict.fromkeys(gates)
        await self._objects.merge(f"{self._collection}/{GATES_NAME}", {"data": data})

    async def announce(self, name: str, announcement: GateAnnouncement) -> None:
        """Write what the process called `name` has loaded.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        data = {name: msgspec.json.encode(announcement).decode()}
        await self._objects.merge(f"{self._collection}/{GATES_NAME}", {"data": data})

    async def _write_part(self, name: str, part: bytes, before: Mapping[str, Any] | None) -> None:
        body = self._config_map(name, {"binaryData": {PART_KEY: _base64(part)}})
        if before is not None:
            body["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
        await self._put(name, body)

    async def _put(self, name: str, body: Mapping[str, Any]) -> str:
        """Write a ConfigMap over the version that it names, or a new one; give its version."""
        try:
            if "resourceVersion" in body["metadata"]:
                written = await self._objects.replace(f"{self._collection}/{name}", body)
            else:
                written = await self._objects.create(self._collection, body)
        except ClusterError as error:
            gone = error.status == HTTPStatus.NOT_FOUND and "resourceVersion" in body["metadata"]
            if gone or error.status == HTTPStatus.CONFLICT:
                raise ClusterError(f"{_MEANWHILE} ({error})", HTTPStatus.CONFLICT) from error
            raise
        version: str = written["metadata"]["resourceVersion"]
        return version

    def _config_map(self, name: str, content: Mapping[str, Any]) -> dict[str, Any]:
        metadata = {"name": name, "namespace": self._namespace, "labels": dict(_LABELS)}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content}


def with_wanted(head: BundleHead, revision: str) -> BundleHead:
    """Return a head in which a revision is wanted: to be loaded everywhere, then activated.

    Raises:
        InvalidObjectError: no such bundle is published.
    """
    if revision != BASE and head.of(revision) is None:
        known = ", ".join(each.revision for each in head.bundles) or "none"
        message = f"is not published here: there are {known}, and {BASE!r}"
        raise InvalidObjectError(f"the bundle {revision}", "", message)
    return _with(head, wanted=revision, turn=head.turn + 1)


def with_not_before(head: BundleHead) -> BundleHead:
    """Return a head by which nothing is taken from a registry that was built before what is wanted.

    Where that does not say when it was built, it stays as it was.
    """
    stored = head.of(head.wanted)
    return _with(head, not_before=stored.built) if stored and stored.built else head


def with_active(head: BundleHead, at: float) -> BundleHead:
    """Return a head in which what is wanted is active, from Unix seconds `at` on."""
    if head.wanted == head.active:
        return head
    return _with(head, active=head.wanted, previous=head.active, changed=time_text(at))


def _free(head: BundleHead) -> int:
    """Return a slot that holds neither what is active or wanted nor what was before.

    One that nobody claims, if there is one; of those that are kept for nothing else, the one that
    was published first goes.
    """
    needed = {head.active, head.previous, head.wanted}
    taken = {each.slot for each in head.bundles}
    free = [slot for slot in range(SLOTS) if slot not in taken]
    free += [each.slot for each in head.bundles if each.revision not in needed]
    claimed = head.claim.slot if head.claim else None
    return min(free, key=lambda slot: slot == claimed)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
