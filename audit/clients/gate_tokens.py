"""Asks kube-apiserver which gate's Pod a projected service account token is bound to."""

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from audit.ledger.server.instances import AUDIENCE, MOST_TOKEN, POD_NAME, NotProvedError
from core.base.errors import AccessReviewError, LedgerError, SettingsError
from core.people.subject import Subject
from kube.client.connection import Connection
from kube.client.token_reviews import TokenReviews

REMEMBERED_S: Final = 60.0
"""So long a Pod that is gone can still be spoken for with its token."""

REFUSED_S: Final = 5.0
"""So long kube-apiserver is not asked again about a token that proves nothing."""

MOST_REMEMBERED: Final = 1024
"""Tokens that prove a gate, by digest, and as many that do not: a gate has one at a time."""

_ANSWER_S: Final = 3.0
"""The longest that kube-apiserver may take for one question."""


class GateTokens:
    """An `InstanceProver`; what it is told it remembers for a minute, a refusal for seconds."""

    def __init__(
        self, kubeconfig: Path | None, account: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take who is asked (None: this Pod's cluster), and the gates' `namespace/name`."""
        namespace, _, name = account.partition("/")
        self._user = f"system:serviceaccount:{namespace}:{name}"
        self._connection = Connection(kubeconfig)
        self._reviews = TokenReviews(self._connection, _ANSWER_S)
        self._clock = clock
        self._known: dict[bytes, tuple[str, float]] = {}
        """Names of Pods, and until when they count, by the digest of the token."""
        self._refused: dict[bytes, tuple[str, float]] = {}
        """The same of reasons why a token proves nothing."""
        self._is_open = False

    async def close(self) -> None:
        """Close every connection."""
        if self._is_open:
            self._is_open = False
            await self._connection.close()

    async def prove(self, token: str) -> str:
        """Return the name of the gate's Pod that a token is bound to.

        Raises:
            NotProvedError: it is bound to none.
            LedgerError: kube-apiserver does not answer, or refuses to be asked.
        """
        if len(token) > MOST_TOKEN:
            raise NotProvedError("it is longer than any token of Kubernetes")
        digest, now = hashlib.sha256(token.encode()).digest(), self._clock()
        name, until = self._known.get(digest, ("", 0.0))
        if now < until:
            return name
        reason, until = self._refused.get(digest, ("", 0.0))
        if now < until:
            raise NotProvedError(reason)
        subject = await self._review(token)
        try:
            name = self._pod_of(subject)
        except NotProvedError as error:
            _remember(self._refused, digest, str(error), now + REFUSED_S)
            raise
        _remember(self._known, digest, name, now + REMEMBERED_S)
        return name

    async def _review(self, token: str) -> Subject | None:
        try:
            if not self._is_open:
                await self._connection.open()
                self._is_open = True
            return await self._reviews.review(token, AUDIENCE)
        except (AccessReviewError, SettingsError) as error:
            raise LedgerError(f"which gate it is cannot be asked: {error}") from None

    def _pod_of(self, subject: Subject | None) -> str:
        if subject is None:
            raise NotProvedError(
                f"kube-apiserver does not know it for the audience {AUDIENCE}, or it is over"
            )
        if subject.username != self._user:
            raise NotProvedError(f"it is not of the service account {self._user}")
        names = (subject.extra or {}).get(POD_NAME) or []
        if len(names) != 1 or not names[0]:
            raise NotProvedError("it is bound to no Pod")
        return names[0]


def _remember(kept: dict[bytes, tuple[str, float]], digest: bytes, said: str, until: float) -> None:
    kept.pop(digest, None)
    while len(kept) >= MOST_REMEMBERED:
        del kept[next(iter(kept))]
    kept[digest] = (said, until)
