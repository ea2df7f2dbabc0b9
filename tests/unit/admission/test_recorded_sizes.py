"""What is kept of a refusal has at most 16 KiB, whatever Pod provokes it."""

from typing import Any

import pytest

from audit.ledger.records.frames import FrameKind
from audit.ledger.records.recorder import MAX_DOCUMENT, LedgerRecorder
from core.decision.document import decode_document
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import Folder, decide, pod, request
from tests.unit.audit.ledger.records.test_recorder import Spool

_PROFILES = 24


def _host_paths(count: int, path: str) -> list[dict[str, Any]]:
    return [{"name": f"v-{n}", "hostPath": {"path": f"/{n}{path}"}} for n in range(count)]


def _containers(count: int, **security: Any) -> dict[str, Any]:
    first = pod()["spec"]["containers"][0]
    return {
        "containers": [
            first
            | {"name": f"c-{n}", "securityContext": security, "image": f"evil.example/{n}:latest"}
            for n in range(count)
        ]
    }


CAPABILITIES = [f"CAPABILITY_{number}" for number in range(64)]

LARGEST = {
    "short paths of the node": pod(volumes=_host_paths(1000, "")),
    "long paths of the node": pod(volumes=_host_paths(256, "/x" * 2000)),
    "paths that are percent-encoded": pod(volumes=_host_paths(256, "é" * 1000)),
    "capabilities of many containers": pod(
        **_containers(128, privileged=True, capabilities={"add": CAPABILITIES})
    ),
    "annotations of many names": pod(
        annotations={f"container.apparmor.security.beta.kubernetes.io/{n}": "x" for n in range(999)}
    ),
    "sysctls": pod(
        securityContext={"sysctls": [{"name": f"kernel.{n}", "value": "1"} for n in range(900)]}
    ),
    "an ordinary refusal": pod(hostNetwork=True, hostPID=True, add=["NET_ADMIN"]),
}


@pytest.mark.parametrize("made", LARGEST.values(), ids=LARGEST)
async def test_a_refusal_takes_at_most_16_kib_of_the_record(
    made: dict[str, Any], engine: EmbeddedEngine, folder: Folder
) -> None:
    """With all that policies saw. Id, digests and each rule stay, and it says what was cut."""
    for number in range(_PROFILES):
        folder.profile(f"profile-{number}", number, "host/pid", f"capability/CAPABILITY_{number}")
    asked = request(made)
    decided = await decide(folder.cluster(), engine, asked)
    assert not decided.allowed
    spool = Spool()
    LedgerRecorder(spool, lambda: "c", lambda subject: subject.label).record(
        "validate", asked, decided, [], 0.001
    )
    assert sum(len(payload) for _, _, payload in spool.frames) <= MAX_DOCUMENT
    (content,) = (payload for kind, _, payload in spool.frames if kind == FrameKind.DECISION)
    document = decode_document(content)
    assert (document.id, document.verdict) == (decided.id, decided.verdict)
    assert {each.rule for each in document.findings} == {each.rule for each in decided.findings}
    assert len(document.findings) + document.more_findings == len(decided.findings)
    if decided.error_kind is None:
        assert document.projection
        assert document.revisions.policy == decided.policy_revision
    if decided.evidence.needs and len(decided.evidence.needs) < 6:
        assert not document.cut
