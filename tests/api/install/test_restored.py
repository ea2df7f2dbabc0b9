"""docs/operate/disaster.md, etcd restored: what was decided since counts no more, also in gates."""

import asyncio
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from tests.api.chaos.cluster import Cluster
from tests.api.chaos.load import TRAIN
from tests.api.chaos.parts import request, wait_until
from tests.api.install.questions import created
from tests.harness.evidence import ROOT, record
from tests.harness.programs.client import connect
from tests.harness.programs.helm import Helm
from tests.harness.sizes import PROOF

PAGE = (ROOT / "docs" / "operate" / "disaster.md").read_text()
AWAIT_S = 60.0
ALONE_S = 45.0
"""So long gates are left to themselves after the restore."""
WRITES = 300
"""After the backup: revisions that come again only later."""
NAMESPACE_PATH = f"/api/v1/namespaces/{TRAIN}"


class Restored:
    """The cluster, its backup, and what is asked of it."""

    def __init__(self, cluster: Cluster, backup: Path) -> None:
        self.cluster = cluster
        self.server = cluster.server
        self.backup = backup
        self.data = cluster.server.folder / "etcd"

    def status(self) -> int:
        """Ask for a Pod that Alice may not have where it is enforced; give the status."""
        return asyncio.run(self._asked())

    async def _asked(self) -> int:
        async with connect(self.server, "alice") as alice:
            try:
                return (await created(alice, TRAIN))[0]
            except (aiohttp.ClientError, TimeoutError):
                return 0

    def mode(self, mode: str) -> None:
        """Set the mode of the namespace."""
        labels = {"metadata": {"labels": {"sallyport.dev/mode": mode}}}
        assert request(self.server, "PATCH", NAMESPACE_PATH, labels, 15)[0] == 200

    def stop(self) -> None:
        """End kube-apiserver and etcd."""
        self.server.kill_kube_apiserver()
        self.server.kill_etcd()

    def start(self) -> None:
        """Start both."""
        self.server.start_etcd()
        self.server.start_kube_apiserver()

    def back_up(self) -> None:
        """Copy what etcd has."""
        self.stop()
        shutil.copytree(self.data, self.backup)
        self.start()
        wait_until(self.cluster.is_whole, AWAIT_S, "all is ready after the backup")

    def restore(self) -> None:
        """Put the copy in place of what etcd has."""
        self.stop()
        shutil.rmtree(self.data)
        shutil.copytree(self.backup, self.data)
        self.start()

    def write_much(self) -> None:
        """Write what nobody looks at."""
        path = "/api/v1/namespaces/default/configmaps"
        item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "some-"}}
        for _ in range(WRITES):
            assert request(self.server, "POST", path, item)[0] == 201

    def replace_all(self) -> None:
        """What `kubectl rollout restart` does, and the kubelet."""
        for number in range(len(self.cluster.gates.replicas)):
            self.cluster.gates.leave(number)
        for control in self.cluster.controls():
            self.cluster.kill(control)
        wait_until(lambda: not self.cluster.is_whole(), AWAIT_S, "they leave")
        wait_until(self.cluster.is_whole, AWAIT_S, "they are back")


@pytest.mark.proof
@pytest.mark.skipif(not PROOF, reason="a proof: set SALLYPORT_PROOF=1 (make proof)")
def test_after_a_restore_and_a_restart_gates_judge_by_what_etcd_has(
    tmp_path: Path, helm: Helm
) -> None:
    """A mode that was set after the backup counts no more, and a new change counts at once."""
    assert "rollout restart deployment/sallyport-control deployment/sallyport-gate" in PAGE
    with Cluster(tmp_path, helm) as cluster:
        made = Restored(cluster, tmp_path / "backup")
        made.back_up()
        wait_until(lambda: made.status() == 403, AWAIT_S, "it is refused before")
        made.mode("audit")
        wait_until(lambda: made.status() == 201, AWAIT_S, "it is admitted in audit")
        made.write_much()
        made.restore()
        alone = left_alone(made)
        # Without a restart: only until each gate has asked how far kube-apiserver is.
        assert alone.refused
        assert alone.wrongly_until < ALONE_S / 2
        began = time.monotonic()
        made.replace_all()
        wait_until(lambda: made.status() == 403, AWAIT_S, "it is refused after the restart")
        restarted = time.monotonic() - began
        for _ in range(5):
            assert made.status() == 403
        made.mode("audit")
        wait_until(lambda: made.status() == 201, 10, "a change after the restart is noticed")
    record("etcd-restored", lines(alone, restarted))


@dataclass
class Alone:
    """What became of a Pod that must be refused, while nobody did anything."""

    refused: int = 0
    admitted: int = 0
    """By what was undone."""
    errors: int = 0
    wrongly_until: float = 0.0
    """Seconds after kube-apiserver was back at which the last was admitted."""


def left_alone(made: Restored) -> Alone:
    """Ask for a while in which nobody does anything."""
    found = Alone()
    began = time.monotonic()
    while (at := time.monotonic() - began) < ALONE_S:
        status = made.status()
        found.refused += status == 403
        found.admitted += status == 201
        found.errors += status not in {201, 403}
        found.wrongly_until = at if status == 201 else found.wrongly_until
        time.sleep(0.2)
    return found


def lines(alone: Alone, restarted: float) -> list[str]:
    """Return the evidence."""
    return [
        "- Three gates, two controls, an auditor; etcd's data replaced by a copy from before "
        f"{WRITES} writes and a namespace's change to `audit`",
        "",
        "| What | Measured |",
        "| --- | --- |",
        f"| A Pod that must be refused again, asked for over {ALONE_S:g} s with nobody doing "
        f"anything: refused | {alone.refused} |",
        f"| admitted by what was undone | {alone.admitted} |",
        f"| the last of these after kube-apiserver was back | {alone.wrongly_until:.1f} s |",
        f"| not judged (an error) | {alone.errors} |",
        f"| Refused after the restart that docs/operate/disaster.md asks for | {restarted:.1f} s |",
        "",
        "Before gates asked how far kube-apiserver is (2026-11-23 01:27 UTC, the same test), 76 of",
        "76 were admitted in 45 s: a watch from a revision to come is silent until it has come.",
    ]
