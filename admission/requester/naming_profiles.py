"""Which one profile an object is to be judged by, where something names one."""

from collections.abc import Mapping

from admission.model.candidates import Candidates
from admission.model.facts import Facts, NamedProfile
from admission.model.judged_object import Reading
from admission.objects.reader import is_debug
from admission.requester.facts import profile_of
from core.decision.namespaces import Namespace
from core.decision.request import Request
from identity.requester_note import PROFILE_PATH


def stands(named: NamedProfile, tried: Candidates, usable: Mapping[str, bool]) -> bool:
    """Say whether the profile that is named would admit."""
    one = tried.only(named.name).first()
    return one is not None and not one.gaps and bool(usable.get(named.name))


def named_profile(request: Request, reading: Reading, facts: Facts) -> NamedProfile | None:
    """Give the profile that the asker, the object's note, its author or the namespace names."""
    if request.asked_profile is not None:
        return NamedProfile(request.asked_profile, "", whoever_asks=True)
    if noted := profile_of(facts):
        return NamedProfile(noted, PROFILE_PATH)
    if reading.named is not None and not is_debug(request):
        return NamedProfile(*reading.named)
    return None if reading.gives else of_namespace(facts.namespace)


def of_namespace(namespace: Namespace | None) -> NamedProfile | None:
    """Give the profile that a namespace names for all."""
    if namespace is None or not (name := namespace.profile):
        return None
    path = f"{PROFILE_PATH} of Namespace {namespace.name}"
    return NamedProfile(name, path, of_namespace=True)
