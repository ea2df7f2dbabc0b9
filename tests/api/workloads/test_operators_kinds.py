"""Kinds whose operators' own schemas cannot be had: the table holds for whatever is sent.

Those whose schemas can are in `test_public_schemas.py`.
"""

import pytest

from core.kubernetes.workload_kinds import WORKLOADS, GroupKind
from core.kubernetes.workload_pods import templates_of
from tests.api.workloads.conftest import TRAIN, definition
from tests.harness.programs.client import Client, Json, Outcome
from tests.harness.published.crds import UNPUBLISHED
from tests.harness.worlds.pods import RESTRICTED
from tests.unit.core.kubernetes.workload_samples import wrapped

VERSIONS = [(kind, version) for kind in sorted(UNPUBLISHED) for version in WORKLOADS[kind].versions]


def sample(kind: GroupKind, version: str, **spec: object) -> Json:
    """Return an object of a kind whose every place holds a template."""
    pods = RESTRICTED.pod()
    made = wrapped(kind, {"metadata": {}, "spec": {**pods["spec"], **spec}})
    made["apiVersion"] = f"{kind[0]}/{version}"
    made["metadata"] = {"name": "sample", "namespace": TRAIN}
    return made


@pytest.mark.parametrize(("kind", "version"), VERSIONS, ids=str)
async def test_a_bad_template_is_refused_in_every_version(
    kind: GroupKind, version: str, admin: Client, alice: Client
) -> None:
    """As the bare Pod with that template; a good one is taken."""
    await admin.apply([definition(kind)])
    await admin.wait_for_kind(f"{kind[0]}/{version}", kind[1])
    volumes = [{"name": "host", "hostPath": {"path": "/etc"}}]
    containers = RESTRICTED.pod()["spec"]["containers"]
    containers[0]["volumeMounts"] = [{"name": "host", "mountPath": "/host"}]
    bad = sample(kind, version, volumes=volumes, containers=containers)
    refused = await alice.dry_run(bad)
    assert refused.outcome is Outcome.DENIED
    place = next(each for each in templates_of(*kind, bad))
    assert place.place("spec.volumes[0]") in refused.message
    taken = await alice.dry_run(sample(kind, version))
    assert taken.outcome is Outcome.ALLOWED, taken.message
