"""How bundles stand, and how one goes back: what `policy status` and `policy rollback` do."""

import asyncio
import datetime as dt
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import jsonschema
import msgspec
import pytest
from rich.console import Console

from app.settings.root import Settings
from cli.policy.activation.render import print_standing
from cli.policy.activation.run import change, request_rollback, wait_until_active
from cli.policy.activation.status import standing_of
from core.base.errors import BundleRefusedError, ClusterError, SettingsError
from core.policy_bundles import BASE, CONTROL, BundleHead, GateAnnouncement, PublishedBundle
from kube.bundles.store import BundleStore, with_active
from tests.unit.cli.conftest import Run
from tests.unit.kube.config_maps import NAMESPACE, Cluster

OLD, NOW, NEW = "aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"
BUNDLES = tuple(PublishedBundle(name, "", slot, 1) for slot, name in enumerate((OLD, NOW, NEW)))
SCHEMA = Path(__file__).parents[4] / "docs" / "reference" / "policy-activate.schema.json"
TIME = dt.datetime(2026, 11, 23, 6, 0, 0, tzinfo=dt.UTC)


async def published(head: BundleHead, **said: GateAnnouncement) -> BundleStore:
    """Return a cluster in which a head is written, and gates have announced."""
    cluster = Cluster()
    cluster.server_time = TIME
    store = BundleStore(cluster, NAMESPACE)  # type: ignore[arg-type]  # As much of it as is used.
    await store.write(await store.read(), head)
    await store.create_announcements()
    for name, each in said.items():
        await store.announce(name, each)
    return store


def said(
    in_force: str,
    *loaded: str,
    why: dict[str, str] | None = None,
    turn: int = 5,
    at: str = "2026-11-23T05:59:50Z",
    problem: str = "",
) -> GateAnnouncement:
    """Return what a gate announces."""
    loaded = (in_force, *loaded)
    return GateAnnouncement(in_force, in_force, loaded, why or {}, turn, 1, at, problem)


@pytest.mark.parametrize("at_once", [False, True])
async def test_rollback_while_another_waits_keeps_what_is_active(*, at_once: bool) -> None:
    """The one that waits, because a gate refuses it, is what nobody wants any more."""
    head = BundleHead(turn=5, wanted=NEW, active=NOW, previous=OLD, bundles=BUNDLES)
    store = await published(head)
    await request_rollback(store, at_once=at_once)
    found = (await store.read()).head
    assert (found.wanted, found.active, found.previous, found.turn) == (NOW, NOW, OLD, 6)
    assert with_active(found, 0.0).active == NOW


async def test_rollback_goes_one_step_back_where_nothing_waits() -> None:
    """And says so where there is none."""
    store = await published(
        BundleHead(turn=5, wanted=NOW, active=NOW, previous=OLD, bundles=BUNDLES)
    )
    await request_rollback(store, at_once=False)
    assert (await store.read()).head.wanted == OLD
    with pytest.raises(SettingsError, match="no way back"):
        await request_rollback(await published(BundleHead()), at_once=False)


def text_of(found: object) -> str:
    """Return what people see."""
    out = io.StringIO()
    print_standing(found, Console(file=out, width=200))  # type: ignore[arg-type]
    return out.getvalue()


async def test_what_control_refuses_is_shown_by_name() -> None:
    """All gates have it, and nothing is activated."""
    why = {NEW: "signed by none of its keys"}
    gates = {"gate-0": said(NOW, NEW), CONTROL: said(NOW, why=why)}
    head = BundleHead(turn=5, wanted=NEW, active=NOW, bundles=BUNDLES)
    store = await published(head, **gates)
    found = await standing_of(store, NAMESPACE)
    assert [gate.name for gate in found.gates] == ["gate-0"]
    assert f"control refuses {NEW}: signed by none of its keys" in text_of(found)
    with pytest.raises(BundleRefusedError, match=f"control refuses {NEW}: signed by none"):
        await wait_until_active(store, head, 1.0)


async def test_what_is_tried_again_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """An OPA server that is away is no refusal."""
    head = BundleHead(turn=5, wanted=NEW, active=NOW, bundles=BUNDLES)
    store = await published(head, **{"gate-0": said(NOW, problem="the OPA server is away")})
    assert "gate-0 tries again: the OPA server is away" in text_of(
        await standing_of(store, NAMESPACE)
    )
    with pytest.raises(ClusterError, match=r"0 of 1 gates have .*gate-0 tries again: the OPA serv"):
        await wait_until_active(store, head, 0.0)
    assert "gate-0 tries again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("at", "gone"),
    [("2026-11-23T05:58:44Z", ["gate-1"]), ("2026-11-23T05:58:46Z", []), ("", []), ("?", [])],
)
async def test_a_gate_not_heard_of_for_75_seconds_does_not_count(at: str, gone: list[str]) -> None:
    """It is named, by kube-apiserver's clock; one that says no time is there."""
    gates = {"gate-0": said(NOW), "gate-1": said(BASE, at=at)}
    head = BundleHead(turn=5, wanted=NOW, active=NOW, bundles=BUNDLES)
    found = await standing_of(await published(head, **gates), NAMESPACE)
    assert found.gone == gone
    assert found.is_settled is bool(gone)
    assert ("nothing heard for 75 s): gate-1" in text_of(found)) is bool(gone)


async def test_a_bundle_of_another_release_is_told() -> None:
    """It replaces built-in policies of the gate's release; nothing is refused."""
    foreign = msgspec.structs.replace(said(NOW), foreign=3)
    store = await published(
        BundleHead(turn=5, wanted=NOW, active=NOW, bundles=BUNDLES), **{"gate-0": foreign}
    )
    found = await standing_of(store, NAMESPACE)
    assert (found.is_settled, found.gates[0].foreign) == (True, 3)
    assert f"gate-0: {NOW} was built by another release: 3 files of its" in text_of(found)


@pytest.mark.parametrize("refused", [False, True])
async def test_programs_are_told_how_it_ended(*, refused: bool) -> None:
    """What is wanted, what was before, whether it is active, and who refuses it."""
    why = {OLD: "signed by none of its keys"} if refused else {}
    gate = said(NOW, *([] if refused else [OLD]), why=why, turn=6)
    store = await published(
        BundleHead(turn=5, wanted=NOW, active=NOW, previous=OLD, bundles=BUNDLES),
        **{"gate-0": gate},
    )
    settings = Settings(namespace=NAMESPACE)
    changing = asyncio.create_task(change(store, settings, None, 20.0, at_once=False))
    while not refused and not changing.done():
        read = await store.read()
        if read.head.turn == 6 and read.head.active == NOW:
            await store.write(read, with_active(read.head, 0.0))
        await asyncio.sleep(0)
    found = await changing
    assert (found.wanted, found.before, found.active) == (OLD, NOW, not refused)
    assert ("gate-0 refuses" in found.refused) is refused
    jsonschema.validate(msgspec.to_builtins(found), json.loads(SCHEMA.read_text()))


async def test_at_once_says_what_was_active() -> None:
    """Though nobody is waited for."""
    store = await published(
        BundleHead(turn=5, wanted=NOW, active=NOW, previous=OLD, bundles=BUNDLES)
    )
    found = await change(store, Settings(namespace=NAMESPACE), OLD, 60.0, at_once=True)
    assert (found.wanted, found.before, found.active, found.refused) == (OLD, NOW, True, "")


async def test_programs_are_told_that_it_takes_longer() -> None:
    """It is wanted though, and will be active as soon as all gates have it."""
    store = await published(
        BundleHead(turn=5, wanted=NOW, active=NOW, previous=OLD, bundles=BUNDLES),
        **{"gate-0": said(NOW)},
    )
    found = await change(store, Settings(namespace=NAMESPACE), OLD, 0.001, at_once=False)
    assert (found.wanted, found.before, found.active, found.refused) == (OLD, NOW, False, "")
    assert f"{OLD} is not active after 0.001 s" in found.problem
    assert (await store.read()).head.wanted == OLD


@pytest.mark.parametrize(("target", "active"), [(NOW, True), (OLD, False)])
async def test_what_is_active_already_needs_no_waiting(target: str, *, active: bool) -> None:
    """With `--wait 0` it is said to be active, and another is not."""
    store = await published(
        BundleHead(turn=5, wanted=NOW, active=NOW, previous=OLD, bundles=BUNDLES)
    )
    found = await change(store, Settings(namespace=NAMESPACE), target, 0.0, at_once=False)
    assert (found.wanted, found.active) == (target, active)


@pytest.fixture
def in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open a store in which one bundle is active, and begin in an empty folder."""

    @asynccontextmanager
    async def opened(_: Settings) -> AsyncIterator[BundleStore]:
        yield await published(BundleHead(turn=5, wanted=NOW, active=NOW, bundles=BUNDLES))

    monkeypatch.setattr("cli.policy.activation.status.open_store", opened)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("target", "code", "field", "why"),
    [("bad.tar.gz", 1, "refused", "bad.tar.gz"), (OLD, 2, "problem", "is not active after")],
)
@pytest.mark.usefixtures("in_force")
def test_activate_prints_json_where_it_fails(  # noqa: PLR0913, PLR0917 (four of them are cases)
    run: Run, tmp_path: Path, target: str, code: int, field: str, why: str
) -> None:
    """Of a file that is no bundle nothing is wanted; what takes too long is wanted."""
    (tmp_path / "bad.tar.gz").write_bytes(b"no bundle")
    done = run("policy", "activate", target, "--wait", "0.001", "-o", "json")
    found = json.loads(done.out)
    assert (done.code, found["active"], why in found[field]) == (code, False, True)
    assert why in done.err
    assert found["wanted"] == ("" if code == 1 else OLD)
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))


@pytest.mark.usefixtures("in_force")
def test_what_is_refused_does_not_write_to_the_terminal_as_it_likes(
    run: Run, tmp_path: Path
) -> None:
    """Why a bundle is refused holds text of its own, which may clear a screen."""
    (tmp_path / "a\x1b[2Jb.tar.gz").write_bytes(b"no bundle")
    done = run("policy", "activate", "a\x1b[2Jb.tar.gz")
    assert (done.code, "\x1b" in done.err, "a\\x1b[2Jb.tar.gz" in done.err) == (1, False, True)
