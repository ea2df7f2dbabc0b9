"""Asking the cluster who may do what: SubjectAccessReview (authorization.k8s.io/v1)."""

import asyncio
from typing import Final

import msgspec

from core.base import names
from core.base.errors import AccessReviewError, ClusterError
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.cluster.access_reviews import AccessQuestion

PATH: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class _Status(msgspec.Struct, rename="camel"):
    allowed: bool
    denied: bool = False
    reason: str = ""
    evaluation_error: str = ""


class _Review(msgspec.Struct):
    status: _Status


class AccessReviews:
    """Puts questions to kube-apiserver, so many at a time and no longer."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self._connection = connection
        self._timeout_s = settings.review_timeout_s
        self._turns = asyncio.Semaphore(settings.reviews_in_flight)

    async def ask(self, question: AccessQuestion) -> bool:
        """Put one question.

        Raises:
            AccessReviewError: no answer in time, a failure, or an authorizer's own error.
                Never a denial.
        """
        what = f"{question.verb} {question.resource}.{names.GROUP}/{question.name}"
        try:
            async with asyncio.timeout(self._timeout_s), self._turns:
                body = await self._post(question)
            return _read(body, what)
        except TimeoutError as error:
            message = f"no answer in {self._timeout_s:g} s"
            raise _not_said(what, message) from error
        except ClusterError as error:
            raise _not_said(what, str(error)) from error

    async def _post(self, question: AccessQuestion) -> bytes:
        review = _review(question)
        try:
            return await self._connection.post(PATH, self._timeout_s, review)
        except ClusterError as error:
            if error.status:
                raise
            # A kept connection may have been closed meanwhile; a review changes nothing, so it
            # may be sent twice.
            return await self._connection.post(PATH, self._timeout_s, review)


def _review(question: AccessQuestion) -> dict[str, object]:
    user = question.subject
    attributes = {
        "namespace": question.namespace,
        "verb": question.verb,
        "group": names.GROUP,
        "resource": question.resource,
        "name": question.name,
    }
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": user.username,
            "uid": user.uid,
            "groups": user.groups,
            "extra": user.extra,
            "resourceAttributes": attributes,
        },
    }


def _read(body: bytes, what: str) -> bool:
    try:
        status = msgspec.json.decode(body, type=_Review).status
    except msgspec.DecodeError as error:
        raise _not_said(what, f"the answer is no SubjectAccessReview: {error}") from error
    if status.evaluation_error and not status.allowed:
        raise _not_said(what, f"the authorizer failed: {status.evaluation_error}")
    if status.allowed and status.denied:
        raise _not_said(what, "the answer says both yes and no")
    return status.allowed


def _not_said(what: str, why: str) -> AccessReviewError:
    return AccessReviewError(f"the cluster did not say who may {what}: {why}")
