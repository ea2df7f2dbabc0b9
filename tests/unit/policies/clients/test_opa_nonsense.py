"""Whatever answers in an OPA server's place: an error that says so, never an admission."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web

from core.base.errors import EngineAwayError, EvaluationError, SettingsError
from policies.bundle.format import Bundle
from policies.clients.opa_server.engine import LoopThread, OpaServerEngine
from policies.engine.embedded_engine import EvaluationLimits
from policies.engine.entry_points import CANARY
from policies.engine.opa_endpoint import OpaServer

Answering = Callable[[str], web.StreamResponse | None]
"""Gives the answer to an evaluation of a rule by its path; None answers never."""


class FakeOpa:
    """Takes every policy, and evaluates none."""

    def __init__(self, folder: Path, answering: Answering) -> None:
        self._socket = folder / "fake.sock"
        self.url = f"unix://{self._socket}"
        self.answering = answering
        self.put: list[str] = []
        """The modules that were put there, by name."""
        self.headers: list[dict[str, str]] = []
        """Of each evaluation."""
        self._loop = LoopThread("fake-opa")
        self._runner = self._loop.call(self._serve())

    def close(self) -> None:
        """End it."""
        self._loop.call(self._runner.cleanup())
        self._loop.close()

    async def _serve(self) -> web.AppRunner:
        app = web.Application()
        app.router.add_put("/v1/policies/{name}", self._put)
        app.router.add_get("/v1/policies/{name}", self._module)
        app.router.add_post("/v1/query", self._query)
        app.router.add_post("/v1/data/{path:.*}", self._evaluate)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.UnixSite(runner, str(self._socket)).start()
        return runner

    async def _put(self, request: web.Request) -> web.StreamResponse:
        self.put.append(request.match_info["name"])
        return web.json_response({})

    async def _module(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"result": {"ast": {"rules": []}}})

    async def _query(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"result": []})

    async def _evaluate(self, request: web.Request) -> web.StreamResponse:
        self.headers.append(dict(request.headers))
        answer = self.answering(request.match_info["path"])
        if answer is None:
            await asyncio.sleep(3600)
            return web.Response()
        return answer


LIMITS = EvaluationLimits(seconds=20.0)
_EMPTY = '{"containers":1,"needs":{},"denials":{},"signals":{},"features":[]}'


@contextmanager
def asked(
    bundle: Bundle, folder: Path, answering: Answering, limits: EvaluationLimits = LIMITS
) -> Iterator[tuple[OpaServerEngine, FakeOpa]]:
    """Yield an engine on a server that answers so from the beginning."""
    fake = FakeOpa(folder, answering)
    engine = OpaServerEngine(bundle, OpaServer(fake.url), limits)
    try:
        yield engine, fake
    finally:
        engine.close()
        fake.close()


def text(body: str, status: int = 200) -> Answering:
    """Return what always answers so."""
    return lambda _: web.Response(text=body, status=status)


def answers(revision: str, *values: str) -> Answering:
    """Return what answers as a server with these policies."""
    return text(f'{{"result": {{"revision": "{revision}", "answers": [{",".join(values)}]}}}}')


AWAY: dict[str, tuple[Callable[[str], Answering], str]] = {
    "a page": (lambda _: text("<html>"), "no answer of OPA's"),
    "nothing": (lambda _: text(""), "no answer of OPA's"),
    "a list": (lambda _: text("[]"), "no answer of OPA's"),
    "another shape": (lambda _: text('{"result": true}'), "no answer of OPA's"),
    "no policies": (lambda _: text("{}"), "does not have the policies"),
    "another revision": (
        lambda _: answers("f00", _EMPTY),
        "answered from the revision 'f00'",
    ),
    "a failure": (lambda _: text("oops", 500), "answers 500, and not why"),
    "busy": (lambda _: text("", 503), "answers 503, and not why"),
    "a door": (lambda _: text("", 401), r"refuses to answer \(401\)"),
}


@pytest.mark.parametrize("what", AWAY)
def test_nonsense_is_an_error(site_bundle: Bundle, tmp_path: Path, what: str) -> None:
    """Of the server, not of the policies; readiness says the same."""
    make, why = AWAY[what]
    with asked(site_bundle, tmp_path, make("")) as (engine, _):
        with pytest.raises(EngineAwayError, match=why):
            asyncio.run(engine.ask(CANARY))
        assert engine.missing()


def test_what_is_undefined_is_an_error_of_the_policies(site_bundle: Bundle, tmp_path: Path) -> None:
    """The server works: it is asked on; and nothing is put there again."""
    answering = answers(site_bundle.revision)
    with asked(site_bundle, tmp_path, answering) as (engine, fake):
        with pytest.raises(EvaluationError, match="does not have") as wrong:
            asyncio.run(engine.ask(CANARY))
        assert not isinstance(wrong.value, EngineAwayError)
        assert fake.put == []


def test_a_server_that_finds_nothing_is_never_believed(site_bundle: Bundle, tmp_path: Path) -> None:
    """It answers in the right shape; a privileged container is nothing to it."""
    both = _EMPTY.replace("{", '{"absent":0,', 1)
    seen = answers(site_bundle.revision, both)
    fake = FakeOpa(tmp_path, seen)
    try:
        with pytest.raises(Exception, match="finds nothing wrong with a privileged container"):
            OpaServerEngine(site_bundle, OpaServer(fake.url))
    finally:
        fake.close()


def test_a_server_that_never_answers_costs_no_more_than_an_evaluation_may(
    site_bundle: Bundle, tmp_path: Path
) -> None:
    """And readiness says so."""
    limits = EvaluationLimits(seconds=0.3)
    with asked(site_bundle, tmp_path, lambda _: None, limits) as (engine, _):
        with pytest.raises(EvaluationError, match=r"exceeded the time limit of 0.3 s"):
            asyncio.run(engine.ask(CANARY))
        assert "exceeded the time limit" in engine.missing()[0]


def test_review_past_its_deadline_stops_waiting_for_opa(
    site_bundle: Bundle, tmp_path: Path
) -> None:
    """A review whose time is up ends, whatever an evaluation may take."""

    async def impatient(engine: OpaServerEngine) -> None:
        async with asyncio.timeout(0.1):
            await engine.ask(CANARY)

    answering = answers(site_bundle.revision)
    with asked(site_bundle, tmp_path, answering, EvaluationLimits(seconds=600.0)) as (engine, fake):
        fake.answering = lambda _: None
        with pytest.raises(TimeoutError):
            asyncio.run(impatient(engine))


def test_an_answer_without_end_is_cut_off(site_bundle: Bundle, tmp_path: Path) -> None:
    """It fills no memory."""
    with (
        asked(site_bundle, tmp_path, text("[" + "1," * 3_000_000)) as (engine, _),
        pytest.raises(EvaluationError, match="more than 4194304 bytes"),
    ):
        asyncio.run(engine.ask(CANARY))


def test_a_redirect_is_not_followed(site_bundle: Bundle, tmp_path: Path) -> None:
    """Neither policies nor objects nor the token go elsewhere."""

    def elsewhere(_: str) -> web.Response:
        return web.Response(status=307, headers={"Location": "http://127.0.0.1:9/v1/data"})

    with (
        asked(site_bundle, tmp_path, elsewhere) as (engine, _),
        pytest.raises(EngineAwayError, match="answers 307, and not why"),
    ):
        asyncio.run(engine.ask(CANARY))


def test_proxies_of_the_environment_are_not_used(
    site_bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is evaluated goes to the server that is named."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    answering = answers(site_bundle.revision, _EMPTY)
    with asked(site_bundle, tmp_path, text("{}")) as (engine, fake):
        fake.answering = answering
        assert asyncio.run(engine.ask(CANARY)).needs == ()
        assert all("Authorization" not in each for each in fake.headers)


@pytest.mark.parametrize(
    "url",
    [
        *("", "127.0.0.1:8181", "ftp://a", "http://", "http://a/v1", "unix://a/b", "http://a:0"),
        *("http://user:word@a", "https://a?b", "http://a:b"),
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    """With the setting's name, before anything is asked."""
    with pytest.raises(SettingsError, match=r"evaluation\.opa\.url"):
        OpaServer(url)


def test_a_ca_is_for_https_only(tmp_path: Path) -> None:
    """Whoever names one believes that something is checked."""
    with pytest.raises(SettingsError, match=r"evaluation\.opa\.ca_file: only https"):
        OpaServer("http://a:8181", ca_file=tmp_path / "ca.crt")
