"""The real Helm, and the charts of this repository."""

import itertools
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from tests.harness.evidence import ROOT
from tests.harness.programs.client import Json

CHART: Final = ROOT / "helm" / "sallyport"
CRDS: Final = ROOT / "helm" / "sallyport-crds"
NAMESPACE: Final = "sallyport-system"
RELEASE: Final = "sallyport"

IMAGE: Final = {"image": {"repository": "registry.example/sallyport"}}
"""A value that has no default."""

OPEN: Final = {"networkPolicies": {"iKnowThatAnyPodReachesTheGate": True}}
"""No test has a tenant beside the gate; but those that say so."""

ASKED: Final = {"defaultMode": "enforce", "record": {"whenFull": "refuse"}}
"""What an installation is asked."""

AT_ONCE: Final = {"webhooks": {"whenReady": False}}
"""The webhooks are registered by the chart, unless a test says otherwise: on an API server without
nodes no gate ever becomes ready."""

Values = Mapping[str, Any]


class HelmFailedError(Exception):
    """Helm ended with another code than 0; the message is what it wrote to standard error."""


@dataclass(frozen=True)
class Helm:
    """Runs the program; `folder` takes all that Helm keeps and reads beside its arguments."""

    program: Path
    folder: Path
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    _given: dict[tuple[str, ...], str] = field(default_factory=dict)

    def run(self, *arguments: str | Path) -> str:
        """Run Helm and return its standard output.

        Raises:
            HelmFailedError: with its standard error.
        """
        own = {f"HELM_{kind}_HOME": str(self.folder) for kind in ("CACHE", "CONFIG", "DATA")}
        # Without a cluster that the machine at hand may know.
        environment = {**os.environ, **own, "KUBECONFIG": os.devnull}
        done = subprocess.run(
            [self.program, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        if done.returncode:
            raise HelmFailedError(done.stderr)
        return done.stdout

    def template(self, values: Values, namespace: str = NAMESPACE, *more: str) -> str:
        """Return the manifests that the chart gives for `values` over what has no default.

        The chart stays as it is while tests run: it is rendered once for the same question.
        """
        question = (json.dumps(values), namespace, *more)
        if question not in self._given:
            flags = ("--namespace", namespace, *self.values(values), *more)
            self._given[question] = self.run("template", RELEASE, CHART, *flags)
        return self._given[question]

    def objects(self, values: Values, namespace: str = NAMESPACE) -> list[Json]:
        """Return the same as objects, in the order in which Helm applies them."""
        text = self.template(values, namespace)
        return [item for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item]

    def install(self, kubeconfig: Path, values: Values, *more: str) -> str:
        """Install the chart, or upgrade it to `values`; return what Helm says."""
        return self.run(
            "upgrade",
            "--install",
            RELEASE,
            CHART,
            *("--namespace", NAMESPACE),
            *("--kubeconfig", kubeconfig),
            *self.values(values),
            *more,
        )

    def values(self, values: Values) -> tuple[str, ...]:
        """Return the flags for files: what has no default, and `values` over it."""
        flags: list[str] = []
        for each in (IMAGE | OPEN | ASKED | AT_ONCE, values):
            file = self.folder / f"values-{next(self._numbers)}.json"
            file.write_text(json.dumps(each))  # JSON is YAML
            flags += ["--values", str(file)]
        return tuple(flags)


def named(objects: list[Json], kind: str, name: str) -> Json:
    """Return the one object of this kind and name."""
    (found,) = (
        item for item in objects if item["kind"] == kind and item["metadata"]["name"] == name
    )
    return found


def pod_templates(objects: list[Json]) -> dict[str, Json]:
    """Return the Pod templates by the name of their workload."""
    return {
        item["metadata"]["name"]: item["spec"]["template"]
        for item in objects
        if item["kind"] in {"Deployment", "StatefulSet"}
    }
