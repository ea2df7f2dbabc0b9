"""`sallyport review` of manifests that make credentials: they get the gate's answer."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import write

ACCOUNT: Final = {"kubernetes.io/service-account.name": "trainer"}
SECRET: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "tok", "namespace": "train", "annotations": ACCOUNT},
    "type": "kubernetes.io/service-account-token",
}
BINDING: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "Binding",
    "metadata": {"name": "a", "namespace": "train"},
    "target": {"kind": "Node", "name": "node-1"},
}
SIGNER: Final = "example.com/a"
CERTIFICATE: Final[dict[str, Any]] = {
    "apiVersion": "certificates.k8s.io/v1",
    "kind": "CertificateSigningRequest",
    "metadata": {"name": "a"},
    "spec": {"signerName": SIGNER, "request": "", "usages": ["client auth"]},
}

POD_CERTIFICATE: Final[dict[str, Any]] = {
    "apiVersion": "certificates.k8s.io/v1",
    "kind": "PodCertificateRequest",
    "metadata": {"name": "a", "namespace": "train"},
    "spec": {
        "signerName": SIGNER,
        "podName": "llama-0",
        "serviceAccountName": "trainer",
        "nodeName": "node-1",
    },
}


def reviewed(run: Run, *arguments: object) -> dict[str, Any]:
    """Return the only element that review prints."""
    found: list[dict[str, Any]] = json.loads(run("review", "-o", "json", *arguments).out)
    (element,) = found
    return element


@pytest.mark.parametrize(
    ("made", "privileges"),
    [
        (SECRET, {"token/request/trainer", "token/unbound", "token/long-lived"}),
        (BINDING, {"scheduling/bind"}),
        (CERTIFICATE, {f"certificate/request/{SIGNER}"}),
        (POD_CERTIFICATE, {f"certificate/pod/trainer/llama-0/{SIGNER}"}),
    ],
    ids=["secret", "binding", "certificate", "pod-certificate"],
)
def test_a_credential_is_judged_for_whom_the_reviewer_names(
    run: Run, tmp_path: Path, made: dict[str, Any], privileges: set[str]
) -> None:
    """As docs/operate/entering.md says; a profile that covers all admits it."""
    file = write(tmp_path / "a.yaml", made)
    element = reviewed(run, "--profile", "restricted", file)
    assert element["verdict"] == "deny"
    assert {finding["privilege"] for finding in element["findings"]} == privileges
    assert run("review", "--as", "alice", "--profile", "restricted", file).code == 1
    assert reviewed(run, "--profile", "pss-privileged", file)["verdict"] == "allow"


def test_it_is_not_passed_over_in_silence(run: Run, tmp_path: Path) -> None:
    """Without --as it is said that nobody knows who submits it, by explain too."""
    file = write(tmp_path / "a.yaml", SECRET)
    why = "say who submits it: --as USER, or --profile NAME"
    done = run("review", file)
    assert f"1 object not judged (Secret): {why}." in done.out
    assert run("review", "-o", "junit", file).out.count(f'<skipped message="{why}"') == 1
    done = run("explain", file)
    assert (done.code, "say who submits what is in it: --as USER" in done.err) == (64, True)
    assert "token/request/trainer" in run("explain", "--as", "alice", file).out


def test_it_lies_in_the_namespace_of_what_names_none(run: Run, tmp_path: Path) -> None:
    """As kubectl would create it."""
    made = {**SECRET, "metadata": {"name": "tok", "annotations": ACCOUNT}}
    file = write(tmp_path / "a.yaml", made)
    assert reviewed(run, "--profile", "restricted", "-n", "other", file)["namespace"] == "other"


@pytest.mark.parametrize("kind", ["Opaque", "", None, "kubernetes.io/tls"])
def test_another_secret_needs_nothing(run: Run, tmp_path: Path, kind: str | None) -> None:
    """It is of a kind that is not judged."""
    file = write(tmp_path / "a.yaml", {**SECRET, "type": kind})
    done = run("review", "--as", "alice", "--profile", "restricted", file)
    assert done.code == 0
    assert "not judged in this release (Secret)" in done.out
