"""Writes policies, finalizers, statuses and Events, each only while this process leads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec
import structlog

from control.egress.plan import Apply, Delete, Step, key_of
from core.base import names
from core.base.errors import ClusterError
from core.egress.allowlists import KIND
from kube.client.objects import Objects
from kube.egress.network_policies import (
    FIELD_MANAGER,
    LivePolicy,
    digest_of,
    live_policy,
    policy_path,
)
from kube.egress.watch import Intent, IntentStatus
from kube.leader.lease import Leadership

_UNWRITTEN: Final = frozenset({HTTPStatus.CONFLICT, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})
"""An Event that is there already, or that nobody may write, or whose namespace is gone."""

_log = structlog.get_logger(__name__)

Json = dict[str, Any]


class NameTakenError(ClusterError):
    """A policy of others has come by the name meanwhile; it is as it was."""


@dataclass(frozen=True)
class PolicyWriter:
    """Writes, as one field manager."""

    objects: Objects

    async def do(self, leadership: Leadership, step: Step) -> LivePolicy | None:
        """Do a step of a plan; give what is there afterwards.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NameTakenError: the name is another's.
            NotLeaderError: leadership was lost.
        """
        leadership.require()
        match step:
            case Delete(live):
                await self.objects.delete(live.path, live.uid)
                return None
            case Apply(wanted, None):
                return await self._make(wanted)
            case Apply(wanted, live):
                return await self._change(leadership, wanted, live)

    async def _make(self, wanted: Json) -> LivePolicy:
        """Create a policy. One that somebody else made a moment ago stays as it is."""
        collection, _, _ = _path(wanted).rpartition("/")
        try:
            made = await self.objects.create_as(FIELD_MANAGER, collection, wanted)
        except ClusterError as error:
            if error.status == HTTPStatus.CONFLICT:
                raise NameTakenError(str(error), error.status) from error
            raise
        return live_policy(made, wanted["kind"])

    async def _change(
        self, leadership: Leadership, wanted: Json, live: LivePolicy | None
    ) -> LivePolicy:
        """Bring a policy of ours to what is wanted.

        What somebody else added, which applying leaves where it is, is replaced.
        """
        path, kind = _path(wanted), wanted["kind"]
        uid = live.uid if live else ""
        body = {**wanted, "metadata": {**wanted["metadata"], "uid": uid}}
        answer = await self.objects.apply(path, body, FIELD_MANAGER)
        if digest_of(answer) != digest_of(wanted):
            leadership.require()
            metadata = answer["metadata"]
            marks = {
                field: {**(metadata.get(field) or {}), **(wanted["metadata"].get(field) or {})}
                for field in ("labels", "annotations")
            }
            answer = await self.objects.replace(path, {**wanted, "metadata": {**metadata, **marks}})
        return live_policy(answer, kind)

    async def take_egress(self, leadership: Leadership, policy: LivePolicy) -> None:
        """Take all of egress out of a NetworkPolicy of others, as it was looked at.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses, or somebody changed it.
            NotLeaderError: leadership was lost.
        """
        leadership.require()
        marks = {"uid": policy.uid, "resourceVersion": policy.version}
        spec = {"policyTypes": ["Ingress"], "egress": None}
        await self.objects.merge(policy.path, {"metadata": marks, "spec": spec})

    async def add_finalizer(self, leadership: Leadership, intent: Intent) -> None:
        """Keep an allowlist from going before its policies.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotLeaderError: leadership was lost.
        """
        leadership.require()
        await self._finalizers(intent, [names.EGRESS_FINALIZER])

    async def remove_finalizer(self, leadership: Leadership, intent: Intent) -> None:
        """Let an allowlist go.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotLeaderError: leadership was lost.
        """
        leadership.require()
        live = await self.objects.get(intent.path)
        metadata = live["metadata"] if live else {}
        there = metadata.get("finalizers") or []
        if metadata.get("uid") != intent.uid or names.EGRESS_FINALIZER not in there:
            return
        left = [each for each in there if each != names.EGRESS_FINALIZER]
        body = {"finalizers": left, "resourceVersion": metadata["resourceVersion"]}
        await self.objects.merge(intent.path, {"metadata": body})

    async def _finalizers(self, intent: Intent, finalizers: Iterable[str]) -> None:
        metadata = {
            "name": intent.name,
            "namespace": intent.namespace,
            "uid": intent.uid,
            "finalizers": list(finalizers),
        }
        body = {"apiVersion": names.API_VERSION, "kind": KIND, "metadata": metadata}
        await self.objects.apply(intent.path, body, FIELD_MANAGER)

    async def set_status(
        self, leadership: Leadership, intent: Intent, status: IntentStatus
    ) -> None:
        """Write the status of an allowlist.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotLeaderError: leadership was lost.
        """
        leadership.require()
        body = {"metadata": {"uid": intent.uid}, "status": msgspec.to_builtins(status)}
        await self.objects.merge(f"{intent.path}/status", body)

    async def tell(self, leadership: Leadership, event: Mapping[str, Any]) -> None:
        """Write an Event; one that is there already stays as it is.

        Raises:
            NotLeaderError: leadership was lost.
        """
        leadership.require()
        place = event["metadata"]["namespace"]
        try:
            await self.objects.create(f"/api/v1/namespaces/{place}/events", event)
        except ClusterError as error:
            if error.status not in _UNWRITTEN:
                name = event["metadata"]["name"]
                _log.warning("no Event could be written", name=name, problem=str(error))


def _path(policy: Mapping[str, Any]) -> str:
    kind, name = key_of(policy)
    return policy_path(kind, policy["metadata"].get("namespace", ""), name)
