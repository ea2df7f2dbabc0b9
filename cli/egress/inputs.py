"""What the commands of egress look at: a cluster or a folder, files over it, settings."""

import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from msgspec import structs

from app.settings.egress import enrolment_of, limits_of, names_of, ranges_of, target_of
from app.settings.root import Settings
from cli.output import STANDARD_INPUT
from core.approvals.approvals import Approval
from core.base import names
from core.base.errors import InvalidObjectError, SettingsError
from core.base.networks import Network
from core.base.safe_text import safe_line
from core.decision.namespaces import Namespace
from core.egress.allowlists import KIND, SET_KIND, EgressAllowlist, EgressDestinations
from core.people.subject import Subject, service_account_subject
from core.people.two_person import SHARED_ACCOUNTS, ApprovalTerms
from egress.analysis.cluster_egress import ClusterEgress, EgressRights, EgressSettings
from egress.analysis.overlay import FileIntents
from egress.compiler.allowlists import references_of
from egress.compiler.service_backends import known_service
from egress.model.facts import NO_TAGS, KnownService, TagSource
from egress.service_tags import MAX_BYTES, parse_service_tags
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from kube.cluster.access_reviews import AccessQuestion, AccessReviews
from kube.cluster.folder import read_sound_rbac
from kube.egress.pods import EgressPod
from kube.egress.snapshot import (
    EgressSnapshot,
    allowlist_of,
    destinations_of,
    read_cluster,
    read_folder,
)
from kube.manifests.reader import Manifest, read_each, read_each_of
from kube.rbac.authorizer import Rbac, RbacQuestion
from kube.resources.live_pods import LivePod
from kube.resources.namespaces import parse_namespace

_TIMEOUT_S: Final = 10.0


def site_of(settings: Settings) -> EgressSettings:
    """Return the site's settings as of now; with no cluster, each namespace counts as enrolled.

    Raises:
        SettingsError: the file of tags or a range cannot be read.
        InvalidObjectError: the file is none of service tags.
    """
    section = settings.egress
    alone = settings.cluster is None and settings.kubeconfig is None
    enrolment = enrolment_of(section, settings.namespace)
    shared = frozenset(name.casefold() for name in settings.shared_accounts)
    return EgressSettings(
        now=time.time(),
        enrolment=structs.replace(enrolment, default=True) if alone else enrolment,
        target=target_of(section),
        limits=limits_of(section),
        tags=_tags(settings),
        ranges=ranges_of(section),
        names=names_of(section),
        terms=ApprovalTerms(SHARED_ACCOUNTS | shared),
    )


def _tags(settings: Settings) -> TagSource:
    """Read the file of service tags; without one, no tag is known."""
    file = settings.egress.tags
    if file is None:
        return NO_TAGS
    try:
        if file.stat().st_size > MAX_BYTES:
            raise SettingsError(f"--tags {file}: is larger than {MAX_BYTES} bytes")
        return parse_service_tags(file.read_bytes())
    except OSError as error:
        raise SettingsError(f"--tags {file}: {error.strerror}") from error


Ask = Callable[[Subject, str, str, str, str], Awaitable[bool]]
"""Whether a subject may do a verb on a resource of Sallyport's, by name, in a namespace."""


def read_intents(paths: Sequence[str]) -> FileIntents:
    """Read the allowlists, sets and Namespaces of files, folders and `-`.

    Raises:
        SettingsError: a path cannot be read, or holds none of these.
    """
    found = _ReadIntents()
    for each in _manifests(paths):
        try:
            found.take(each)
        except InvalidObjectError as error:
            found.broken.append(str(error))
    if paths and not (found.allowlists or found.sets or found.namespaces or found.broken):
        message = "no EgressAllowlist, EgressDestinations or Namespace is in it"
        raise SettingsError(f"{', '.join(paths)}: {message}")
    return FileIntents(
        tuple(found.allowlists), tuple(found.sets), tuple(found.namespaces), tuple(found.broken)
    )


@dataclass
class _ReadIntents:
    """What was read so far."""

    allowlists: list[EgressAllowlist] = field(default_factory=list)
    sets: list[EgressDestinations] = field(default_factory=list)
    namespaces: list[Namespace] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def take(self, manifest: Manifest | InvalidObjectError) -> None:
        """Take in an object, if it is of a kind that counts.

        Raises:
            InvalidObjectError: it is broken; the message names file, document and field.
        """
        if isinstance(manifest, InvalidObjectError):
            raise manifest
        key = (manifest.group, manifest.kind)
        if key == (names.GROUP, KIND):
            self.allowlists.append(_placed(manifest, allowlist_of))
        elif key == (names.GROUP, SET_KIND):
            self.sets.append(_placed(manifest, destinations_of))
        elif key == ("", "Namespace"):
            self.namespaces.append(_placed(manifest, parse_namespace))


@dataclass(frozen=True)
class ClusterSource:
    """Where a cluster is looked at, and how it is asked."""

    objects: Objects | None
    ask: Ask
    connection: Connection | None = None
    broken: tuple[str, ...] = ()
    """What of its rights could not be read, and is left out; for people."""


@asynccontextmanager
async def open_source(settings: Settings) -> AsyncIterator[ClusterSource]:
    """Yield the cluster that the settings name, or one in which nobody has any right.

    Raises:
        SettingsError: the credentials are missing or broken.
    """
    if settings.kubeconfig is None:
        folder = settings.cluster
        roles, bindings, broken = read_sound_rbac(folder) if folder else ([], [], [])
        yield ClusterSource(None, _asker(Rbac(roles, bindings)), broken=tuple(broken))
        return
    connection = Connection(settings.kubeconfig)
    await connection.open()
    reviews = AccessReviews(connection, LiveSettings(review_timeout_s=_TIMEOUT_S))

    async def ask(subject: Subject, verb: str, resource: str, name: str, namespace: str) -> bool:
        return await reviews.ask(AccessQuestion(subject, verb, resource, name, namespace))

    try:
        yield ClusterSource(Objects(connection, _TIMEOUT_S), ask, connection)
    finally:
        await connection.close()


async def look(
    settings: Settings, source: ClusterSource, within: Collection[str] | None, intents: FileIntents
) -> EgressSnapshot:
    """Look at a cluster once; say what of it, or of the files, is broken, which is in `broken`.

    Raises:
        ClusterError: it does not answer, or lets us list not all of it.
        SettingsError: the folder cannot be read.
    """
    if source.objects is None:
        seen = read_folder(settings.cluster)
    else:
        others = intents.allowlists
        seen = await read_cluster(source.objects, settings.namespace, within, others)
        sys.stderr.write(f"{len(seen.allowlists)} allowlists and {len(seen.pods)} Pods read\n")
    broken = tuple(dict.fromkeys((*intents.broken, *seen.broken, *source.broken)))
    for problem in broken:
        sys.stderr.write(f"sallyport: left out: {safe_line(problem)}\n")
    return replace(seen, broken=broken)


async def make_world(
    snapshot: EgressSnapshot, site: EgressSettings, ask: Ask, others: Iterable[EgressAllowlist] = ()
) -> ClusterEgress:
    """Return the egress of a snapshot; rights are asked for `others` too.

    Raises:
        AccessReviewError: the cluster did not say who may do what.
    """
    wanted = references_of((*snapshot.allowlists.values(), *others), snapshot.sets).rights
    usable = [
        (namespace, account, name)
        for namespace, account, name in sorted(wanted)
        if await ask(
            service_account_subject(namespace, account),
            names.USE_VERB,
            names.DESTINATIONS_RESOURCE,
            name,
            namespace,
        )
    ]
    holders = await _holders(snapshot.approvals, names.EGRESS_TIER, ask)
    glass = snapshot.approvals if any(each.spec.egress for each in snapshot.break_glasses) else ()
    glass_holders = await _holders(glass, names.BREAK_GLASS_TIER, ask)
    rights = EgressRights(frozenset(usable), holders, glass_holders)
    services = _services(snapshot, site.target.backend_ranges)
    return ClusterEgress(snapshot, site, rights, services)


async def _holders(approvals: Iterable[Approval], tier: str, ask: Ask) -> frozenset[str]:
    """Return the UIDs of the approvals whose approver may approve a tier now."""
    right = (names.APPROVE_VERB, names.TIERS_RESOURCE, tier, "")
    consents = (each.consent for each in approvals if each.consent)
    return frozenset([each.approval for each in consents if await ask(each.approver, *right)])


def _services(
    snapshot: EgressSnapshot, pod_ranges: Sequence[Network] | None
) -> dict[tuple[str, str], KnownService]:
    pods: dict[str, list[LivePod]] = {}
    for each in snapshot.pods:
        live = LivePod(each.name, "", each.labels, each.addresses, each.host_network, 0.0)
        pods.setdefault(each.namespace, []).append(live)
    return {
        key: known_service(
            shape,
            snapshot.endpoints.get(key, ()),
            [
                each
                for each in pods.get(key[0], ())
                if all(each.labels.get(label) == value for label, value in shape.selector)
            ],
            pod_ranges,
        )
        for key, shape in snapshot.services.items()
    }


def _asker(rbac: Rbac) -> Ask:
    async def ask(subject: Subject, verb: str, resource: str, name: str, namespace: str) -> bool:
        return rbac.allows(subject, RbacQuestion(verb, names.GROUP, resource, name, namespace))

    return ask


_Parsed = TypeVar("_Parsed")


def _placed(manifest: Manifest, parse: Callable[[bytes], _Parsed]) -> _Parsed:
    """Parse, naming the file where the parser named the object alone."""
    try:
        return parse(manifest.raw)
    except InvalidObjectError as error:
        what = f"{manifest.source}: {error.what}"
        raise InvalidObjectError(what, error.field, error.problem) from error


def _manifests(paths: Sequence[str]) -> Iterable[Manifest | InvalidObjectError]:
    for path in paths:
        if path == STANDARD_INPUT:
            yield from read_each_of(sys.stdin.buffer, "standard input")
        else:
            yield from read_each([Path(path)])


def dns_namespaces(site: EgressSettings) -> frozenset[str]:
    """Return the namespaces of the cluster's DNS."""
    return frozenset(each.namespace for each in site.target.dns.pods)


def split_pod_name(namespace: str | None, name: str) -> tuple[str, str]:
    """Return namespace and name of a Pod; what it is written with counts before -n.

    `kubectl sallyport` gives the context's namespace with every command.
    """
    first, _, second = name.removeprefix("pod/").rpartition("/")
    return (first or namespace or "default"), second


def pod_of(world: ClusterEgress, namespace: str, name: str) -> EgressPod:
    """Return a Pod.

    Raises:
        SettingsError: there is none of that name, or it has ended.
    """
    here = {each.name: each for each in world.snapshot.pods if each.namespace == namespace}
    if name not in here:
        some = ", ".join(sorted(here)[:5]) or "none"
        raise SettingsError(f"{namespace}/{name}: no such Pod runs; there: {some}")
    return here[name]
