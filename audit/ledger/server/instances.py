"""Which instance of a process sends records, as somebody else than itself says.

All gates of a cluster share the certificate of control's Secret `sallyport-shipping-gate`, so it
names the kind of process alone. Which gate it is says the token that kubelet projects into its Pod:
kube-apiserver, asked by TokenReview, names the Pod that it is bound to. Or its certificate has the
instance as a second part of its URI, where something gives each Pod its own.
"""

from typing import Final, Protocol

AUDIENCE: Final = "sallyport-auditor"
"""Of the tokens: they open nothing else, and no other token counts."""

POD_NAME: Final = "authentication.kubernetes.io/pod-name"
"""Of `user.extra` of a TokenReview (kubernetes, pkg/serviceaccount/util.go)."""

MOST_TOKEN: Final = 8192
"""Characters of a token: Kubernetes' have some 1,200."""


class NotProvedError(Exception):
    """A token proves no gate; the text says why, and never holds any of the token."""


class InstanceProver(Protocol):
    """Says whose a token is."""

    async def prove(self, token: str) -> str:
        """Return the name of the gate's Pod that a token is bound to.

        Raises:
            NotProvedError: it is bound to none.
            LedgerError: nobody can say that now; ask again later.
        """
