"""Templates that replace nothing: what OPA compiles `replace` to would never end."""

import asyncio
from pathlib import Path

import pytest
import yaml

from cli.flags import read_flags
from cli.review.run import review
from cli.shared.manifests import make_terms
from tests.unit.policies.gatekeeper_import.converted_templates import built, carried
from tests.unit.policies.gatekeeper_import.made_templates import (
    constraint,
    policy,
    template,
    written,
)


@pytest.mark.parametrize(
    ("old", "new", "gives"),
    [("", "", "ab"), ("", "-", "-a-b-"), ("a", "x", "xb")],
)
def test_replacing_gives_what_opa_gives(tmp_path: Path, old: str, new: str, gives: str) -> None:
    """Go puts the new text around each character where the old one is empty."""
    call = f'replace(input.review.object.metadata.name, "{old}", "{new}") == "{gives}"'
    made = carried(written(tmp_path, template(policy(call)), constraint()))
    container = {"name": "c", "image": "registry.example/c:1"}
    pod = {"metadata": {"name": "ab"}, "spec": {"containers": [container]}}
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Pod"} | pod))
    settings = read_flags(None, bundle=built(made, tmp_path))
    terms = make_terms("pss-privileged", None, (), "default")
    report = asyncio.run(review(settings, [str(tmp_path / "pod.yaml")], terms))
    found = [it.rule for each in report.results for it in each.element.findings]
    assert found == ["rules/gatekeeper/probe_one"]
