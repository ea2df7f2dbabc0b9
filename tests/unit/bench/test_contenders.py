"""OPA's server is given the same work: what the bench's Rego finds is what Sallyport finds."""

import subprocess
from pathlib import Path

import msgspec
import pytest

from bench.contenders import stage_rego
from bench.reviews import GANG, USUAL, Pods
from core.kubernetes.pod import decode_pod
from policies import BUILT_IN_BUNDLE
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from policies.projection.model import encode
from policies.projection.pods import project
from tests.harness.programs.availability import require
from webhooks.review_decoder import decode_review


@pytest.mark.parametrize(("pods", "number"), [(USUAL, 0), (USUAL, 1), (GANG, 3)])
def test_opa_finds_the_same_needs(pods: Pods, number: int, tmp_path: Path) -> None:
    """The same privileges at the same places, and so the same verdict."""
    review = pods.review(number)
    rego = stage_rego(tmp_path / "rego")
    command: list[str | Path] = [
        require("opa"),
        "eval",
        "-d",
        rego,
        "-I",
        "--format=raw",
        "data.bench",
    ]
    done = subprocess.run(command, input=review, capture_output=True, check=True)
    said = msgspec.json.decode(done.stdout)
    theirs = {
        (entry["path"], entry["privilege"])
        for entries in said["answer"]["needs"].values()
        for entry in entries
    }
    engine = EmbeddedEngine(read_bundle(BUILT_IN_BUNDLE))
    pod = decode_pod(decode_review(review).object or b"")
    ours = {(n.path, n.privilege) for n in engine.evaluate(encode(project(pod))).needs}
    engine.close()
    assert theirs == ours
    assert said["response"]["response"]["allowed"] is pods.is_compliant(number)
