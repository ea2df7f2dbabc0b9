"""The Entra ID identities that the Pods of a request can sign in as.

It reads memory, and a service account only where a Pod has a token for Entra ID.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from admission.model.judged_object import Reading
from core.cluster import AccountSignIn, Cluster
from core.decision.other_objects import path_in_pod
from core.decision.request import Request
from core.kubernetes.pod import Pod
from identity.risk.workload_identity import ClientId, client_ids_of, is_for_entra, signs_in

MOST_SHOWN: Final = 32
"""Different ones that are told apart in all templates of an object; the rest counts as hidden."""

_HIDDEN: Final = ("", "")

_TOKEN_REQUEST: Final = "TokenRequest"  # noqa: S105  The name of a kind.
_UNKNOWN: Final = AccountSignIn()


class ShownSignIn(NamedTuple):
    """One application, and where the object shows it."""

    client_id: str
    """Empty where it hides which."""
    tenant: str
    path: str
    """From the object's root."""


@dataclass(frozen=True)
class SignIns:
    """Finds the applications that Pods sign in as."""

    cluster: Cluster

    def of(self, request: Request, reading: Reading) -> tuple[ShownSignIn, ...]:
        """Return what the Pods can sign in as: those of templates, and the one that is entered.

        Raises:
            NotSyncedError: one signs in as its service account says, and accounts are not known.
        """
        if not reading.pods:
            return tuple(self._of_token(request, reading))
        found: dict[tuple[str, str], ShownSignIn] = {}
        for part, pod in zip(reading.parts, reading.pods, strict=True):
            if not signs_in(pod):
                continue
            for each in self.of_pod(request.namespace, pod):
                path = part.template.place(each.path) if part.template else each.path
                where = path_in_pod(path, reading.entered) if reading.entered else path
                if len(found) >= MOST_SHOWN:
                    found.setdefault(_HIDDEN, ShownSignIn(*_HIDDEN, where))
                    return tuple(found.values())
                shown = ShownSignIn(each.client_id, each.tenant, where)
                found.setdefault((shown.client_id, shown.tenant), shown)
        return tuple(found.values())

    def of_pod(self, namespace: str, pod: Pod) -> tuple[ClientId, ...]:
        """Return what one Pod can sign in as, with the fields that show it.

        Raises:
            NotSyncedError: as `of`.
        """
        account = self._account(namespace, pod.spec.account)
        return client_ids_of(pod, account.client_id, account.tenant)

    def _of_token(self, request: Request, reading: Reading) -> Iterable[ShownSignIn]:
        """Yield what a token that is asked for would sign in as."""
        if request.kind.kind != _TOKEN_REQUEST:
            return
        read = reading.parts[0].projection.object
        for token in read.tokens if read else ():
            if is_for_entra(token.audience):
                account = self._account(request.namespace, request.name)
                yield ShownSignIn(account.client_id, account.tenant, token.path)
                return

    def _account(self, namespace: str, name: str) -> AccountSignIn:
        """Return what an account says; one that is not known yet says nothing, and is not clean."""
        if not namespace:
            return _UNKNOWN
        return self.cluster.service_account_sign_in(namespace, name) or _UNKNOWN
