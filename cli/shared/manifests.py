"""Manifests under review: read from files, what they say of one another, and as requests."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from admission.judge import Judge
from admission.objects.reader import CREATED_CREDENTIALS, JUDGED_KINDS, NAMESPACED_KINDS
from admission.objects.workloads import MISSHAPEN
from cli.output import STANDARD_INPUT, as_unicode
from cli.shared.claims import claim_notes
from cli.shared.results import Result, Reviewed, Unjudged
from core.base.errors import InvalidObjectError, SettingsError
from core.base.json_values import COUNTED_FROM, count_values
from core.decision.decision import Action, Decision, Finding, Verdict
from core.decision.request import Kind, Operation, Request
from core.kubernetes import crds
from core.kubernetes.crds import CustomResourceDefinition
from core.kubernetes.pod_templates import find_templates_by_shape
from core.kubernetes.workload_kinds import WORKLOADS, may_carry
from core.people.subject import SERVICE_ACCOUNT_PREFIX, Subject, service_account_subject
from kube.cluster.folder import FolderCluster, read_kind
from kube.cluster.overlay import FileRoles, OverlayCluster
from kube.manifests.reader import Manifest, find_files, read_paths, read_stream
from policies.projection.credentials import TOKEN_SECRET
from policies.projection.rbac import BINDINGS, RBAC
from policies.site.fields import kind_name
from policies.site.kubernetes_kinds import cluster_scoped

_UNKNOWN_ROLE: Final = "rights/unknown-role"

KUBERNETES_OWN: Final = frozenset(
    {
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)
"""API groups that kube-apiserver itself serves (k8s.io/api; k8s.io/kubernetes
pkg/controlplane/instance.go): what of them carries Pods is in the table of kinds."""

_POD = ("", "Pod")

_NAMESPACE = ("", "Namespace")

_NAMESPACED_CREDENTIALS: Final = frozenset(
    {("", "Binding"), ("", "Secret"), ("certificates.k8s.io", "PodCertificateRequest")}
)


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


@dataclass(frozen=True)
class ManifestFacts:
    """What files say that the judging of other objects in them depends on."""

    roles: FileRoles
    kinds: Mapping[tuple[str, str], CustomResourceDefinition]
    """The definitions of the files, and of the folder in the place of a cluster."""
    carrying: Mapping[tuple[str, str], CustomResourceDefinition]
    """Those of them, as far as they matter, by which objects carry Pods."""
    ruled: frozenset[str]
    """The kinds that a site's rules are asked about."""
    folder: FolderCluster | None
    """What stands in for a cluster; None where there is one."""

    def judge(self, judge: Judge) -> Judge:
        """Return a judge who knows the roles of the files."""
        cluster = OverlayCluster(judge.gatherer.cluster, self.roles)
        return replace(judge, gatherer=replace(judge.gatherer, cluster=cluster))

    def definition(self, manifest: Manifest) -> CustomResourceDefinition | None:
        """Return the definition of an object's kind, where its objects carry Pods."""
        return self.carrying.get(_kind(manifest))

    def is_ruled(self, manifest: Manifest) -> bool:
        """Return whether some rule of the site is asked about objects of this kind."""
        return kind_name(manifest.group, manifest.kind) in self.ruled

    def lies_in_a_namespace(self, manifest: Manifest) -> bool:
        """Return whether an object that names no namespace is taken to lie in one."""
        kind = manifest.group, manifest.kind
        if kind in NAMESPACED_KINDS or kind in _NAMESPACED_CREDENTIALS:
            return True
        if definition := self.definition(manifest):
            return definition.scope == "Namespaced"
        return self.is_ruled(manifest) and not cluster_scoped([kind_name(*kind)])

    def passed_over(self, manifest: Manifest) -> Unjudged:
        """Say why an object of a kind that is in no table is left alone."""
        if not may_carry(*_kind(manifest)) or manifest.group in KUBERNETES_OWN:
            return Unjudged.KIND
        found = self.kinds.get(_kind(manifest))
        if found is None:
            return (
                Unjudged.TEMPLATE if find_templates_by_shape(manifest.value) else Unjudged.UNKNOWN
            )
        return Unjudged.HIDDEN if found.hides() else Unjudged.KIND

    def notes(self, manifest: Manifest, namespace: str, decision: Decision) -> list[str]:
        """Say what of an object that was judged nobody could know."""
        left = decision.evidence.left_alone
        notes = [f"left alone: {left}"] if left.startswith(MISSHAPEN) else []
        if decision.verdict is not Verdict.ERROR:
            kind = manifest.group, manifest.kind
            notes += claim_notes(self.folder, kind, manifest.value, namespace)
        if manifest.group != RBAC or manifest.kind not in BINDINGS:
            return notes
        role = _role_of(manifest)
        if any(need.privilege == _UNKNOWN_ROLE for need in decision.evidence.needs):
            notes.append(
                f"what its role gives is unknown: {' '.join(role)} is neither among the files "
                f"nor in what they are judged by, so it needs {_UNKNOWN_ROLE}"
            )
        if self.roles.collects(*role):
            notes.append(
                f"{' '.join(role)} takes over the rules of other ClusterRoles: those that only "
                "the cluster has are not known here"
            )
        return notes


def read_manifest_facts(
    items: Iterable[Manifest | Result], judge: Judge, terms: ReviewTerms
) -> ManifestFacts:
    """Read what the objects say of one another; what cannot be read is told where it is judged."""
    manifests = [item for item in items if isinstance(item, Manifest)]
    cluster = judge.gatherer.cluster
    folder = cluster if isinstance(cluster, FolderCluster) else None
    kinds = dict(folder.definitions) if folder else {}
    for manifest in manifests:
        if _kind(manifest) == (crds.GROUP, crds.KIND):
            try:
                definition = read_kind(manifest)
            except InvalidObjectError:
                continue  # Objects of its kind are reported as of an unknown one.
            key = definition.group, definition.kind
            if (before := kinds.get(key)) is not None:
                # Nobody knows which is in force when the objects come: what any has counts.
                schemas = (*before.schemas, *definition.schemas)
                definition = msgspec.structs.replace(definition, schemas=schemas)
            kinds[key] = definition
    known = folder.roles if folder else ()
    there = {_kind(manifest) for manifest in manifests} & kinds.keys()
    carrying = {kind: kinds[kind] for kind in there if may_carry(*kind) and kinds[kind].paths()}
    roles = FileRoles(manifests, terms.namespace, known)
    return ManifestFacts(roles, kinds, carrying, judge.gatherer.engine.reads.kinds, folder)


def _kind(manifest: Manifest) -> tuple[str, str]:
    return manifest.group, manifest.kind


def _role_of(manifest: Manifest) -> tuple[str, str]:
    reference = manifest.value.get("roleRef")
    reference = reference if isinstance(reference, dict) else {}
    return str(reference.get("kind") or ""), str(reference.get("name") or "")


def prepare(
    manifest: Manifest, terms: ReviewTerms, files: ManifestFacts
) -> tuple[Reviewed, Request | Unjudged]:
    """Return the object's element, and the request that would create it, or why none is judged."""
    element = _describe(manifest, terms, files)
    subject = _subject(manifest, element, terms, files)
    if isinstance(subject, Unjudged):
        return element, subject
    workload = (manifest.group, manifest.kind) in WORKLOADS or files.definition(
        manifest
    ) is not None
    raw = manifest.raw
    return element, Request(
        uid="",
        kind=kind_of(manifest),
        operation=Operation.CREATE,
        subject=subject,
        namespace=element.namespace,
        name=element.name,
        submitted=msgspec.Raw(raw),
        value_count=count_values(raw) if len(raw) > COUNTED_FROM else 0,
        dry_run=True,
        by_accounts=workload and terms.subject is None,
        asked_profile=terms.profile,
    )


def _describe(manifest: Manifest, terms: ReviewTerms, files: ManifestFacts) -> Reviewed:
    metadata = manifest.value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    namespaced = files.lies_in_a_namespace(manifest)
    return Reviewed(
        file=as_unicode(manifest.file),
        api_version=manifest.api_version,
        kind=manifest.kind,
        namespace=_text(metadata, "namespace") or (terms.namespace if namespaced else ""),
        name=_text(metadata, "name") or _text(metadata, "generateName"),
    )


def _text(metadata: dict[str, Any], field: str) -> str:
    return str(metadata.get(field) or "")


def _subject(
    manifest: Manifest, element: Reviewed, terms: ReviewTerms, files: ManifestFacts
) -> Subject | Unjudged:
    """Return whose right counts, or why the object is not judged.

    A profile answers for itself whoever asks, so with one nobody changes a Namespace. Of other
    objects than Pods and workloads nobody knows who submits them, unless it is said.
    """
    kind = (manifest.group, manifest.kind)
    if kind == _NAMESPACE:
        known = terms.subject if terms.profile is None else None
        return known or Unjudged.MARKS
    if kind == _POD:
        return terms.subject or account_of_pod(manifest.value, element.namespace)
    if kind in WORKLOADS or files.definition(manifest) is not None:
        return terms.subject or Subject()
    if kind in JUDGED_KINDS or is_credential(manifest):
        whoever = Unjudged.SUBMITTER if terms.profile is None else Subject()
        return terms.subject or whoever
    if files.is_ruled(manifest):
        return terms.subject or Subject()
    return files.passed_over(manifest)


def is_credential(manifest: Manifest) -> bool:
    """Return whether creating an object makes a credential, or binds a Pod to its node.

    Of Secrets those alone that Kubernetes fills with a service account's token.
    """
    if (manifest.group, manifest.kind) not in CREATED_CREDENTIALS:
        return False
    return manifest.kind != "Secret" or manifest.value.get("type") == TOKEN_SECRET


def kind_of(manifest: Manifest) -> Kind:
    """Return a manifest's group, version and kind."""
    version = manifest.api_version.rpartition("/")[2]
    return Kind(manifest.kind, version, manifest.group)


def read_manifests(paths: Sequence[str]) -> Iterator[Manifest | Result]:
    """Yield each object of the files, and a Result for what is none."""
    for path in paths:
        for file in [STANDARD_INPUT] if path == STANDARD_INPUT else find_files(Path(path)):
            try:
                yield from _read(file)
            except InvalidObjectError as error:
                yield unreadable(str(file), error)


def _read(file: Path | str) -> Iterator[Manifest]:
    if isinstance(file, Path):
        yield from read_paths([file])
        return
    if sys.stdin is None:
        raise SettingsError("standard input is closed: name a file")
    yield from read_stream(sys.stdin.buffer, file)


def unreadable(file: str, error: InvalidObjectError) -> Result:
    """Return the result of what is no object: for people and programs, where it stands."""
    place = error.what.removeprefix(file)
    why = f"{error.field}: {error.problem}" if error.field else error.problem
    remedy = "Mend the file: nothing in it from there on was judged."
    finding = Finding(
        "error/object", Action.DENY, error.field, f"{as_unicode(file)}{place}: {why}", remedy
    )
    element = Reviewed(file=as_unicode(file), verdict=Verdict.ERROR, findings=[finding])
    number, _, item = place.removeprefix("#").partition(":")
    document = f"document {number}" + (f", {item}" if item else "")
    shown = document if place.startswith("#") else place.removeprefix(", ") or "whole file"
    message = f"{shown} could not be judged. This is an error, not a denial.\n\n{why}\n{remedy}"
    message = message[0].upper() + message[1:]
    return Result(element, message=message, place=shown, file=file, part=place)
