"""The setting `ledger.anchors`, and an auditor's ledger that keeps its heads there."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from app.processes.auditor.ledger import open_anchors, open_kept_ledger
from app.processes.run import process
from app.settings.root import read_settings
from audit.clients.anchor_blob import BlobAnchor
from audit.clients.anchor_config_map import ConfigMapAnchor
from audit.clients.anchor_witness import WitnessAnchor
from audit.ledger.log.anchor_file import FileAnchor
from audit.ledger.store.store import Store
from core.base.errors import SettingsError
from core.base.ids import uuid7
from tests.unit.audit.ledger.store.documents import CLUSTER, document, frame
from tests.unit.cli.conftest import Run
from webhooks.log import get_logger

VKEY = "witness.example/w1+b956a666+BF2D1hbGJqh35DFWs/I2FfJF9RKW9+krDlj88sUavb9t"


async def test_each_kind_of_place_is_opened(tmp_path: Path) -> None:
    """As YAML names them; nothing is asked of them yet."""
    places: list[dict[str, Any]] = [
        {"file": tmp_path / "anchor.jsonl"},
        {"blob": "https://account.blob.core.windows.net/anchors/prod"},
        {"config_map": "audit/ledger", "kubeconfig": tmp_path / "kubeconfig"},
        {"witness": "https://witness.example:8444", "witness_key": VKEY},
    ]
    token = tmp_path / "token"
    token.write_text("x")
    identity = {"tenant": "5d1f7a2e-63d4-4a86-9b1c-0f2a7c8e4b11", "token_file": token}
    settings = read_settings(None, {"ledger": {"anchors": places}, "identity": identity})
    ledger = Store(f"sqlite:///{tmp_path / 'ledger.db'}")
    async with open_anchors(settings, ledger) as anchors:
        kinds = [FileAnchor, BlobAnchor, ConfigMapAnchor, WitnessAnchor]
        assert [type(each) for each in anchors] == kinds
        assert [each.keeps_marks for each in anchors] == [True, True, False, False]


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ({}, "give one of file, blob, config_map and witness"),
        ({"file": "a", "blob": "https://a/b"}, "give one of file, blob, config_map and witness"),
        ({"witness": "https://a"}, "witness needs witness_key"),
        ({"file": "a", "witness_key": "b"}, "witness needs witness_key"),
        ({"file": "a", "trust": "b"}, "trust and cosigned are of witness alone"),
        ({"witness": "http://a", "witness_key": "b"}, "ledger.anchors.witness"),
        ({"config_map": "audit/ledger"}, "config_map needs kubeconfig"),
        ({"file": "a", "kubeconfig": "b"}, "config_map needs kubeconfig"),
        ({"blob": "http://a/b"}, "ledger.anchors.blob"),
        ({"folder": "a"}, "ledger.anchors.folder"),
    ],
)
def test_what_is_no_place_is_refused(place: dict[str, str], says: str) -> None:
    """The message names the setting and what to give."""
    with pytest.raises(SettingsError, match=r"ledger\.anchors") as raised:
        read_settings(None, {"ledger": {"anchors": [place]}})
    assert says in str(raised.value)


def test_what_the_auditor_keeps_is_anchored_and_verified(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorded, signed, anchored; then exported and verified by the commands alone."""
    anchor, export = tmp_path / "anchor.jsonl", tmp_path / "export.jsonl"
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    monkeypatch.setenv("SALLYPORT_LEDGER__URL", url)
    monkeypatch.setenv("SALLYPORT_LEDGER__SIGNING_KEY", str(tmp_path / "ledger.key"))
    monkeypatch.setenv("SALLYPORT_LEDGER__ANCHORS", json.dumps([{"file": str(anchor)}]))

    async def record() -> None:
        async with open_kept_ledger(read_settings(None, {}), get_logger()) as ledger:
            async with asyncio.timeout(30):
                while ledger.missing():  # noqa: ASYNC110  It has no event.
                    await asyncio.sleep(0.05)
            await ledger.deliver(CLUSTER, [frame(document(id=uuid7(_now_ms()))) for _ in range(9)])

    asyncio.run(record())
    assert run("ledger", "export", "-o", export).code == 0
    done = run("ledger", "verify", export, "--anchor", anchor)
    assert (done.code, done.err) == (0, "")
    assert f"Anchor {anchor}: knows 9 at " in done.out
    assert "Not yet anchored" not in done.out
    key = run("ledger", "key")
    (tmp_path / "key.pem").write_text(key.out)
    assert run("ledger", "verify", "--key", tmp_path / "key.pem", "--anchor", anchor).code == 0


def test_sallyport_run_anchors_its_own_ledger_beside_it(tmp_path: Path) -> None:
    """In the state folder, where nothing else is said; another ledger is anchored as it says."""
    own = process._with_ledger(read_settings(None, {}), tmp_path)  # noqa: SLF001  The whole of it needs a port.
    assert [place.file for place in own.ledger.anchors] == [tmp_path / "anchor.jsonl"]
    url = read_settings(None, {"ledger": {"url": "sqlite:////elsewhere.db"}})
    assert process._with_ledger(url, tmp_path).ledger.anchors == []  # noqa: SLF001  As above.
    given = read_settings(None, {"ledger": {"anchors": [{"file": "/mnt/a"}]}})
    assert process._with_ledger(given, tmp_path).ledger.anchors == given.ledger.anchors  # noqa: SLF001  As above.


def _now_ms() -> int:
    return int(time.time() * 1000)
