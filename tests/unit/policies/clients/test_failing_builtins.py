"""Built-in functions that fail on their arguments: no engine admits for it what it should not."""

import asyncio
import re
from collections.abc import Iterator

import pytest

from core.base.errors import EngineAwayError, EvaluationError
from policies.bundle.format import Bundle, read_bundle
from policies.clients.opa_server.engine import OpaServerEngine
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from policies.engine.interface import Engine, PolicyAnswer
from policies.engine.opa_endpoint import OpaServer
from tests.harness.programs.opa_server import OpaProgram
from tests.unit.policies.bundles import make_bundle

SUPPLIED = {
    "units.parse": 'units.parse("x") > 0',
    "units.parse_bytes": 'units.parse_bytes("1 2") > 0',
    "semver.compare": 'semver.compare("a", "1.0.0") == 0',
    "time.parse_rfc3339_ns": 'time.parse_rfc3339_ns("today") > 0',
    "time.parse_duration_ns": 'time.parse_duration_ns("1 day") > 0',
    "time.parse_ns": 'time.parse_ns("2006", "x") > 0',
    "time.weekday": "time.weekday(1e30) != input.os",
    "regex.replace": 'regex.replace("a", "(", "b") == "a"',
    "regex.split": 'count(regex.split("(", "a")) == 1',
    "regex.find_n": 'count(regex.find_n("(", "a", 1)) == 1',
    "hex.decode": 'hex.decode("x") == "a"',
    "urlquery.decode": 'urlquery.decode("%x") == "a"',
    "json.patch": 'json.patch({"a": 1}, [{"op": "remove", "path": "/b"}]) == {}',
    "net.cidr_expand": 'count(net.cidr_expand("x")) > 0',
    "net.cidr_merge": 'count(net.cidr_merge(["x"])) > 0',
    "strings.count": "strings.count(input.odd, input.os) == 0",
}
"""Supplied by the host: an error in both."""

COMPILED = {
    "to_number": "to_number(input.os) == 1",
    "net.cidr_contains": 'net.cidr_contains(input.os, "10.0.0.1")',
    "base64.decode": 'base64.decode("%") == "a"',
    "json.unmarshal": 'json.unmarshal("{") == {}',
    "regex.match": 'regex.match("(", input.os)',
    "object.get": 'object.get(input.odd, "a", 1) == 1',
    "lower": 'lower(input.odd) == ""',
    "format_int": 'format_int(input.os, 10) == ""',
    "replace": 'replace(input.odd, "a", "b") == ""',
    "startswith": 'not startswith(input.odd, "a")',
    "plus": "input.os + 1 > 0",
    "count": "count(input.odd) == 0",
    "div": "1 / count(input.containers) == 1",
    "max": "max(input.os) == 1",
}
"""Compiled into WebAssembly by OPA: an error in both."""

WITHOUT_ERROR = {
    "max of nothing": "max(input.containers) == 1",
    "min of nothing": "min(input.containers) == 1",
    "is_string": "not is_string(input.odd)",
    "json.is_valid": "not json.is_valid(input.odd)",
    "a part of none": "not input.odd.part",
    "a member of none": "not 1 in input.odd",
    "replace of nothing": 'replace("ab", substring(input.os, 0, 0), "-") == "-a-b-"',
}
"""What has no value, or one of any argument, and is none the worse for it."""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A rule that makes the call which the Pod's OS names."""
    rules = [
        'needs contains {"privilege": "site/found", "path": "spec"} if {\n'
        f'\tinput.os == "{name}"\n\t{call}\n}}\n'
        for name, call in (SUPPLIED | COMPILED | WITHOUT_ERROR).items()
    ]
    text = "\n".join(["package sallyport.privileges.host.network\n", *rules])
    return read_bundle(make_bundle(tmp_path_factory.mktemp("failing"), {"site/x.rego": text}))


@pytest.fixture(scope="module")
def embedded(bundle: Bundle) -> Iterator[EmbeddedEngine]:
    """The embedded engine on it."""
    engine = EmbeddedEngine(bundle, EvaluationLimits(seconds=10.0))
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def opa(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpaServerEngine]:
    """An OPA server that it was put on."""
    with OpaProgram(tmp_path_factory.mktemp("opa")) as server:
        engine = OpaServerEngine(bundle, OpaServer(server.url), EvaluationLimits(seconds=10.0))
        yield engine
        engine.close()


def ask(engine: Engine, name: str) -> PolicyAnswer:
    """Ask about a Pod that names a call; what it may not do is in its shape."""
    return asyncio.run(engine.ask(b'{"containers":[],"odd":null,"os":"%b"}' % name.encode()))


@pytest.mark.parametrize("name", [*SUPPLIED, *COMPILED])
def test_what_fails_ends_in_an_error(
    embedded: EmbeddedEngine, opa: OpaServerEngine, name: str
) -> None:
    """In both engines, of the evaluation; and what names no call is evaluated."""
    with pytest.raises(EvaluationError, match=re.escape(f"{name}: ")):
        ask(embedded, name)
    with pytest.raises(EvaluationError, match=r"rego/site/x\.rego:\d+: ") as wrong:
        ask(opa, name)
    assert not isinstance(wrong.value, EngineAwayError)
    ask(embedded, "none")
    ask(opa, "none")


@pytest.mark.parametrize("name", WITHOUT_ERROR)
def test_what_does_not_fail_is_answered(
    embedded: EmbeddedEngine, opa: OpaServerEngine, name: str
) -> None:
    """The same in both engines."""
    answers = [ask(engine, name) for engine in (embedded, opa)]
    assert answers[0] == answers[1]
    found = any(need.privilege == "site/found" for need in answers[0].needs)
    assert found is ("of nothing" not in name or name.startswith("replace"))
