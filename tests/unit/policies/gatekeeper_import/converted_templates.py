"""What the templates of this folder say of their samples: here, and by OPA with Gatekeeper's input.

Each folder of `templates` has a ConstraintTemplate with a Constraint (policy.yaml), and objects
that it allows (allowed.yaml) and disallows (disallowed.yaml).
"""

import asyncio
import json
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from cli.flags import read_flags
from cli.review.run import review
from cli.shared.manifests import make_terms
from core.base.safe_text import printable
from policies import BUILT_IN_REGO
from policies.build.builder import build
from policies.gatekeeper_import.documents import read_documents
from policies.gatekeeper_import.importer import ConvertedRules, convert_all
from policies.gatekeeper_import.output import write
from policies.site.choices import read_choices
from tests.tools.provide import provide

TEMPLATES: Final = Path(__file__).parent / "templates"
NAMES: Final = sorted(path.name for path in TEMPLATES.iterdir())

Said = dict[tuple[str, str], list[list[str]]]
"""Messages on each object, by template and by `allowed` or `disallowed`."""


def carried(*paths: Path) -> ConvertedRules:
    """Carry over what lies in files and folders."""
    return convert_all(provide("opa"), read_documents(paths))


def built(made: ConvertedRules, folder: Path) -> Path:
    """Write what was carried over, and build a bundle of it."""
    rules, bundle = folder / "rules.yaml", folder / "bundle.tar.gz"
    write(made, folder / "rules", rules)
    build(provide("opa"), BUILT_IN_REGO, bundle, [folder / "rules"], read_choices(rules))
    return bundle


def rules_of(made: ConvertedRules) -> Mapping[str, str]:
    """Return the rule of each folder of templates."""
    return {Path(each.place).parent.name: each.rule for each in made.outcomes if each.rule}


def said_here(made: ConvertedRules, bundle: Path) -> Said:
    """Review all samples; give what their own rule says of each."""
    files = [str(path) for path in sorted(TEMPLATES.glob("*/*allowed.yaml"))]
    settings = read_flags(None, bundle=bundle)
    terms = make_terms("pss-privileged", None, (), "default")
    report = asyncio.run(review(settings, files, terms))
    rules, found = rules_of(made), defaultdict(list)
    for result in report.results:
        file = Path(result.element.file)
        assert not any(each.rule.startswith("error") for each in result.element.findings), result
        own = [it for it in result.element.findings if it.rule == rules[file.parent.name]]
        found[file.parent.name, file.stem].append(sorted(finding.message for finding in own))
    return dict(found)


def said_by_opa(name: str) -> Said:
    """Evaluate a template's own Rego, as it stands, with the input that Gatekeeper gives it."""
    template, constraint = yaml.safe_load_all((TEMPLATES / name / "policy.yaml").read_text())
    target = template["spec"]["targets"][0]
    modern = [each["source"] for each in target.get("code", [])]
    source = modern[0] if modern else target
    package = source["rego"].split("package ")[1].split()[0]
    parameters = _defaulted(template, constraint["spec"].get("parameters") or {})
    found: Said = {}
    for path in sorted((TEMPLATES / name).glob("*allowed.yaml")):
        inputs = [
            {"review": gatekeeper_review(each), "parameters": parameters}
            for each in yaml.safe_load_all(path.read_text())
        ]
        texts = [source["rego"], *source.get("libs", [])]
        answers = _evaluated(texts, package, inputs, legacy=not modern)
        found[name, path.stem] = [
            sorted(printable(each["msg"], 500) for each in answer) for answer in answers
        ]
    return found


def gatekeeper_review(value: dict[str, Any]) -> dict[str, Any]:
    """Return `input.review` for an object that is created."""
    group, _, version = value["apiVersion"].rpartition("/")
    metadata = value["metadata"]
    place = {"namespace": metadata["namespace"]} if "namespace" in metadata else {}
    return {
        "kind": {"group": group, "version": version, "kind": value["kind"]},
        "name": metadata["name"],
        "operation": "CREATE",
        "object": value,
        "userInfo": {"username": "somebody", "groups": []},
        **place,
    }


def _defaulted(template: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """Do what kube-apiserver does with defaults: the templates have one in a list, one on top."""
    if template["metadata"]["name"] == "wantedannotations":
        given = [{"pattern": ".*"} | each for each in parameters["annotations"]]
        return {"annotations": given}
    if template["metadata"]["name"] == "knownhostports":
        return {"min": 8000} | parameters
    return parameters


def _evaluated(
    texts: list[str], package: str, inputs: list[dict[str, Any]], *, legacy: bool
) -> list[list[dict[str, Any]]]:
    each = f"x := [v | v := data.{package}.violation[_]] with input as s"
    query = f"[x | s := data.samples[_]; {each}]"
    flags = ["--v0-compatible"] if legacy else []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for number, text in enumerate(texts):
            (folder / f"{number}.rego").write_text(text)
        (folder / "data.json").write_text(json.dumps({"samples": inputs}))
        command: list[str | Path] = [
            provide("opa"),
            "eval",
            *flags,
            "-f",
            "json",
            "-d",
            folder,
            query,
        ]
        done = subprocess.run(command, capture_output=True, check=True)
    answers: list[list[dict[str, Any]]] = json.loads(done.stdout)["result"][0]["expressions"][0][
        "value"
    ]
    return answers
