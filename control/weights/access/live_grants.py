"""Which grants are in effect, and which identities they are about as Azure knows them."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from admission.approvals.approvals import Approve
from core.cluster import AccountSignIn
from core.people.two_person import Approved, Consent
from core.weights.access_grants import KIND, AccessGrant
from core.weights.grants_in_force import find_lapse
from core.weights.stores import WeightStore
from identity.azure_roles.differences import GrantHolders
from identity.azure_roles.grant_assignments import Recipient

_OID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class GrantFacts(Protocol):
    """What is known of the cluster, from memory. Each raises NotSyncedError."""

    def grants(self) -> Sequence[AccessGrant]:
        """Return all grants."""

    def consents(self, namespace: str, uid: str) -> tuple[Consent, ...]:
        """Return the approvals of one."""

    def sign_in(self, namespace: str, account: str) -> AccountSignIn | None:
        """Return whom a ServiceAccount signs in as; None where there is none."""


@dataclass(frozen=True)
class LiveGrants:
    """Asks, each time anew: an approval may have ended, or its approver be at risk."""

    facts: GrantFacts
    approve: Approve
    clock: Callable[[], float]

    async def living(self) -> list[AccessGrant]:
        """Return the grants that two people have approved, and whose time it is.

        Raises:
            NotSyncedError: they have not been loaded.
            AccessReviewError: the cluster did not say whether an approver may approve.
        """
        now = self.clock()
        found = []
        for grant in self.facts.grants():
            if find_lapse(grant, now, approved=True) is not None:
                continue  # Nobody is asked where it is not its time.
            consents = self.facts.consents(grant.meta.namespace, grant.meta.uid)
            answer = await self.approve(grant.approvable, consents, KIND, now)
            if isinstance(answer, Approved):
                found.append(grant)
        return found

    def of_store(self, store: WeightStore, living: Iterable[AccessGrant]) -> GrantHolders:
        """Return whom the living grants of a store are about."""
        of_it = [grant for grant in living if grant.spec.store == store.name]
        people = {
            one.removeprefix("oid:") for grant in of_it for one in grant.spec.people or ()
        } | {one.lower() for grant in of_it for one in grant.spec.groups or ()}
        clients = {client for grant in of_it for client in self._clients(grant)}
        return GrantHolders(frozenset(people), frozenset(clients))

    def recipients(self, store: WeightStore, grant: AccessGrant) -> Iterator[Recipient]:
        """Yield to whom a role is given while a grant lives.

        Its service accounts where it names any: their Pods read, not the people behind them. Of a
        service account whose identity the store does not list with its object id, nothing is known.
        """
        if grant.spec.service_accounts:
            clients = frozenset(self._clients(grant))
            for one in store.spec.identities or ():
                if one.client_id in clients and one.object_id:
                    yield Recipient(one.object_id, "ServicePrincipal")
            return
        for person in grant.spec.people or ():
            if person.startswith("oid:"):
                yield Recipient(person.removeprefix("oid:"))
        for group in grant.spec.groups or ():
            if _OID.fullmatch(group.lower()):
                yield Recipient(group.lower(), "Group")

    def _clients(self, grant: AccessGrant) -> Iterator[str]:
        for account in grant.spec.service_accounts or ():
            found = self.facts.sign_in(grant.meta.namespace, account)
            if found is not None and found.client_id:
                yield found.client_id.lower()
