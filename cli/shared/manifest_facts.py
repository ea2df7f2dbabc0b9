"""What reviewed manifests say of one another: roles that are bound, definitions of kinds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from admission.judge import Judge
from admission.objects.reader import NAMESPACED_KINDS
from admission.objects.workloads import MISSHAPEN
from cli.shared.results import Result, Unjudged
from cli.shared.subjects import ReviewTerms
from core.base.errors import InvalidObjectError
from core.decision.decision import Decision
from core.kubernetes import crds
from core.kubernetes.crds import CustomResourceDefinition
from core.kubernetes.pod_templates import find_templates_by_shape
from core.kubernetes.workload_kinds import may_carry
from kube.cluster.folder import FolderCluster, read_kind
from kube.cluster.overlay import FileRoles, OverlayCluster
from kube.manifests.reader import Manifest
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
        if kind in NAMESPACED_KINDS:
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

    def notes(self, manifest: Manifest, decision: Decision) -> list[str]:
        """Say what of an object that was judged nobody could know."""
        left = decision.evidence.left_alone
        notes = [f"left alone: {left}"] if left.startswith(MISSHAPEN) else []
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
    return ManifestFacts(roles, kinds, carrying, judge.gatherer.engine.reads.kinds)


def _kind(manifest: Manifest) -> tuple[str, str]:
    return manifest.group, manifest.kind


def _role_of(manifest: Manifest) -> tuple[str, str]:
    reference = manifest.value.get("roleRef")
    reference = reference if isinstance(reference, dict) else {}
    return str(reference.get("kind") or ""), str(reference.get("name") or "")
