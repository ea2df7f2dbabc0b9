"""Bundles with so many rules judge as the built-in one does."""

from pathlib import Path

import pytest

from bench.reviews import USUAL
from bench.scaling import build_bundle, rules_about_pods
from core.kubernetes.pod import decode_pod
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from policies.projection.model import encode
from policies.projection.pods import project
from tests.harness.programs.availability import require
from webhooks.review_decoder import decode_review


def privileges(bundle: Path, number: int) -> set[str]:
    """Return what a Pod of the bench needs under a bundle."""
    pod = decode_pod(bytes(decode_review(USUAL.review(number)).object or b""))
    engine = EmbeddedEngine(read_bundle(bundle))
    try:
        return {need.privilege for need in engine.evaluate(encode(project(pod))).needs}
    finally:
        engine.close()


@pytest.mark.parametrize("count", [15, 60])
def test_a_bundle_has_its_number_of_rules_and_finds_the_same_bad_pod(
    count: int, tmp_path: Path
) -> None:
    """The one that complies needs nothing of Pod Security; the other its capabilities."""
    require("opa")
    bundle = build_bundle(count, tmp_path / "bundle")
    entry = read_bundle(bundle).sources
    listed = next(text for path, text in entry.items() if path.endswith("rego/needs.rego"))
    assert listed.partition("\n\t}\n")[0].count(".needs,") == count
    refused = privileges(bundle, 1) - privileges(bundle, 0)
    assert refused == {"capabilities/default", "capability/NET_ADMIN"}


def test_the_built_in_rules_are_read_from_the_entry_point() -> None:
    """All that Pods are asked about, or a bundle of 60 rules would have another number."""
    text = Path("policies/rego/needs.rego").read_text()
    of_pods, of_objects = text.split("\nof_pods := ")[1].split("\nof_objects := ", 1)
    assert len(rules_about_pods()) == of_pods.count(".needs,")
    assert not [rule for rule in rules_about_pods() if f'"{rule}"' in of_objects]
    folders = Path("policies/rego/privileges").resolve().glob("*/*/*_test.rego")
    assert set(rules_about_pods()) < {
        f"{file.parent.parent.name}/{file.parent.name}" for file in folders
    }
