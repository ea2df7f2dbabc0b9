"""Whose refusals and admissions are told apart: those of names that somebody vouches for."""

from collections.abc import Callable

from audit.ledger.records.refusal_budget import Share
from core.base.errors import NotSyncedError
from core.cluster import Cluster
from core.decision.request import Request
from core.people.subject import SERVICE_ACCOUNT_PREFIX, Subject

_EVERYWHERE = "default"
"""The ServiceAccount that kube-controller-manager makes in each namespace."""


def make_share_of(
    cluster: Cluster, name_subject: Callable[[Subject], str]
) -> Callable[[Request], Share]:
    """Return what says whose share a request's record is of.

    A caller that proved to be kube-apiserver (`Request.authenticated`) vouches for all names. Else
    whoever reaches the port makes them up: then a namespace and a service account count by the
    watch, and other users are one share of their namespace.
    """

    def is_there(namespace: str, account: str) -> bool:
        try:
            return cluster.service_account_made(namespace, account) is not None
        except NotSyncedError:
            return False

    def share_of(request: Request) -> Share:
        subject = request.subject
        if request.authenticated:
            return Share(request.namespace, name_subject(subject))
        known = request.namespace and is_there(request.namespace, _EVERYWHERE)
        place, _, account = subject.username.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
        named = subject.is_service_account and is_there(place, account)
        return Share(request.namespace if known else "", name_subject(subject) if named else "")

    return share_of
