"""The operators' own CustomResourceDefinitions, by kind, as a kube-apiserver is given them."""

from collections.abc import Iterator
from functools import cache
from typing import Final

from core.kubernetes.workload_kinds import WORKLOADS, GroupKind
from tests.harness.programs.availability import skip_or_fail
from tests.harness.programs.client import Json
from tests.tools.definitions import Published, published
from tests.tools.provide import CannotProvideError

UNPUBLISHED: Final = frozenset(
    {
        ("flink.apache.org", "FlinkDeployment"),  # Its operator is no Go module.
        ("kubeflow.org", "Notebook"),  # The module proxy does not serve its controller's.
    }
)
"""Kinds of the table whose own definition cannot be had."""


@cache
def public_definitions() -> dict[GroupKind, tuple[Published, ...]]:
    """Return what is published of each kind, also of those that no table lists.

    Two operators may publish the same kind, each its version. Without Go or a module see
    `skip_or_fail`.
    """
    try:
        found = published()
    except CannotProvideError as error:
        skip_or_fail(error)
    kinds: dict[GroupKind, tuple[Published, ...]] = {}
    for each in found:
        spec = each.definition["spec"]
        kind = (spec["group"], spec["names"]["kind"])
        kinds[kind] = (*kinds.get(kind, ()), each)
    return kinds


def versions_of(kind: GroupKind) -> Iterator[Json]:
    """Yield the versions that are served, with their schemas."""
    for each in public_definitions()[kind]:
        yield from (version for version in each.definition["spec"]["versions"] if version["served"])


def schemas_of(kind: GroupKind) -> dict[str, Json]:
    """Return the schema of each version that is served."""
    return {each["name"]: each["schema"]["openAPIV3Schema"] for each in versions_of(kind)}


def installable(kind: GroupKind) -> Json:
    """Return one definition with all published versions, to install in a kube-apiserver.

    Versions that only the table has, which other releases serve, get the first one's schema.
    """
    first = public_definitions()[kind][0].definition
    versions = list(versions_of(kind))
    names = {each["name"] for each in versions}
    versions += [
        versions[0] | {"name": each} for each in WORKLOADS[kind].versions if each not in names
    ]
    versions = [each | {"storage": index == 0} for index, each in enumerate(versions)]
    # Groups of *.k8s.io are kept for what the community has approved.
    annotations = {"api-approved.kubernetes.io": "unapproved, for a test"}
    metadata = {"name": first["metadata"]["name"], "annotations": annotations}
    return first | {"metadata": metadata, "spec": first["spec"] | {"versions": versions}}
