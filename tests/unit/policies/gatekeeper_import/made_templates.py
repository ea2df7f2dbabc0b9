"""Templates and Constraints for tests, from the part that a test is about."""

import textwrap
from pathlib import Path
from typing import Any

import yaml


class _Blocks(yaml.SafeDumper):
    """Writes texts of several lines as people do."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Blocks.add_representer(str, _text)


def _dumped(value: dict[str, Any]) -> str:
    return yaml.dump(value, Dumper=_Blocks, sort_keys=False)


def template(rego: str, kind: str = "Probe", *, libs: tuple[str, ...] = (), **target: Any) -> str:
    """Return a ConstraintTemplate in YAML; `target` has more fields of its target."""
    texts = [textwrap.dedent(each) for each in libs]
    given = {"rego": textwrap.dedent(rego)} | ({"libs": texts} if texts else {}) | target
    return _dumped(
        {
            "apiVersion": "templates.gatekeeper.sh/v1beta1",
            "kind": "ConstraintTemplate",
            "metadata": {"name": kind.lower()},
            "spec": {
                "crd": {"spec": {"names": {"kind": kind}}},
                "targets": [{"target": "admission.k8s.gatekeeper.sh"} | given],
            },
        }
    )


def policy(condition: str, package: str = "probe") -> str:
    """Return Rego that finds something where a condition holds."""
    lines = textwrap.indent(textwrap.dedent(condition).strip(), "  ")
    return f'package {package}\n\nviolation[{{"msg": "found"}}] {{\n{lines}\n}}\n'


def constraint(kind: str = "Probe", name: str = "one", **spec: Any) -> str:
    """Return a Constraint in YAML, about Pods unless `match` says otherwise."""
    pods = {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}
    given = spec | {"match": pods | spec.get("match", {})}
    return _dumped(
        {
            "apiVersion": "constraints.gatekeeper.sh/v1beta1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": given,
        }
    )


def written(folder: Path, *texts: str) -> Path:
    """Write them into one file."""
    path = folder / "given.yaml"
    path.write_text("---\n".join(texts))
    return path
