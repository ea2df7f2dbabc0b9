"""Builds what `sallyport control` does for the weights: who can open them, how grants end."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.entra.clients import federated_token
from app.processes.control.risk import ControlContext
from app.settings.azure_roles import require_azure_sign_in
from app.wiring import make_approve
from audit.ledger.records.recorder import LedgerRecorder
from control.loop import Loop
from control.weights.access.grant_expiry import GrantExpiry
from control.weights.access.live_grants import LiveGrants
from control.weights.access.loop import AccessMetrics, StoreAccesses
from control.weights.access.reader import AccessReader
from control.weights.access.status import AccessStatus
from core.cluster import AccountSignIn
from core.people.two_person import Consent
from core.weights.access_grants import AccessGrant
from core.weights.documents.object_change import ObjectChange
from identity.clients.resource_manager import ManagerSettings, ResourceManager
from identity.clients.tokens import CredentialKind, SignIn, Tokens
from kube.cluster.live import LiveCluster


@dataclass
class WeightsControl:
    """All that has to do with the weights, but for what is recorded of Pods."""

    around: ControlContext
    manager: ResourceManager | None
    """Azure Resource Manager, where it is asked."""

    def loops(self, cluster_id: str, recorder: LedgerRecorder | None) -> list[Loop]:
        """Return all loops."""
        around = self.around
        section, facts = around.settings.weights, _GrantFacts(around.cluster)
        endings = GrantExpiry(
            around.objects, facts, around.registry, time.time, section.grants.when_ended
        )
        if self.manager is None:
            return [endings.loop]
        accesses = StoreAccesses(
            self.manager,
            AccessReader(self.manager, time.time),
            LiveGrants(facts, make_approve(around.settings, around.cluster), time.time),
            around.cluster.weights.stores,
            lambda: cluster_id,
            recorder.record_change if recorder else _record_nothing,
            AccessStatus(around.objects, around.settings.namespace, time.time),
            AccessMetrics(around.registry),
            section.azure.every,
            section.azure.just_in_time,
        )
        return [endings.loop, accesses.loop]


@dataclass(frozen=True)
class _GrantFacts:
    """What is known of grants, from the watches of the process."""

    cluster: LiveCluster

    def grants(self) -> Sequence[AccessGrant]:
        """Return all grants."""
        return self.cluster.weights.everywhere()

    def consents(self, namespace: str, uid: str) -> tuple[Consent, ...]:
        """Return the approvals of one."""
        return self.cluster.exceptions.consents(namespace, uid)

    def sign_in(self, namespace: str, account: str) -> AccountSignIn | None:
        """Return whom a ServiceAccount signs in as."""
        return self.cluster.service_account_sign_in(namespace, account)


def _record_nothing(_: ObjectChange) -> None:
    """Without a spool nothing is recorded; control says so when it starts."""


@asynccontextmanager
async def open_weights(around: ControlContext) -> AsyncIterator[WeightsControl]:
    """Yield what has to do with the weights.

    Raises:
        SettingsError: the section `weights.azure` is incomplete.
    """
    section, identity = around.settings.weights.azure, around.settings.identity
    if not section.enabled:
        yield WeightsControl(around, None)
        return
    require_azure_sign_in(section, identity)
    sign_in = SignIn(
        (section.tenant or identity.tenant).lower(),
        (section.client_id or identity.client_id).lower(),
        CredentialKind(section.credential),
        section.token_file or federated_token(),
        authority=section.authority,
        trust=section.trust,
    )
    manager = ResourceManager(Tokens(sign_in), ManagerSettings(section.manager, section.trust))
    try:
        yield WeightsControl(around, manager)
    finally:
        await manager.close()
