"""Which bundles the embedded engine refuses to put in force, and with what words."""

import asyncio
import shutil
from pathlib import Path

import pytest

from core.base.errors import BundleRefusedError, SallyportError
from core.decision.decision import Need
from policies import BUILT_IN_REGO
from policies.builtins.denylist import hint
from policies.bundle.format import Bundle, read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.policies.bundles import make_bundle, rule, write_rego

NOTHING = """package sallyport.needs

# METADATA
# entrypoint: true
answer := {"containers": 1, "needs": {}, "denials": {}, "signals": {}, "features": []}
"""
UNJUDGED = """package sallyport.judge

# METADATA
# entrypoint: true
answer := {"absent": 3, "signals": {}}
"""
PRIVILEGED = b"""{"automount": false, "hostUsers": false, "containers": [{
    "path": "spec.containers[0]", "name": "c", "imageFrom": "r.example/a", "pinned": true,
    "securityContext": {"privileged": true, "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": true, "readOnlyRootFilesystem": true,
    "seccompProfile": {"type": "RuntimeDefault"}}}]}"""


def load(bundle: Path) -> None:
    """Load a bundle; it is let go at once if that succeeds."""
    EmbeddedEngine(read_bundle(bundle)).close()


def test_built_in_bundle_is_loaded(built: Path) -> None:
    """The engine has the revision and the rules of the bundle it was made with."""
    bundle = read_bundle(built)
    engine = EmbeddedEngine(bundle)
    assert (engine.revision, engine.rules) == (bundle.revision, bundle.rules)
    engine.close()


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("http.send", 'http.send({"method": "get", "url": "https://x"}).status_code == 200'),
        ("time.now_ns", "time.now_ns() > 0"),
        ("yaml.unmarshal", 'yaml.unmarshal("a") == "a"'),
        ("opa.runtime", 'opa.runtime().env.HOME == "/root"'),
        ("rand.intn", 'rand.intn("x", 10) == 1'),
        ("net.lookup_ip_addr", 'count(net.lookup_ip_addr("x")) > 0'),
        ("uuid.rfc4122", 'uuid.rfc4122("x") != ""'),
    ],
)
def test_built_in_functions_that_reach_outside_are_refused(
    tmp_path: Path, name: str, call: str
) -> None:
    """Clock, network, chance and whatever is not supplied: by name, file and line."""
    bundle = make_bundle(tmp_path, {"site/x.rego": f"# On {name}(\n{rule(call)}"})
    with pytest.raises(BundleRefusedError) as refused:
        load(bundle)
    assert str(refused.value) == (
        "the bundle calls what policies may not call here: "
        f"{name} (rego/site/x.rego:6{hint(name)}). "
        "See docs/reference/builtins.md for what they may"
    )


def test_every_forbidden_call_is_named(tmp_path: Path) -> None:
    """All at once, so that nobody mends one after the other."""
    site = {"a.rego": rule("time.now_ns() > 0"), "b.rego": rule('rand.intn("x", 1) == 0')}
    with pytest.raises(
        BundleRefusedError,
        match=r"rand\.intn \(rego/b\.rego:5; .*\); time\.now_ns \(rego/a\.rego:5; .*\)\.",
    ):
        load(make_bundle(tmp_path, site))


def test_what_is_supplied_may_be_called(tmp_path: Path) -> None:
    """The test above is not vacuous: a supplied function, and those compiled in, are fine."""
    site = {"x.rego": rule('urlquery.encode(sprintf("%v", [input.os])) != "x"')}
    load(make_bundle(tmp_path, site))


@pytest.mark.parametrize("name", ["sallyport/needs/answer", "sallyport/judge/answer"])
def test_bundle_without_an_entry_point_is_refused(built: Path, name: str) -> None:
    """A policy that is compiled for another entry point cannot be asked."""
    bundle = read_bundle(built)
    wasm = bundle.wasm.replace(name.encode(), f"{name[:-1]}_".encode())
    assert wasm != bundle.wasm
    with pytest.raises(BundleRefusedError) as refused:
        EmbeddedEngine(Bundle(wasm, bundle.rules, bundle.sources, bundle.revision))
    assert str(refused.value) == f"the bundle has no entry point {name}"


def test_bundle_without_the_built_in_rules_is_refused(tmp_path: Path) -> None:
    """Policies that find nothing in a privileged container would let everything in."""
    base = write_rego(tmp_path / "base", {"needs.rego": NOTHING, "judge.rego": UNJUDGED})
    with pytest.raises(BundleRefusedError) as refused:
        load(make_bundle(tmp_path, base=base))
    assert str(refused.value) == (
        "the bundle finds nothing wrong with a privileged container: "
        "the built-in rules are missing from it or do not work"
    )


def test_bundle_that_judges_nothing_is_refused(tmp_path: Path) -> None:
    """Policies that find no signal where somebody enters a Pod would isolate too little."""
    base = shutil.copytree(BUILT_IN_REGO, tmp_path / "base")
    (base / "judge.rego").write_text(UNJUDGED)
    with pytest.raises(BundleRefusedError) as refused:
        load(make_bundle(tmp_path, base=base))
    assert str(refused.value) == (
        "the bundle finds no signal where somebody enters a Pod: "
        "the built-in rules are missing from it or do not work"
    )


@pytest.mark.parametrize(
    ("site", "message"),
    [
        ("package sallyport.needs\n\nresult := {}\n", "x.rego:3:1: var assignment conflict"),
        (
            "package sallyport.privileges.container.privileged\n\nneeds contains 1\n",
            "sallyport/needs/answer does not have",
        ),
    ],
)
def test_site_that_breaks_the_answer_to_every_pod_is_refused(
    tmp_path: Path, site: str, message: str
) -> None:
    """What always fails fails at load, before the bundle is in force."""
    bundle = make_bundle(tmp_path, {"x.rego": site})
    with pytest.raises(SallyportError, match=message):
        load(bundle)


@pytest.mark.parametrize("wasm", [b"", b"\0asm", b"\0asm\1\0\0\0", b"x" * 1000])
def test_wasm_that_is_none_is_refused(built: Path, wasm: bytes) -> None:
    """Broken code does not get as far as being run."""
    bundle = read_bundle(built)
    with pytest.raises(BundleRefusedError, match=r"policy\.wasm cannot be loaded: "):
        EmbeddedEngine(Bundle(wasm, bundle.rules, {}, ""))


def test_refused_bundle_leaves_the_engine_in_force(
    builtin_engine: EmbeddedEngine, tmp_path: Path
) -> None:
    """An engine that runs goes on answering when another's bundle is refused."""
    expected = [
        Need(
            "privileges/image/registry", "image/from/r.example/a", "spec.containers[0].image", "c"
        ),
        Need(
            "privileges/container/privilege_escalation",
            "container/privilege-escalation",
            "spec.containers[0].securityContext.allowPrivilegeEscalation",
            "c",
        ),
        Need(
            "privileges/container/privileged",
            "container/privileged",
            "spec.containers[0].securityContext.privileged",
            "c",
        ),
    ]
    assert list(asyncio.run(builtin_engine.ask(PRIVILEGED)).needs) == expected
    with pytest.raises(BundleRefusedError):
        load(make_bundle(tmp_path, {"x.rego": rule("time.now_ns() > 0")}))
    assert list(asyncio.run(builtin_engine.ask(PRIVILEGED)).needs) == expected
