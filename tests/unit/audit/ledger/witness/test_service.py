"""A witness over HTTPS: paths, statuses, types and bounds of c2sp.org/tlog-witness."""

import asyncio
import hashlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from prometheus_client import CollectorRegistry

from audit.ledger.witness.service import WitnessService
from audit.ledger.witness.submissions import MOST_BODY
from tests.harness.programs.pki import Authority
from tests.unit.audit.ledger.witness.published import FIRST, NEXT, PROOF, body
from tests.unit.audit.ledger.witness.test_witness import witness_of
from webhooks.health import build_status_app
from webhooks.limits import ServerSettings
from webhooks.log import get_logger
from webhooks.readiness import Readiness
from webhooks.server import ServedApp, StopRequest, serve
from webhooks.tls import PairWatcher, TlsSettings

Answer = tuple[int, str, bytes]


@asynccontextmanager
async def running(folder: Path, state: Path) -> AsyncIterator[tuple[str, ssl.SSLContext]]:
    """Yield the URL of a witness, and what trusts its certificate."""
    authority = Authority(folder)
    keys = authority.issue_loopback_server("witness")
    logger = get_logger()
    pair = PairWatcher(TlsSettings(keys.certificate, keys.key), logger)
    readiness = Readiness({"certificate": pair.missing})
    stop, started = StopRequest(), asyncio.get_running_loop().create_future()
    run = asyncio.create_task(
        serve(
            ServedApp(
                WitnessService(witness_of(state), logger), "witness", "x", max_body_bytes=MOST_BODY
            ),
            build_status_app(readiness, CollectorRegistry()),
            ServerSettings(port=0, status_port=0, drain_seconds=0.0),
            pair,
            readiness,
            logger,
            stop=stop,
            on_started=started.set_result,
        )
    )
    await asyncio.wait([run, started], return_when=asyncio.FIRST_COMPLETED)
    port = started.result().served[1]
    try:
        yield (
            f"https://127.0.0.1:{port}",
            ssl.create_default_context(cafile=authority.certificate_path),
        )
    finally:
        stop.ask()
        await run


async def test_witness_is_served_as_the_protocol_says(tmp_path: Path) -> None:
    """Signed, conflict with the size and its type, a fork, and what the monitor reads."""
    state = tmp_path / "seen"
    state.mkdir()
    async with (
        running(tmp_path, state) as (url, context),
        aiohttp.ClientSession() as session,
    ):

        async def ask(method: str, path: str, content: bytes | None = None) -> Answer:
            async with session.request(method, url + path, data=content, ssl=context) as answer:
                return answer.status, answer.headers["content-type"], await answer.read()

        digest = hashlib.sha256(b"monkeys").hexdigest()
        assert (await ask("GET", f"/{digest}/checkpoint"))[0] == 404
        status, _, line = await ask("POST", "/add-checkpoint", body(0, FIRST))
        assert (status, line.startswith("— witness.example/w1 ".encode())) == (200, True)
        assert line.count(b"\n") == 1
        assert await ask("POST", "/add-checkpoint", body(0, NEXT)) == (
            409,
            "text/x.tlog.size",
            b"5\n",
        )
        assert (await ask("POST", "/add-checkpoint", body(5, NEXT, PROOF[1:])))[0] == 422
        assert (await ask("POST", "/add-checkpoint", body(5, NEXT, PROOF)))[0] == 200
        status, _, note = await ask("GET", f"/{digest}/checkpoint")
        assert (status, note.startswith(NEXT)) == (200, True)
        assert (await ask("GET", "/add-checkpoint"))[0] == 404
        assert (await ask("POST", "/add-checkpoint", b"x" * (MOST_BODY + 1)))[0] == 413
        (state / f"{digest}.json").write_bytes(b"{}")
        assert (await ask("POST", "/add-checkpoint", body(8, NEXT)))[0] == 500
        assert (await ask("GET", f"/{digest}/checkpoint"))[0] == 500
