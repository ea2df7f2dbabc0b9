"""`sallyport who-can use`: reads roles and bindings, and lists who can use a profile, and why."""

import sys
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from app.settings.root import Settings
from app.wiring import open_cluster
from cli.shared.cluster_answers import require_answers
from cli.shared.judge import CLUSTER_WAIT_S, require_profile
from core.base import names
from core.base.errors import AccessReviewError, SettingsError
from core.cluster import Cluster
from core.people.subject import Subject
from identity.rights.holders import ANONYMOUS, Holder, as_subject, groups_of, holder_of
from identity.rights.who_can import EVERYWHERE, ProfileUser, who_can_use
from kube.client.objects import open_objects
from kube.cluster.rbac_snapshot import RbacSnapshot, read_folder_rbac, read_live_rbac

_SAMPLE: Final = 10
"""Of those who can and of those who cannot, so many are asked about, to know the authorizer."""

_STRANGER: Final = Subject("sallyport:nobody", groups=["system:authenticated"])

NOT_SEEN: Final = (
    "who is in which group: memberships are the identity provider's",
    "authorizers other than RBAC (Azure RBAC, webhooks, the node authorizer)",
    "certificates that someone may have signed (certificatesigningrequests, "
    "podcertificaterequests, signers)",
    "exec and attach into Pods, nodes and their proxy, existing Secrets that hold tokens",
    "operators that make Pods from resources of their own",
)
"""What roles and bindings do not say."""

_DEFAULT: Final = "default"
"""The namespace asked about where none is given."""


class User(msgspec.Struct, frozen=True):
    """One who can use the profile."""

    kind: str
    name: str
    namespace: str
    """Of a service account; empty for users and groups."""
    where: str
    """The namespace in which it can; empty: in all."""
    direct: bool
    why: str
    chain: list[str]
    """Each step, with the binding that gives the right to it."""


class UsersOfProfile(msgspec.Struct, frozen=True, rename="camel"):
    """What `-o json` prints."""

    profile: str
    namespace: str | None
    users: list[User]
    warnings: list[str]
    not_seen: list[str]


async def list_users(settings: Settings, profile: str, namespace: str | None) -> UsersOfProfile:
    """List everyone who can use the profile, in a namespace or in some.

    Raises:
        SettingsError: no cluster is named, or it has no such profile.
        ClusterError, CannotJudgeError: it does not answer, or lets us read not all of it.
    """
    if settings.kubeconfig is not None and settings.cluster is None:
        await require_answers(settings.kubeconfig)
    elif settings.cluster is None:
        raise SettingsError("say whose rights are meant: give --kubeconfig FILE or --cluster DIR")
    async with open_cluster(settings, wait_s=CLUSTER_WAIT_S) as cluster:
        require_profile(cluster, profile)
        rbac = await _read(settings)
        reached = who_can_use(rbac.roles, rbac.bindings, profile, namespace, rbac.aggregated)
        warnings = []
        if settings.cluster is None:
            warnings = await compare_with_cluster(cluster, rbac, reached, profile, namespace)
    return UsersOfProfile(profile, namespace, list(map(_user, reached)), warnings, list(NOT_SEEN))


async def _read(settings: Settings) -> RbacSnapshot:
    if settings.cluster is not None:
        return read_folder_rbac(settings.cluster)
    async with open_objects(settings.kubeconfig) as objects:
        read = await read_live_rbac(objects)
    sys.stderr.write(f"{len(read.roles)} roles and {len(read.bindings)} bindings read\n")
    return read


def _user(reach: ProfileUser) -> User:
    holder = reach.holder
    chain = [
        f"{step.holder} {step.means}" + (f" (by {step.by})" if step.by else "")
        for step in reach.chain
    ]
    where = reach.namespace
    return User(holder.kind, holder.name, holder.namespace, where, reach.direct, reach.why, chain)


async def compare_with_cluster(
    cluster: Cluster,
    rbac: RbacSnapshot,
    reached: Sequence[ProfileUser],
    profile: str,
    namespace: str | None,
) -> list[str]:
    """Ask the cluster itself about some; give a warning for each on whom RBAC says otherwise."""
    direct = [reach for reach in reached if reach.direct]
    place = namespace or _DEFAULT
    asked = [(as_subject(r.holder), str(r.holder), r.namespace or place, True) for r in direct]
    others = [(as_subject(h), str(h), place, False) for h in _without(rbac, direct, place)]
    if not _everyone(direct, place):
        others = [(_STRANGER, "a user without any binding", place, False), *others]
    warnings = []
    try:
        for subject, who, where, expected in asked[:_SAMPLE] + others[:_SAMPLE]:
            said = await cluster.allowed(
                subject, names.USE_VERB, names.PROFILES_RESOURCE, profile, where
            )
            if said is not expected:
                warnings.append(_differs(who, where, said))
    except AccessReviewError as error:
        warnings.append(f"whether RBAC alone decides in this cluster is not known: {error}")
    return warnings


def _differs(who: str, where: str, said: bool) -> str:  # noqa: FBT001
    cluster, rbac = ("lets", "does not") if said else ("does not let", "does")
    return (
        f"the cluster {cluster} {who} use it in {where}, and RBAC {rbac}: another authorizer "
        "decides too, so this list is not to be relied on"
    )


def _without(rbac: RbacSnapshot, direct: Iterable[ProfileUser], place: str) -> list[Holder]:
    """Return the users of bindings who cannot use it in a namespace by RBAC themselves."""
    can = {reach.holder for reach in direct if reach.namespace in {EVERYWHERE, place}}
    known: dict[Holder, None] = {}
    for binding in rbac.bindings:
        for subject in binding.subjects or ():
            if holder := holder_of(subject, binding.metadata.namespace):
                known[holder] = None
    return [h for h in known if h != ANONYMOUS and can.isdisjoint({h, *groups_of(h)})]


def _everyone(direct: Iterable[ProfileUser], place: str) -> bool:
    everyone = groups_of(Holder("User", _STRANGER.username))
    return any(r.holder in everyone and r.namespace in {EVERYWHERE, place} for r in direct)
