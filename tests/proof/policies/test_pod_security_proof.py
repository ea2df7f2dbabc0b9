"""The agreement with Pod Security at full size; run by `make proof` (SALLYPORT_PROOF=1).

Resumable: batches already compared are kept in the cache, under a digest of all that a
verdict depends on, so that changed policies start afresh.
"""

import os
from pathlib import Path

import pytest

from core.profiles.container_profiles import parse_version
from tests.harness.evidence import record
from tests.harness.oracles.pod_security_agreement import compare
from tests.harness.oracles.verdicts import Verdicts, source_digest
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client

VALID_PODS = 20_000
SEED = 2

pytestmark = pytest.mark.skipif(
    os.environ.get("SALLYPORT_PROOF") != "1",
    reason="a proof: set SALLYPORT_PROOF=1 (make proof)",
)


def journal_path(digest: str) -> Path:
    """Return the file that keeps what has been compared, its folder made."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    path = cache / "sallyport" / "proof" / f"pod-security-{digest}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


async def test_profiles_agree_with_pod_security_on_many_pairs(
    apiserver: ApiServer,
    client: Client,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On 20,000 valid Pods, most with two changes at once, no verdict may differ."""
    version = apiserver.version()
    cluster = parse_version(version, field="gitVersion", what="kube-apiserver")
    digest = source_digest([version, str(SEED)])
    verdicts = Verdicts(tmp_path, cluster)

    def say(line: str) -> None:
        with capsys.disabled():
            print(line, flush=True)

    tally = await compare(
        client,
        verdicts.judge,
        seed=SEED,
        valid=VALID_PODS,
        journal=journal_path(digest),
        say=say,
    )
    verdicts.close()
    about = f"- kube-apiserver {version}, seed {SEED}, sources {digest}"
    record("pod-security-agreement", [about, *tally.lines()])
    assert tally.disagreements == ()
