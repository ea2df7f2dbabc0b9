"""An upgrade in progress, or half of a rollback: two releases at once, of which nothing is lost."""

import asyncio
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from audit.clients.auditor import AuditorChannel, AuditorClient
from audit.ledger.records.destination import Receipt
from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from core.base.ids import uuid7
from tests.api.record.load import loaded, wait_until_shipped
from tests.compat import documents
from tests.compat.releases import BEFORE, code_of, environment, program_of, run, understood_by
from tests.harness.evidence import ROOT, record
from tests.harness.programs.helm import Helm
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerProcess
from tests.harness.programs.recorded_gate import CLUSTER, PROGRAM, START_S, Recorded
from tests.harness.sizes import PROOF, size


class TwoReleases(Recorded):
    """As Recorded; `code` names the folder of the release that a process is of, now's without."""

    def __init__(self, folder: Path) -> None:
        """Prepare; nothing is started."""
        super().__init__(folder)
        self.code: dict[str, Path] = {}

    def wait_for_refusal(self, words: str) -> None:
        """Start the auditor, wait until its log has these words, and end it."""
        log = self._folder / "refused.log"
        ledger = f"sqlite:///{self.database}"
        settings = self.certificates.auditor(self.auditor_port, ledger)
        process = ServerProcess(
            "auditor",
            [PROGRAM, "auditor"],
            log,
            {
                "SALLYPORT_STATUS__PORT": str(free_ports(1)[0]),
                **settings,
                **environment(self.code["auditor"]),
            },
        )
        try:
            process.wait_until(lambda: words in log.read_text(), START_S)
        finally:
            process.stop()

    def _start(self, name: str, flags: list[str | Path], settings: Mapping[str, str]) -> None:
        own = environment(self.code[name]) if name in self.code else {}
        super()._start(name, flags, {**settings, **own})


RATE = 50
LOAD_S = size(ci=2, proof=20)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code of the release before."""
    return code_of(BEFORE, tmp_path_factory.mktemp("before"))


@pytest.fixture
def both(tmp_path: Path) -> Iterator[TwoReleases]:
    """A gate and an auditor."""
    made = TwoReleases(tmp_path)
    yield made
    made.stop()


@pytest.mark.parametrize("writer", ["before", "now"])
def test_each_reads_what_the_other_stored(before: Path, tmp_path: Path, writer: str) -> None:
    """Secrets, ConfigMaps, Leases, spools and decisions mean the same to both, keys included."""
    code = before if writer == "before" else ROOT
    run(code, program_of(code), "write", tmp_path)
    one, other = (understood_by(each, tmp_path) for each in (before, ROOT))
    assert one.keys() == documents.KINDS.keys()
    assert one == other


_READ_PROFILES = """
import json, sys
from core.profiles import parse_profile
for profile in json.load(open(sys.argv[1])):
    try:
        parse_profile(json.dumps(profile).encode())
    except Exception as error:
        print(error)
"""
"""With the names of BEFORE; prints what is wrong."""


@pytest.mark.parametrize("catalogue", [3, 4])
def test_the_release_before_reads_the_profiles_that_an_upgrade_begins_with(
    before: Path, helm: Helm, tmp_path: Path, catalogue: int
) -> None:
    """Of catalogue 3; it would lose those of catalogue 4, so Helm writes them in a second step."""
    objects = helm.objects({"profiles": {"catalogue": catalogue}})
    profiles = [each for each in objects if each["kind"] == "ContainerProfile"]
    assert {each["spec"]["catalogue"] for each in profiles} == {catalogue}
    (tmp_path / "profiles.json").write_text(json.dumps(profiles))
    problems = run(before, "-c", _READ_PROFILES, tmp_path / "profiles.json")
    assert bool(problems) is (catalogue == 4), problems


@pytest.mark.parametrize("older", ["gate", "auditor"])
def test_decisions_of_one_reach_the_auditor_of_the_other(
    before: Path, both: TwoReleases, older: str
) -> None:
    """All that was answered is stored, each once, and none of it in the quarantine."""
    both.code[older] = before
    both.start_auditor()
    both.start_gate()
    with loaded(both, RATE) as load:
        time.sleep(LOAD_S)
    wait_until_shipped(both, 30)
    assert load.answers.keys() <= both.stored()
    assert len(load.answers) > LOAD_S * RATE / 4
    assert _quarantined(both) == []


@pytest.mark.proof
@pytest.mark.skipif(not PROOF, reason="a proof: set SALLYPORT_PROOF=1 (make proof)")
def test_a_rolling_upgrade_under_load_loses_no_decision(before: Path, both: TwoReleases) -> None:
    """Auditor first, then the gate, which takes over the spool; the ledger is moved by itself."""
    both.code = {"gate": before, "auditor": before}
    both.start_auditor()
    both.start_gate()
    with loaded(both, RATE) as load:
        for name, start in (("auditor", both.start_auditor), ("gate", both.start_gate)):
            time.sleep(LOAD_S / 2)
            both.processes.pop(name).stop()
            time.sleep(0.5)
            del both.code[name]
            start()
        time.sleep(LOAD_S / 2)
    wait_until_shipped(both, 30)
    assert load.answers.keys() <= both.stored()
    assert _quarantined(both) == []
    stored = both.stored()
    record(
        "releases",
        [
            f"- The release before (commit {BEFORE}) and this one, side by side; {RATE} reviews/s",
            "- Gate and auditor of the release before; then the auditor of this one on its ledger, "
            "then the gate of this one on its spool",
            f"- {len(load.answers)} decisions answered, {len(load.answers.keys() & stored)} of "
            f"them stored, each once; in the quarantine: {len(_quarantined(both))}",
        ],
    )


def test_an_older_auditor_keeps_what_it_does_not_know(before: Path, both: TwoReleases) -> None:
    """Frames of kinds of later releases go into its quarantine, whole."""
    both.code["auditor"] = before
    both.start_auditor()
    payload = b'{"format":1,"of":"a later release"}'
    frames = [
        Frame(kind, decision_frame_id(uuid7(int(time.time() * 1000))), payload)
        for kind in (FrameKind.ACCESS, FrameKind.POD_LIFE, 200)
    ]
    assert asyncio.run(_send(both, frames)) == Receipt(0, 0, len(frames))
    assert sorted(_quarantined(both)) == sorted((frame.kind, payload) for frame in frames)


@pytest.mark.proof
@pytest.mark.skipif(not PROOF, reason="a proof: set SALLYPORT_PROOF=1 (make proof)")
def test_an_older_auditor_goes_on_with_a_ledger_of_the_next_release(
    before: Path, both: TwoReleases
) -> None:
    """After a rollback it works. Two releases on, it says what is wrong and changes nothing."""
    both.start_auditor()
    both.stop()
    both.code["auditor"] = before
    both.start_auditor()
    both.stop()
    with closing(sqlite3.connect(both.database)) as connection:
        connection.execute("update alembic_version set version_num = '0009'")
        connection.commit()
    content = both.database.read_bytes()
    both.wait_for_refusal("use the release that made them, or one newer")
    assert both.database.read_bytes() == content


async def _send(both: TwoReleases, frames: list[Frame]) -> Receipt:
    folder, url = both.certificates.folder, f"https://localhost:{both.auditor_port}"
    pair = folder / "client.crt", folder / "client.key"
    client = AuditorClient(AuditorChannel(url, both.certificates.ca, *pair))
    try:
        return await client.deliver(CLUSTER, frames)
    finally:
        await client.close()


def _quarantined(both: TwoReleases) -> list[tuple[int, bytes]]:
    with closing(sqlite3.connect(both.database)) as connection:
        return connection.execute("select kind, payload from quarantine").fetchall()
