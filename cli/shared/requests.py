"""Makes the request that would create the object of a manifest, or says why none is judged."""

from typing import Any

import msgspec

from admission.objects.reader import JUDGED_KINDS
from cli.output import as_unicode
from cli.shared.manifest_facts import ManifestFacts
from cli.shared.results import Reviewed, Unjudged
from cli.shared.subjects import ReviewTerms, account_of_pod
from core.decision.request import Kind, Operation, Request
from core.kubernetes.workload_kinds import WORKLOADS
from core.people.subject import Subject
from kube.manifests.reader import Manifest

_POD = ("", "Pod")

_NAMESPACE = ("", "Namespace")


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
    return element, Request(
        uid="",
        kind=kind_of(manifest),
        operation=Operation.CREATE,
        subject=subject,
        namespace=element.namespace,
        name=element.name,
        submitted=msgspec.Raw(manifest.raw),
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
    if kind in JUDGED_KINDS:
        whoever = Unjudged.SUBMITTER if terms.profile is None else Subject()
        return terms.subject or whoever
    if files.is_ruled(manifest):
        return terms.subject or Subject()
    return files.passed_over(manifest)


def kind_of(manifest: Manifest) -> Kind:
    """Return a manifest's group, version and kind."""
    version = manifest.api_version.rpartition("/")[2]
    return Kind(manifest.kind, version, manifest.group)
