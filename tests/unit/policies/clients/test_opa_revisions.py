"""Each answer is of one revision: pushed or served, beside others, and while they change."""

import asyncio
import shutil
from pathlib import Path

import pytest

from core.base.errors import EngineAwayError
from core.sandbox.decision import Signal
from policies.bundle.format import Bundle, read_bundle
from policies.clients.opa_server.engine import OpaServerEngine
from policies.clients.opa_server.policies import MOST_ROOTS
from policies.engine.entry_points import CANARY_CONTEXT
from policies.engine.interface import PolicyAnswer
from policies.engine.opa_endpoint import OpaServer
from tests.harness.programs.opa_server import OpaProgram
from tests.unit.policies.bundles import make_site_bundle, signal
from tests.unit.policies.clients.opa_engine import (
    FOUND,
    TRIGGER,
    engine_on,
    roots,
    send,
    signals,
    until,
)


def test_two_revisions_on_one_server_are_never_mixed(
    site_bundle: Bundle, server: OpaProgram, tmp_path: Path
) -> None:
    """While one is put there and taken away again, again and again, the other's answers stay."""
    other = read_bundle(
        make_site_bundle(tmp_path, {"x.rego": signal(entry='{"path": "spec", "value": "other"}')})
    )
    changed = Signal("sandbox/acme/x", "spec", "other")
    assert other.revision != site_bundle.revision

    async def race(first: OpaServerEngine, second: OpaServerEngine) -> None:
        async def ask(engine: OpaServerEngine, wanted: Signal) -> None:
            for _ in range(60):
                found = await engine.judge(TRIGGER, PolicyAnswer(()), CANARY_CONTEXT)
                assert [each for each in found.signals if each.rule == FOUND.rule] == [wanted]

        async def lose() -> None:
            for _ in range(3):
                for root in await asyncio.to_thread(roots, server):
                    await asyncio.to_thread(send, server, "DELETE", f"/v1/policies/{root}")
                await asyncio.sleep(0.1)

        await asyncio.gather(ask(first, FOUND), ask(second, changed), lose())

    where = OpaServer(server.url)
    with engine_on(site_bundle, where) as first, engine_on(other, where) as second:
        asyncio.run(race(first, second))


def test_of_what_was_put_there_the_newest_stay(site_bundle: Bundle, server: OpaProgram) -> None:
    """A server does not grow with every revision that there ever was; others' policies stay."""
    send(server, "PUT", "/v1/policies/others", "package others\n\npushed_at := 1")
    for number in range(MOST_ROOTS + 2):
        text = f"package sallyport_old{number}\n\npushed_at := {number}"
        send(server, "PUT", f"/v1/policies/sallyport_old{number}", text)
    with engine_on(site_bundle, OpaServer(server.url)) as engine:
        left = roots(server)
        assert FOUND in signals(engine)
    own = [root for root in left if root.startswith(f"sallyport_{site_bundle.revision}_")]
    assert sorted(left) == sorted(["others", *own, *(f"sallyport_old{n}" for n in range(3, 6))])
    assert len(own) == 1


def test_a_server_may_load_the_bundle_itself(site_file: Path, tmp_path: Path) -> None:
    """It proves with each answer which revision it is of; with another one nothing is judged."""
    site_bundle = read_bundle(site_file)
    file = shutil.copyfile(site_file, tmp_path / "bundle.tar.gz")
    other = make_site_bundle(tmp_path / "other", {"x.rego": signal("input.context.absent")})
    server = OpaProgram(tmp_path, "--watch", loads=[file])
    with server, engine_on(site_bundle, OpaServer(server.url, push=False)) as engine:
        assert engine.missing() == []
        assert FOUND in signals(engine)
        shutil.copyfile(other, tmp_path / "new")
        (tmp_path / "new").replace(file)
        until(lambda: engine.missing() != [])
        with pytest.raises(EngineAwayError) as wrong:
            signals(engine)
        assert read_bundle(other).revision in str(wrong.value)
        assert f"{site_bundle.revision} is wanted" in str(wrong.value)
        shutil.copyfile(site_file, tmp_path / "new")
        (tmp_path / "new").replace(file)
        until(lambda: engine.missing() == [])
        assert FOUND in signals(engine)


def test_a_server_without_the_bundle_says_so(site_bundle: Bundle, server: OpaProgram) -> None:
    """Where the server was to load it; nothing is put there."""
    with engine_on(site_bundle, OpaServer(server.url, push=False)) as engine:
        assert engine.missing() == [
            "the OPA server serves no bundle, and "
            f"{site_bundle.revision} is wanted: give it this bundle, or wait until it has loaded it"
        ]
        assert roots(server) == []
