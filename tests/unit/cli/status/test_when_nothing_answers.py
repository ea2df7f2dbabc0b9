"""`sallyport status` against what is no cluster, or one that hangs: unknown, and in time."""

import json
import time
from pathlib import Path

import pytest

from cli.shared.cluster_status import questions
from cli.shared.cluster_status import run as status_run
from tests.harness.programs.ports import free_ports
from tests.unit.cli.conftest import HANGS, Json, Run, Serve


def test_a_cluster_that_is_away_is_unknown(run: Run, serve: Serve) -> None:
    """No problem is made up, and nothing is well."""
    kubeconfig = serve({})
    content = json.loads(kubeconfig.read_text())
    (port,) = free_ports(1)
    content["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{port}"
    kubeconfig.write_text(json.dumps(content))
    done = run("status", "--kubeconfig", kubeconfig, "-o", "json")
    found = json.loads(done.out)
    assert done.code == 2
    assert found["summary"] == "Not known: the cluster answers nothing of what matters."
    assert {each["state"] for each in found["areas"]} == {"unknown"}


def test_a_cluster_that_hangs_ends_within_the_deadline(
    run: Run, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever does not answer is named."""
    monkeypatch.setattr(questions, "ANSWER_S", 0.5)
    monkeypatch.setattr(status_run, "DEADLINE_S", 1.0)
    began = time.monotonic()
    done = run("status", "--kubeconfig", serve({"/version": (HANGS, None)}), "-o", "json")
    assert time.monotonic() - began < 5
    assert done.code in {1, 2}
    found = json.loads(done.out)
    (kubernetes,) = (each for each in found["areas"] if each["name"] == "kubernetes")
    assert kubernetes["state"] == "unknown"


def test_an_empty_cluster_has_no_installation(run: Run, serve: Serve) -> None:
    """It says what is missing, and how to install it."""
    empty: Json = {"items": []}
    answers = {
        "/version": (200, {"gitVersion": "v1.36.2"}),
        "/readyz": (200, "ok"),
        "/apis/apps/v1/namespaces/sallyport-system/deployments": (200, empty),
        "/apis/apps/v1/namespaces/sallyport-system/statefulsets": (200, empty),
        "/api/v1/namespaces/sallyport-system/pods": (200, empty),
        "/api/v1/namespaces": (200, empty),
    }
    done = run("status", "--kubeconfig", serve(answers))
    assert done.code == 1
    assert done.out.startswith("Not well: ")
    assert "there is no gate" in done.out
    assert "first: install the chart whole" in done.out


def test_an_answer_that_is_none_of_an_api_is_unknown(run: Run, serve: Serve) -> None:
    """As a proxy's page: nobody is told that all is well, and each question is named."""
    pods = "/api/v1/namespaces/sallyport-system/pods"
    answers = {"/version": (200, "<html>"), pods: (200, {"items": [{"kind": "Pod"}]})}
    empty: Json = {"items": []}
    for kind in ("deployments", "statefulsets"):
        answers[f"/apis/apps/v1/namespaces/sallyport-system/{kind}"] = (200, empty)
    done = run("status", "--kubeconfig", serve(answers), "-o", "json")
    found = json.loads(done.out)
    why = {each["area"]: each["why"] for each in found["unknown"]}
    assert why["kubernetes"].startswith("GET /version: the answer is none of an API: ")
    assert why["processes"] == "what the cluster answers cannot be read: KeyError"
    assert found["state"] != "well"
    assert done.code != 0


def test_a_version_that_nobody_tested_is_a_problem(run: Run, serve: Serve) -> None:
    """With the versions that were."""
    answers = {"/version": (200, {"gitVersion": "v1.29.0"}), "/readyz": (200, "ok")}
    done = run("status", "--kubeconfig", serve(answers), "-o", "json")
    whats = [each["what"] for each in json.loads(done.out)["problems"]]
    assert "Kubernetes v1.29.0 is none of those that this release knows, 1.34 to 1.37" in whats


def test_a_folder_is_no_cluster(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong use, with the flag that is missing."""
    monkeypatch.setenv("SALLYPORT_CLUSTER", str(tmp_path))
    done = run("status")
    assert (done.code, done.err) == (
        64,
        "sallyport: a folder has no status: give --kubeconfig FILE\n",
    )
