"""No token, name, mail or address is in anything that is written: what has them is full of them."""

import json
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from tests.api.identity.requests import enter, push, until, until_refused
from tests.api.identity.scene import BEARER, LAB, TOPIC, Scene, new_id, pod
from tests.api.record.installation import PROGRAM
from tests.harness.fakes.entra.directory import written
from tests.harness.fakes.entra.servers import Fault
from tests.harness.fakes.event_transmitter import claims
from tests.harness.programs.client import Client
from tests.harness.programs.helm import NAMESPACE
from tests.harness.programs.kafka import CONNECTION_STRING
from tests.harness.sightings import sightings
from tests.harness.worlds.entra_records import CANARIES, DETECTION, USER, changed, message

PLANTED: Final = (
    "canary person",
    "canary.",
    "@canary.example",
    "203.0.113.77",
    "canary-token-",
    "canary text",
    "canary claim",
    BEARER,
    CONNECTION_STRING.rpartition("SharedAccessKey=")[2],
    *CANARIES,
)
"""In bodies, errors and tokens of the fakes, in records, events, and in user names."""

_LISTED: Final = (
    "/api/v1/secrets",
    "/api/v1/configmaps",
    "/api/v1/events",
    "/api/v1/pods",
    "/apis/apps/v1/deployments",
    "/apis/sallyport.dev/v1alpha1/breakglasses",
    "/apis/sallyport.dev/v1alpha1/clusterapprovals",
    "/apis/sallyport.dev/v1alpha1/policyexceptions",
    "/apis/sallyport.dev/v1alpha1/approvals",
)
_SOON_S: Final = 60.0


class Story:
    """What happens here: everything that has canaries passes through, in order and with errors."""

    def __init__(self, scene: Scene, admin: Client) -> None:
        self.scene = scene
        self.admin = admin
        self.said: dict[str, str] = {}
        """What people were told."""
        self.tokens: list[str] = [scene.entra.desk.token_file.read_text()]
        self.person = new_id()

    @property
    def words(self) -> tuple[str, ...]:
        """All that must be nowhere; of signed tokens also the signature alone."""
        signatures = (each.rpartition(".")[2] for each in self.tokens)
        return (*PLANTED, *self.tokens, *signatures)

    async def run(self) -> None:
        """Let it happen."""
        await self._work()
        await self._pushes()
        await self._risk()
        await self._errors()

    async def _work(self) -> None:
        who = self.scene.person(self.admin, "canary.worker@canary.example", self.person)
        await who.create(pod("theirs"))
        await enter(who, "theirs")

    async def _errors(self) -> None:
        entra = self.scene.entra
        for fault in (Fault.UNAVAILABLE, Fault.TRUNCATED):
            entra.fail(fault)
            await self._after_requests(1)
        entra.expire_tokens()
        entra.fail_sign_in("invalid_client", 700213)
        await self._after_requests(1)
        entra.heal()

    async def _after_requests(self, count: int) -> None:
        entra = self.scene.entra
        before = len(entra.requests) + entra.token_requests

        async def asked() -> bool:
            return len(entra.requests) + entra.token_requests >= before + count

        await until(asked, 4 * _SOON_S)

    async def _pushes(self) -> None:
        scene = self.scene
        canaries = {"email": "canary.claim@canary.example", "note": "canary claim"}
        good = scene.transmitter.token(claims(new_id(), **canaries))
        other = scene.transmitter.token(claims("canary.subject@canary.example", **canaries))
        bad = good[:-8] + b"AAAAAAAA"
        self.tokens += [good.decode(), other.decode(), bad.decode()]
        statuses = [await push(scene, each) for each in (good, good, other, bad, b"canary text")]
        assert statuses == [202, 202, 400, 400, 400]
        assert await push(scene, good, "canary-bearer-of-a-stranger") in {400, 401, 403}
        if scene.kafka is not None:
            tenant = {"tenantId": scene.entra.tenant}
            at = {"riskLastUpdatedDateTime": written(time.time())}
            named = changed({**USER, **tenant}, id=new_id(), **at)
            found = changed({**DETECTION, **tenant}, userId=new_id())
            broken = changed({**USER, **tenant}, id="canary.person@canary.example", **at)
            await scene.kafka.put(TOPIC, message(named, found, broken), b'{"canary text": ')

    async def _risk(self) -> None:
        entra = self.scene.entra
        entra.put_detection(new_id(), self.person)
        entra.put_user(self.person, level="high", state="atRisk")
        who = self.scene.person(self.admin, "canary.worker@canary.example", self.person)
        await until_refused(who, 2 * _SOON_S)
        self.said["refusal"] = (await enter(who)).message
        await until(self._told, 4 * _SOON_S)

    async def _told(self) -> bool:
        """Whether namespaces were told what somebody at risk left behind."""
        events = await self.admin.request("GET", f"/api/v1/namespaces/{LAB}/events")
        # A command starts a process: it comes last, since this is asked until it holds.
        return "IdentityAtRisk" in json.dumps(events[1]) and "theirs" in self._look_back()

    def _look_back(self) -> str:
        return self._command("risk", "look-back", self.person, "--ledger", self._ledger)

    @property
    def _ledger(self) -> str:
        return self.scene.installed.ledger

    def _command(self, *arguments: str) -> str:
        kubeconfig = str(self.scene.apiserver.kubeconfig())
        flags = () if arguments[0] == "decisions" else ("--kubeconfig", kubeconfig)
        done = subprocess.run(
            [PROGRAM, *arguments, *flags], capture_output=True, text=True, check=False, timeout=120
        )
        return done.stdout + done.stderr

    async def everything(self) -> dict[str, bytes]:
        """Return all that was written or shown, by where."""
        found = {where: text.encode() for where, text in self.said.items()}
        for each in self._files():
            with suppress(FileNotFoundError):  # What was shipped leaves the spool.
                found[f"file {each.name}"] = each.read_bytes()
        for process in ("gate", "control", "auditor"):
            found[f"metrics of {process}"] = self.scene.installed.metrics(process).encode()
        found |= {path: await self.listed(path) for path in _LISTED}
        return found | {" ".join(each): self._command(*each).encode() for each in self._commands()}

    async def listed(self, path: str) -> bytes:
        """Return all objects of a kind."""
        status, answer = await self.admin.request("GET", path)
        assert status == 200, path
        return json.dumps(answer).encode()

    def _files(self) -> Iterable[Path]:
        """Return logs, ledger and spools: all files of the processes."""
        folder = self.scene.installed.folder
        return (each for each in folder.rglob("*") if each.is_file() and each.suffix != ".key")

    def _commands(self) -> list[tuple[str, ...]]:
        shown = ("risk", "show", self.person)
        return [
            ("risk", "status"),
            ("risk", "status", "-o", "json"),
            shown,
            (*shown, "-o", "json"),
            ("risk", "table"),
            ("risk", "look-back", self.person, "--ledger", self._ledger),
            ("risk", "look-back", self.person, "--ledger", self._ledger, "-o", "json"),
            ("decisions", "--ledger", self._ledger, "-o", "json"),
        ]


@pytest.fixture
async def story(scene: Scene, admin: Client) -> Story:
    """It has happened."""
    await scene.wait_until_fresh()
    made = Story(scene, admin)
    await made.run()
    return made


async def test_no_canary_is_anywhere(scene: Scene, admin: Client, story: Story) -> None:
    """Neither as it is nor encoded or packed; and one that is put there on purpose is found."""
    everything = await story.everything()
    for process in ("gate", "control", "auditor"):
        assert b'"event":' in everything[f"file {process}.log"]
    for beginning in ("file ledger.db", "/api/v1/events", "file gate.log"):
        may_know = b"".join(
            each for where, each in everything.items() if where.startswith(beginning)
        )
        assert sightings(may_know, [story.person]) == {story.person}, beginning
    seen = {where: sightings(content, story.words) for where, content in everything.items()}
    assert {where: words for where, words in seen.items() if words} == {}

    planted = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "planted", "namespace": NAMESPACE},
        "stringData": {"who": "canary.planted@canary.example"},
    }
    await admin.create(planted)
    try:
        secrets = await story.listed("/api/v1/secrets")
        assert sightings(secrets, story.words) == {"canary.", "@canary.example"}
    finally:
        await admin.delete(planted)
