"""Whether a proposed ContainerProfile allows more, or demands less, than it did. Pure.

A profile that it includes is compared when that one changes.
"""

import hashlib
from collections.abc import Iterable, Iterator

import msgspec

from core.approvals.approvals import PROFILE, profile_uid
from core.people.two_person import Approvable, Person
from core.profiles.container_profiles import (
    ContainerProfile,
    ProfileSpec,
    Relaxation,
    parse_version,
)
from core.profiles.defaults import NO_DEFAULTS, Defaults, DefaultVariable
from core.profiles.privileges import PatternSet, find_uncovered
from core.sandbox.decision import SandboxMode


def profile_digest(profile: ContainerProfile) -> str:
    """Digest a profile as kube-apiserver stores it, however it is written down."""
    whole = {"kind": PROFILE, "name": profile.name, "spec": msgspec.to_builtins(profile.spec)}
    canonical = msgspec.json.encode(whole, order="deterministic")
    return f"sha256:{hashlib.sha256(canonical).hexdigest()}"


def profile_proposal(profile: ContainerProfile, uid: str, author: Person) -> Approvable:
    """Return what two people must have approved: this very `spec`, of the profile that has the UID.

    `uid` is empty for one that does not exist yet. Its author is whoever writes it now.
    """
    return Approvable(profile_uid(uid), profile_digest(profile), author)


def find_widenings(old: ContainerProfile | None, new: ContainerProfile) -> list[str]:
    """Say in what a profile is wider than it was; nothing where it is as narrow, or narrower.

    A profile that did not exist is wider in all that it has.
    """
    if old is None:
        return ["is new"]
    return [*_covers(old.spec, new.spec), *_demands(old.spec, new.spec)]


def _covers(old: ProfileSpec, new: ProfileSpec) -> Iterator[str]:
    before = PatternSet(old.privileges)
    yield from (f"covers {each}" for each in find_uncovered(new.privileges, before))
    for relaxation in new.relaxations:
        known = PatternSet([*old.privileges, *_relaxed(old, relaxation)])
        version = relaxation.minimum_version
        for each in find_uncovered(relaxation.privileges, known):
            yield f"covers {each} from Kubernetes {version} on"
    yield from (f"includes {each}" for each in new.includes if each not in old.includes)


def _relaxed(old: ProfileSpec, relaxation: Relaxation) -> Iterator[str]:
    """Yield what the old profile covered wherever the relaxation holds."""
    least = _version(relaxation)
    for each in old.relaxations:
        if _version(each) <= least:
            yield from each.privileges


def _version(relaxation: Relaxation) -> tuple[int, int]:
    return parse_version(relaxation.minimum_version, field="minimumVersion", what=PROFILE)


def _demands(old: ProfileSpec, new: ProfileSpec) -> Iterator[str]:
    if new.catalogue < old.catalogue:
        yield f"only warns of what came after catalogue {new.catalogue}"
    if new.rank != old.rank:
        yield f"is tried at rank {new.rank} and not {old.rank}"
    if _strictness(new) < _strictness(old):
        yield f"asks for a sandbox {new.sandbox or 'never'} and not {old.sandbox}"
    yield from _defaults(old.defaults or NO_DEFAULTS, new.defaults or NO_DEFAULTS)


def _strictness(spec: ProfileSpec) -> int:
    return SandboxMode(spec.sandbox or SandboxMode.NEVER.value).strictness


def _defaults(old: Defaults, new: Defaults) -> Iterator[str]:
    for name, before, now in (
        ("seccompProfile", old.seccomp_profile, new.seccomp_profile),
        (
            "allowPrivilegeEscalation",
            old.allow_privilege_escalation,
            new.allow_privilege_escalation,
        ),
        (
            "automountServiceAccountToken",
            old.automount_service_account_token,
            new.automount_service_account_token,
        ),
    ):
        if before is not None and now != before:
            yield f"no longer fills in {name}"
    dropped = set(new.capabilities.drop if new.capabilities else ())
    lost = _lost(old.capabilities.drop if old.capabilities else (), dropped)
    yield from (f"no longer drops {each}" for each in lost)
    for each in old.namespace_ids:
        if each not in new.namespace_ids:
            yield f"no longer fills in {each} from the namespace"
    if "fsGroup" in new.namespace_ids and "fsGroup" not in old.namespace_ids:
        yield "fills in fsGroup from the namespace"  # The kubelet gives it files of a whole share.
    yield from _variables(old.env, new.env)


def _variables(old: Iterable[DefaultVariable], new: Iterable[DefaultVariable]) -> Iterator[str]:
    """Compare all of one name together, in their order: the first that applies is filled in.

    One more counts too: a program may be run, or a proxy asked, because a variable says so.
    """
    before, now = _by_name(old), _by_name(new)
    for name, variables in before.items():
        if now.get(name) != variables:
            yield f"no longer fills in the variable {name} as it did"
    yield from (f"fills in the variable {name}" for name in now if name not in before)


def _by_name(variables: Iterable[DefaultVariable]) -> dict[str, list[DefaultVariable]]:
    found: dict[str, list[DefaultVariable]] = {}
    for variable in variables:
        found.setdefault(variable.name, []).append(variable)
    return found


def _lost(before: Iterable[str], now: set[str]) -> list[str]:
    return [] if "ALL" in now else [each for each in before if each not in now]
