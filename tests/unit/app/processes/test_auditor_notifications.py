"""The process `sallyport auditor` tells its sinks, also across a kill."""

import asyncio
import base64
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from app.notifications.sinks import delivery_options
from app.settings.root import read_settings
from core.base.errors import SettingsError
from tests.harness.fakes.https_receiver import HttpsReceiver
from tests.harness.programs.pki import Authority
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerProcess
from tests.harness.programs.status import ask, is_ready
from tests.unit.audit.notifications.notices import make_finding, open_store, record

PROGRAM: Final = Path(sys.executable).parent / "sallyport"
KEY: Final = base64.b64encode(b"canary-key-of-a-webhook-sink-000").decode()
START_S: Final = 60.0


class AuditorProcess:
    """The auditor of a ledger in SQLite, with one webhook."""

    def __init__(self, folder: Path, authority: Authority, url: str) -> None:
        """Write its settings; nothing is started."""
        keys = authority.issue_loopback_server("auditor")
        (folder / "pager").mkdir()
        (folder / "pager" / "hmac-key").write_text(KEY)
        self.folder, (receive, self.status) = folder, free_ports(2)
        self.settings = folder / "config.yaml"
        sink = {"name": "pager", "kind": "webhook", "url": url, "since": "2026-01-01T00:00:00Z"}
        files = {"secrets": str(folder / "pager"), "trust": str(authority.certificate_path)}
        tls = {"cert": str(keys.certificate), "key": str(keys.key)}
        ca = {"client_ca": str(authority.certificate_path)}
        settings = {
            "receive": {"host": "127.0.0.1", "port": receive, **tls, **ca},
            "status": {"host": "127.0.0.1", "port": self.status},
            "ledger": {"url": f"sqlite:///{folder / 'ledger.db'}"},
            "notifications": {"sinks": [{**sink, **files}]},
        }
        self.settings.write_text(yaml.safe_dump(settings))

    def start(self) -> ServerProcess:
        """Start it."""
        command: list[str | Path] = [PROGRAM, "auditor", "--config", self.settings]
        state = {"XDG_STATE_HOME": str(self.folder / "state")}
        return ServerProcess("auditor", command, self.folder / "auditor.log", state)

    def sent(self) -> float:
        """Return what /metrics says that the sink took."""
        with contextlib.suppress(OSError):
            if is_ready(self.status):
                text = ask(self.status, "/metrics")[1]
                for family in text_string_to_metric_families(text):
                    if family.name == "sallyport_notices_sent":
                        return sum(sample.value for sample in family.samples)
        return -1.0


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(START_S):
        while not await asyncio.to_thread(holds):  # noqa: ASYNC110  Another process has it.
            await asyncio.sleep(0.05)


async def test_killed_auditor_tells_again_with_the_same_id_and_loses_nothing(
    tmp_path: Path,
) -> None:
    """SIGKILL comes after the receiver has a notice, and before the auditor has its answer."""
    authority = Authority(tmp_path)
    findings = [make_finding(number) for number in range(3)]
    async with open_store(tmp_path) as store:
        await record(store, *findings)
    async with HttpsReceiver().serving(authority) as receiver:
        auditor = AuditorProcess(tmp_path, authority, f"{receiver.url}/hook")
        receiver.answering.clear()
        first = auditor.start()
        await until(lambda: bool(receiver.posted))
        os.kill(first.pid, signal.SIGKILL)
        first.stop()
        receiver.answering.set()
        second = auditor.start()
        try:
            await until(lambda: auditor.sent() == 3.0)
        finally:
            second.stop()
    told = [json.loads(each.body)["id"] for each in receiver.posted]
    assert told == [findings[0].id, *(each.id for each in findings)]
    log = (tmp_path / "auditor.log").read_text()
    assert KEY not in log
    assert "/hook" not in log


def test_notice_must_not_outlive_the_ledger(tmp_path: Path) -> None:
    """What retention removes before it is given up would be lost uncounted."""
    file = tmp_path / "config.yaml"
    sink = {"name": "a", "kind": "webhook", "url": "https://a.example/b", "secrets": "/s"}
    told = {"sinks": [sink], "give_up_hours": 100}
    file.write_text(yaml.safe_dump({"ledger": {"keep_days": 3}, "notifications": told}))
    with pytest.raises(SettingsError, match=r"give_up_hours .*: 100 hours are longer"):
        delivery_options(read_settings(file, {}))
