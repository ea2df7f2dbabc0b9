"""`sallyport review` says of a workload's file what the webhook would say of the workload."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.kubernetes.workload_kinds import WORKLOADS, GroupKind
from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import pod, write
from tests.unit.core.kubernetes.workload_samples import Json, wrapped

KINDS = [kind for kind, workload in WORKLOADS.items() if workload.places]


def sample(kind: GroupKind, **spec: Any) -> Json:
    """Return an object of a kind with a Pod's template at each of its places."""
    return wrapped(kind, {"spec": pod("x", **spec)["spec"]})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[1])
def test_one_element_for_each_workload(kind: GroupKind, run: Run, tmp_path: Path) -> None:
    """Its namespace, its verdict, and paths from its own root; nobody needs to say who submits."""
    file = write(tmp_path / "a.yaml", sample(kind, hostNetwork=True))
    done = run("review", "-o", "json", "--profile", "pss-baseline", file)
    (element,) = json.loads(done.out)
    assert (element["kind"], element["verdict"], done.code) == (kind[1], "deny", 1)
    assert element["namespace"] == ("default" if WORKLOADS[kind].namespaced else "")
    privileges = {finding["privilege"] for finding in element["findings"]}
    assert privileges == {"host/network"}
    assert all(finding["path"].endswith("hostNetwork") for finding in element["findings"])


def test_without_a_submitter_all_service_accounts_must_have_it(run: Run, tmp_path: Path) -> None:
    """As for a Pod: of a workload with several, each of them."""
    made = sample(("leaderworkerset.x-k8s.io", "LeaderWorkerSet"), hostNetwork=True)
    groups = made["spec"]["leaderWorkerTemplate"]
    groups["workerTemplate"] = json.loads(json.dumps(groups["leaderTemplate"]))
    groups["workerTemplate"]["spec"]["serviceAccountName"] = "worker"
    done = run("review", "-o", "json", write(tmp_path / "a.yaml", made))
    assert done.code == 1
    table = run("review", tmp_path / "a.yaml")
    assert "service account default:default and service account" in " ".join(table.out.split())
