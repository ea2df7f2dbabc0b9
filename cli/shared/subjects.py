"""By what, and for whom, `sallyport review` asks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.base.errors import SettingsError
from core.people.subject import SERVICE_ACCOUNT_PREFIX, Subject, service_account_subject


@dataclass(frozen=True)
class ReviewTerms:
    """By what, and for whom, manifests are judged."""

    profile: str | None = None
    """Judge by this profile alone, whoever asks."""
    subject: Subject | None = None
    """Who submits; None is the service account of each Pod."""
    namespace: str = "default"
    """The namespace of what names none."""


def make_terms(
    profile: str | None, user: str | None, groups: tuple[str, ...], namespace: str
) -> ReviewTerms:
    """Make the terms of the flags' values.

    Raises:
        SettingsError: naming the flag that is wrong.
    """
    if not namespace:
        raise SettingsError("--namespace: must not be empty")
    if user is None:
        if groups:
            raise SettingsError("--as-group: says nothing without --as")
        return ReviewTerms(profile, None, namespace)
    return ReviewTerms(profile, _person(user, groups), namespace)


def _person(user: str, groups: tuple[str, ...]) -> Subject:
    """Return the user as kube-apiserver impersonates one (apiserver, filters/impersonation.go).

    A service account is in its own groups unless others are given.
    """
    if not user:
        raise SettingsError("--as: must not be empty")
    if user.startswith(SERVICE_ACCOUNT_PREFIX):
        parts = user.removeprefix(SERVICE_ACCOUNT_PREFIX).split(":")
        if len(parts) != 2 or not all(parts):  # noqa: PLR2004 (a namespace and a name)
            raise SettingsError(f"--as {user}: must be {SERVICE_ACCOUNT_PREFIX}NAMESPACE:NAME")
        if not groups:
            return service_account_subject(*parts)
    return Subject(username=user, groups=[*groups, "system:authenticated"])


def account_of_pod(pod: Mapping[str, Any], namespace: str) -> Subject:
    """Return the service account that a Pod's manifest names.

    Of a manifest that is broken, any: the judge reads it whole, and says what is wrong.
    """
    spec = pod.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    named = (spec.get("serviceAccountName"), spec.get("serviceAccount"), "default")
    return service_account_subject(
        namespace, next(name for name in named if name and _is_text(name))
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)
