"""Asks kube-apiserver whose a bearer token is (k8s.io/api/authentication/v1 TokenReview)."""

from typing import Final

import msgspec

from core.base.errors import AccessReviewError, ClusterError
from core.people.subject import Subject
from kube.client.connection import Connection

PATH: Final = "/apis/authentication.k8s.io/v1/tokenreviews"


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class _Status(msgspec.Struct):
    authenticated: bool = False
    audiences: list[str] = []
    user: _User = msgspec.field(default_factory=_User)


class _Review(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


class TokenReviews:
    """Puts tokens to one kube-apiserver; none is kept."""

    def __init__(self, connection: Connection, timeout_s: float) -> None:
        self._connection = connection
        self._timeout_s = timeout_s

    async def review(self, token: str, audience: str = "") -> Subject | None:
        """Return whose token it is, for this audience; None for nobody's.

        Without one it is kube-apiserver's own audience.

        Raises:
            AccessReviewError: the cluster did not say. The message does not hold the token.
        """
        asked = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token, "audiences": [audience]} if audience else {"token": token},
        }
        try:
            body = await self._connection.post(PATH, self._timeout_s, asked)
            status = msgspec.json.decode(body, type=_Review).status
        except ClusterError as error:
            raise AccessReviewError(f"the cluster did not say whose a token is: {error}") from error
        except msgspec.DecodeError as error:
            message = "the cluster did not say whose a token is: the answer is no TokenReview"
            raise AccessReviewError(message) from error
        user = status.user
        if not (status.authenticated and user.username):
            return None
        if audience and audience not in status.audiences:
            return None  # An authenticator that knows no audiences took it.
        return Subject(user.username, user.uid, user.groups, user.extra)
