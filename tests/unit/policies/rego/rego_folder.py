"""The folder of the built-in Rego, and OPA run in it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

from core.kubernetes import pod as k8s
from core.kubernetes.persistent_volumes import parse_persistent_volume
from policies.projection.connections import CONNECTION_KINDS, project_connection
from policies.projection.credentials import CREDENTIAL_KINDS, project_credential
from policies.projection.model import encode
from policies.projection.objects import project_object, project_persistent
from policies.projection.pods import mark_added, project
from tests.tools.provide import provide

REGO = Path(__file__).parents[4] / "policies" / "rego"


def opa(*arguments: str) -> Any:
    """Run OPA in the folder of the Rego; its JSON output."""
    command = [str(provide("opa")), *arguments]
    done = subprocess.run(command, cwd=REGO, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def evaluate(query: str, inputs: object) -> Any:
    """Return the value of a query with `inputs` as its input."""
    command = [str(provide("opa")), "eval", "-b", ".", "-I", "-f", "json", "--fail", query]
    done = subprocess.run(
        command, cwd=REGO, input=json.dumps(inputs), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)["result"][0]["expressions"][0]["value"]


def load(example: str) -> Any:
    """Read an example, by its path below the folder of the Rego."""
    return yaml.safe_load((REGO / example).read_text())


def projection_of(made: Any) -> Any:
    """Return what policies see of an object, or of a connection that is written like one."""
    raw = json.dumps(made).encode()
    kind, name = made["kind"], made["metadata"]["name"]
    if kind == "Pod":
        return json.loads(encode(mark_added(project(k8s.decode_pod(raw)), k8s.Pod())))
    if kind in CONNECTION_KINDS:
        return json.loads(encode(project_connection(kind, name, raw)))
    if kind in CREDENTIAL_KINDS:
        kind = "CertificateApproval" if "status" in made else kind
        return json.loads(encode(project_credential(kind, name, raw)))
    if kind == "PersistentVolume":
        return json.loads(encode(project_persistent(parse_persistent_volume(raw), "spec")))
    group = made["apiVersion"].rpartition("/")[0]
    return json.loads(encode(project_object(group, made["kind"], raw)))
