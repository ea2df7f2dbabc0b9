"""The engine on a real OPA server: away and back again, behind TLS, and with what fails."""

import asyncio
import time
from pathlib import Path

import pytest

from core.base.errors import BundleRefusedError, EngineAwayError, EvaluationError
from policies import BUILT_IN_REGO
from policies.build.builder import build
from policies.bundle.format import Bundle, read_bundle
from policies.clients.opa_server.engine import OpaServerEngine
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from policies.engine.entry_points import CANARY
from policies.engine.interface import PolicyAnswer
from policies.engine.opa_endpoint import OpaServer
from tests.harness.programs.availability import require
from tests.harness.programs.opa_server import OpaProgram
from tests.harness.programs.pki import Authority
from tests.unit.policies.bundles import make_bundle, make_site_bundle, rule, signal
from tests.unit.policies.clients.opa_engine import FOUND, engine_on, roots, send, signals, until

SLOW = "every a in numbers.range(1, 4000) {\n\t\tsome b in numbers.range(1, 4000)\n\t\ta == b\n\t}"


def test_opa_answers_as_the_embedded_engine_does(site_bundle: Bundle, server: OpaProgram) -> None:
    """Both entry points, with a site's signal; and it is asked from any loop."""
    embedded = EmbeddedEngine(site_bundle)
    with engine_on(site_bundle, OpaServer(server.url)) as engine:
        assert engine.missing() == []
        assert (engine.revision, engine.rules) == (embedded.revision, embedded.rules)
        answer = embedded.evaluate(CANARY)
        assert asyncio.run(engine.ask(CANARY)) == answer != PolicyAnswer(())
        assert FOUND in signals(engine)
        assert FOUND not in signals(engine, b'{"containers":[]}')
    embedded.close()


def test_what_the_server_has_lost_is_put_there_again(
    site_bundle: Bundle, server: OpaProgram
) -> None:
    """With the first review, that waits for it; once, for any number that ask at once."""
    with engine_on(site_bundle, OpaServer(server.url)) as engine:
        send(server, "DELETE", f"/v1/policies/{roots(server)[0]}")
        assert roots(server) == []

        async def many() -> list[PolicyAnswer]:
            return await asyncio.gather(*(engine.ask(CANARY) for _ in range(20)))

        answers = asyncio.run(many())
        assert all(each == answers[0] != PolicyAnswer(()) for each in answers)
        assert len(roots(server)) == 1


def test_a_server_that_went_away_is_an_error_and_comes_back(
    site_bundle: Bundle, server: OpaProgram
) -> None:
    """Nothing is admitted meanwhile, readiness says why, and nobody has to do anything."""
    with engine_on(site_bundle, OpaServer(server.url)) as engine:
        server.stop()
        with pytest.raises(EngineAwayError, match="cannot be asked"):
            signals(engine)
        assert server.url in engine.missing()[0]
        server.start()
        until(lambda: engine.missing() == [])
        assert FOUND in signals(engine)


def test_an_engine_starts_without_its_server(site_bundle: Bundle, tmp_path: Path) -> None:
    """The process is there, not ready, and ready as soon as the server is."""
    server = OpaProgram(tmp_path)
    with engine_on(site_bundle, OpaServer(server.url)) as engine:
        assert "cannot be asked" in engine.missing()[0]
        with server:
            until(lambda: engine.missing() == [])
            assert FOUND in signals(engine)


def test_a_built_in_that_fails_is_an_error_with_its_place(
    server: OpaProgram, tmp_path: Path
) -> None:
    """Not a finding that vanishes; what was evaluated is not quoted."""
    text = signal('to_number(concat("", ["secret", input.kind])) == 1')
    bundle = read_bundle(make_site_bundle(tmp_path, {"x.rego": text}))
    with engine_on(bundle, OpaServer(server.url)) as engine:
        with pytest.raises(
            EvaluationError, match=r"rego/site/acme/x\.rego:\d+: to_number"
        ) as wrong:
            signals(engine)
        assert not isinstance(wrong.value, EngineAwayError)
        assert "secret" not in str(wrong.value)
        assert engine.missing() == []
        assert FOUND not in signals(engine, b'{"containers":[]}')


def test_what_takes_too_long_is_an_error_and_ends_on_the_server(
    server: OpaProgram, tmp_path: Path
) -> None:
    """The server does not go on with what nobody waits for."""
    bundle = read_bundle(make_site_bundle(tmp_path, {"x.rego": signal(SLOW)}))
    with engine_on(bundle, OpaServer(server.url), EvaluationLimits(seconds=1.0)) as engine:
        with pytest.raises(EvaluationError, match=r"exceeded the time limit of 1 s") as wrong:
            signals(engine)
        assert not isinstance(wrong.value, EngineAwayError)
        until(lambda: _is_idle(server.pid))
        assert FOUND not in signals(engine, b'{"containers":[]}')


def _is_idle(pid: int) -> bool:
    """Return whether a process uses less than a tenth of a core."""

    def ticks() -> int:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = ticks()
    time.sleep(0.5)
    return ticks() - before < 5


def test_what_is_too_large_is_not_sent(site_bundle: Bundle, server: OpaProgram) -> None:
    """As with the embedded engine."""
    where, limits = OpaServer(server.url), EvaluationLimits(seconds=5.0, input_bytes=1000)
    large = b'{"containers":[], "os": "%b"}' % (b"x" * 1000)
    with (
        engine_on(site_bundle, where, limits) as engine,
        pytest.raises(EvaluationError, match="takes more than 1000 bytes"),
    ):
        asyncio.run(engine.ask(large))


@pytest.mark.parametrize(
    "projection", [b"", b"{", b"null", b"[]", b'{"containers": null}', b"\xff"]
)
def test_what_cannot_be_read_is_an_error(
    site_bundle: Bundle, server: OpaProgram, projection: bytes
) -> None:
    """No object that needs nothing."""
    with engine_on(site_bundle, OpaServer(server.url)) as engine:
        with pytest.raises(EvaluationError) as wrong:
            asyncio.run(engine.ask(projection))
        assert not isinstance(wrong.value, EngineAwayError)


def test_tls_and_a_token(site_bundle: Bundle, tmp_path: Path) -> None:
    """By a CA of one's own; the token is read anew, and never told."""
    authority = Authority(tmp_path)
    pair = authority.issue_loopback_server("opa")
    rule = 'package system.authz\n\ndefault allow := false\n\nallow if input.identity == "right"\n'
    (tmp_path / "authz.rego").write_text(rule)
    flags: list[str | Path] = [
        "--tls-cert-file",
        pair.certificate,
        "--tls-private-key-file",
        pair.key,
    ]
    flags += ["--authentication=token", "--authorization=basic"]
    token = tmp_path / "token"
    token.write_text("wrong")
    with OpaProgram(tmp_path, *flags, loads=[tmp_path / "authz.rego"], tls=True) as server:
        with engine_on(site_bundle, OpaServer(server.url, token_file=token)) as engine:
            assert "certificate of another CA" in engine.missing()[0]
        where = OpaServer(server.url, token_file=token, ca_file=tmp_path / "ca.crt")
        with engine_on(site_bundle, where) as engine:
            assert "refuses to answer (401)" in engine.missing()[0]
            assert "wrong" not in engine.missing()[0]
            token.write_text("right\n")
            until(lambda: engine.missing() == [])
            assert FOUND in signals(engine)


def test_what_the_embedded_engine_lacks_may_be_used(server: OpaProgram, tmp_path: Path) -> None:
    """What the server has is enough, where the bundle is built for it."""
    text = signal('graphql.is_valid("{a}", "type Query { a: String }")')
    with pytest.raises(BundleRefusedError, match=r"graphql\.is_valid \(rego/site/acme/x"):
        make_site_bundle(tmp_path, {"x.rego": text})
    file = tmp_path / "bundle.tar.gz"
    build(require("opa"), BUILT_IN_REGO, file, [tmp_path / "acme"], embedded=False)
    with pytest.raises(BundleRefusedError, match=r"graphql\.is_valid"):
        EmbeddedEngine(read_bundle(file))
    with engine_on(read_bundle(file), OpaServer(server.url)) as engine:
        assert FOUND in signals(engine)


def test_what_looks_outside_is_refused_whatever_the_server_has(
    server: OpaProgram, tmp_path: Path
) -> None:
    """At load, by name and place, before anything is put there."""
    calls = {"a": "time.now_ns() > 0", "b": 'http.send({"url": "http://x"}).a == 1'}
    site = {f"{name}.rego": rule(call) for name, call in calls.items()}
    bundle = read_bundle(make_bundle(tmp_path, site))
    with pytest.raises(BundleRefusedError) as refused:
        OpaServerEngine(bundle, OpaServer(server.url))
    assert str(refused.value) == (
        "the bundle calls what policies may never call: http.send (rego/b.rego:5); time.now_ns "
        "(rego/a.rego:5). A decision depends on its input alone: take the call out"
    )
    assert roots(server) == []
