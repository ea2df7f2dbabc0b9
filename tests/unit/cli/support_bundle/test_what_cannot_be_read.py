"""A bundle is written, whatever the cluster answers; what cannot be read is named."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

from tests.unit.cli.conftest import Answers, Run, Serve

SYSTEM = "/api/v1/namespaces/sallyport-system"


def written(run: Run, kubeconfig: Path, file: Path) -> dict[str, Any]:
    """Make a bundle; give what was left out, and why."""
    done = run("support-bundle", "--kubeconfig", kubeconfig, "-o", file)
    assert done.code == 2, done.err
    with tarfile.open(fileobj=io.BytesIO(file.read_bytes())) as archive:
        manifest = archive.extractfile("sallyport-support/MANIFEST.json")
        assert manifest is not None
        return {each["what"]: each["why"] for each in json.loads(manifest.read())["leftOut"]}


def test_answers_that_are_none_of_an_api_end_no_bundle(
    run: Run, serve: Serve, tmp_path: Path
) -> None:
    """As the page of a proxy, and objects without what each object has."""
    answers: Answers = {
        "/version": (200, "<html>"),
        f"{SYSTEM}/events": (200, {"items": [{"metadata": {}}]}),
        f"{SYSTEM}/pods": (200, {"items": [{"metadata": {"name": "p"}}]}),
        "/apis/authentication.k8s.io/v1/selfsubjectreviews": (200, "<html>"),
        "/apis/rbac.authorization.k8s.io/v1/rolebindings": (200, {"items": ["<html>"]}),
    }
    left_out = written(run, serve(answers), tmp_path / "case.tar.gz")
    assert left_out["versions.json"].startswith("GET /version: the answer is none of an API: ")
    assert left_out["events.json"] == "it cannot be read: KeyError"
    assert left_out["logs and pages of a Pod"] == "it cannot be read: KeyError"
    assert left_out["the name of whoever asks"] == "it cannot be read: TypeError"
    assert left_out["names of people in rolebindings"].startswith("it cannot be read: Validation")


def test_the_port_of_a_process_is_the_one_that_its_pod_names(
    run: Run, serve: Serve, tmp_path: Path
) -> None:
    """On the node's network another may listen at the usual one, which is not asked."""
    container = {"name": "gate", "ports": [{"name": "status", "containerPort": 19080}]}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    other = {"metadata": {"name": "q"}, "spec": {"containers": [{"name": "gate"}]}}
    answers: Answers = {
        f"{SYSTEM}/pods": (200, {"items": [pod, other]}),
        f"{SYSTEM}/pods/p:19080/proxy/metrics": (200, "sallyport_up 1"),
        f"{SYSTEM}/pods/p:19080/proxy/readyz": (200, "ok"),
    }
    left_out = written(run, serve(answers), tmp_path / "case.tar.gz")
    assert "/metrics of p" not in left_out
    assert "/readyz of p" not in left_out
    assert left_out["/metrics of q"] == "the Pod has no port `status`"
