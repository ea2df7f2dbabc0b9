"""A bundle is tried out before it may be put in force, and refused with a clear reason."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from core.base.errors import BundleRefusedError, EngineAwayError, EvaluationError
from core.base.safe_text import LONGEST_PROBLEM
from policies.bundle.format import Bundle, BundleCase, Rule, read_bundle
from policies.clients.opa_server.engine import OpaServerEngine
from policies.engine.cache import CachedSample, RememberingEngine
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from policies.engine.interface import PolicyAnswer, ShownFields
from policies.engine.opa_endpoint import OpaServer
from policies.projection.model import Container, Context, Projection, encode, encode_context
from policies.trial.evaluation import TrialResult, try_out
from tests.unit.policies.bundles import make_bundle, rule

LIMITS = EvaluationLimits(seconds=0.3, memory_bytes=16 * 1024 * 1024)
TRIGGER = msgspec.json.encode(
    {
        "os": "trigger",
        "containers": [{"path": "spec.containers[0]", "name": "c"}],
        "volumes": [{"path": f"spec.volumes[{n}]", "name": f"v{n}"} for n in range(80)],
    }
)
HARMLESS = encode(Projection(containers=[Container("spec.containers[0]", "c", "container")]))
CREATE = encode_context(Context("CREATE"))

SLOW = """some a in input.volumes
	some b in input.volumes
	some c in input.volumes
	some d in input.volumes
	a == b
	b == c
	c == d
	a != d"""
ENDLESS = f"some y in input.volumes\n\tsome z in input.volumes\n\t{SLOW}\n\ty != z"
HUNGRY = 'count(numbers.range(1, 4000000)) > 1; startswith(input.os, "t")'


def make(bundle: Bundle) -> RememberingEngine:
    """Load a bundle as a gate does."""
    return RememberingEngine(EmbeddedEngine(bundle, LIMITS))


@pytest.fixture
def samples(built: Path) -> list[CachedSample]:
    """What was asked of the built-in policies a moment ago: two Pods and a request."""
    engine = make(read_bundle(built))
    try:
        return asyncio.run(asked(engine))
    finally:
        engine.close()


async def asked(engine: RememberingEngine) -> list[CachedSample]:
    """Ask about two Pods and a request; give what is remembered of that."""
    for projection in (HARMLESS, TRIGGER):
        answer = await engine.ask(projection)
        await engine.judge(projection, answer, CREATE, ShownFields())
    return engine.recent(200)


@pytest.fixture(scope="module")
def differing(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A bundle that finds one thing more in what was asked."""
    return read_bundle(make_bundle(tmp_path_factory.mktemp("b"), {"x.rego": rule("true")}))


@pytest.fixture
def tried(built: Path, samples: list[CachedSample], differing: Bundle) -> Iterator[TrialResult]:
    """It, tried out."""
    found = try_out(differing, make, samples, read_bundle(built))
    yield found
    found.engine.close()


def test_the_latest_inputs_are_the_samples(samples: list[CachedSample]) -> None:
    """Each once, the latest first, with what was said of them."""
    assert [each.projection for each in samples if isinstance(each.said, PolicyAnswer)] == [
        TRIGGER,
        HARMLESS,
    ]
    assert [each.context for each in samples if each.projection is None] == [CREATE]


def test_what_is_judged_otherwise_is_counted_and_no_fault(tried: TrialResult) -> None:
    """By the rules whose findings came or went."""
    assert (tried.compared, tried.differing) == (3, 1)
    assert tried.differing_rules == ("privileges/host/network",)


def test_what_was_tried_is_remembered(tried: TrialResult) -> None:
    """So that nothing is slow after the swap because all is new."""
    before = tried.engine.misses
    answer = asyncio.run(tried.engine.ask(TRIGGER))
    assert "site/found" in {need.privilege for need in answer.needs}
    assert tried.engine.misses == before


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        (ENDLESS, "exceeded its time limit of 0.3 s"),
        (SLOW, "exceeded its time limit of 0.3 s"),
        (HUNGRY, "exceeded its memory limit of 16 MiB"),
    ],
    ids=["endless", "slow", "hungry"],
)
def test_what_fails_on_what_was_asked_is_refused(
    condition: str, why: str, built: Path, samples: list[CachedSample], tmp_path: Path
) -> None:
    """Though it judges the Pod by which every bundle is proved at load."""
    bundle = read_bundle(make_bundle(tmp_path, {"x.rego": rule(condition)}))
    with pytest.raises(BundleRefusedError, match=rf"asked lately fails: .*{why}"):
        try_out(bundle, make, samples, read_bundle(built))


def test_a_call_of_the_network_is_refused_by_name_and_place(
    built: Path, samples: list[CachedSample], tmp_path: Path
) -> None:
    """Before anything is evaluated."""
    call = 'http.send({"method": "get", "url": "https://x.example"}).status_code == 200'
    bundle = read_bundle(make_bundle(tmp_path, {"x.rego": rule(call)}))
    with pytest.raises(BundleRefusedError, match=r"http\.send \(rego/x\.rego:\d+"):
        try_out(bundle, make, samples, read_bundle(built))


def with_rule(bundle: Bundle, added: Rule) -> Bundle:
    """Return a bundle whose manifest says that a rule is a site's."""
    rules = {**bundle.rules, added.id: added}
    return Bundle(bundle.wasm, rules, bundle.sources, bundle.revision)


def test_a_rule_in_a_built_in_ones_place_is_refused(built: Path) -> None:
    """A bundle need not come from the builder, which refuses it too."""
    bundle = read_bundle(built)
    own = msgspec.structs.replace(bundle.rules["privileges/host/network"], site=True)
    with pytest.raises(BundleRefusedError, match="replaces the built-in rule privileges/host"):
        try_out(with_rule(bundle, own), make, [], bundle)


@pytest.mark.parametrize(
    "package", ["sallyport.lib", "sallyport.needs", "sallyport.rules.runtime.annotations"]
)
def test_a_package_of_sallyports_own_is_refused_by_its_place(built: Path, package: str) -> None:
    """Whatever the manifest says of it."""
    bundle = read_bundle(built)
    sources = {**bundle.sources, "rego/site/acme/x.rego": f"# Mine.\npackage {package}\n"}
    odd = Bundle(bundle.wasm, bundle.rules, sources, bundle.revision)
    with pytest.raises(BundleRefusedError, match=r"rego/site/acme/x\.rego:2: package"):
        try_out(odd, make, [], bundle)


@pytest.mark.parametrize(
    "text",
    [
        " package sallyport.lib",
        "package sallyport.lib # x",
        'package sallyport.rules["pod"]',
        "package sallyport.rules",
        "package sallyport.rules.pod.x.y",
        "package acme.x",
        "allow := true",
    ],
)
def test_no_spelling_of_a_package_gets_around_it(built: Path, text: str) -> None:
    """What is not plainly a site's own is refused."""
    bundle = read_bundle(built)
    sources = {**bundle.sources, "rego/library/x.rego": f"{text}\n"}
    with pytest.raises(BundleRefusedError, match=r"rego/library/x\.rego:1: "):
        try_out(Bundle(bundle.wasm, bundle.rules, sources, ""), make, [], bundle)


def test_other_built_in_policies_are_told_of(built: Path) -> None:
    """Changed, left out or added; a bundle of another release has some too, so it is taken."""
    bundle = read_bundle(built)
    changed = {**bundle.sources, "rego/needs.rego": "package sallyport.needs\n", "rego/x.rego": ""}
    del changed["rego/judge.rego"]
    found = try_out(Bundle(bundle.wasm, bundle.rules, changed, ""), make, [], bundle)
    found.engine.close()
    assert found.foreign == ("rego/judge.rego", "rego/needs.rego", "rego/x.rego")
    same = try_out(bundle, make, [], bundle)
    same.engine.close()
    assert same.foreign == ()


@pytest.mark.parametrize(
    "package", ["site.lib", "sallyport.rules.acme.labels", "sallyport.sandbox.acme.x"]
)
def test_a_sites_packages_are_taken(built: Path, package: str) -> None:
    """Helpers, rules and signals."""
    bundle = read_bundle(built)
    sources = {**bundle.sources, "rego/site/acme/x.rego": f"package {package}\n"}
    found = try_out(Bundle(bundle.wasm, bundle.rules, sources, ""), make, [], bundle)
    found.engine.close()


def cases(*wanted: BundleCase) -> list[BundleCase]:
    """Return cases as a manifest holds them."""
    return msgspec.json.decode(msgspec.json.encode(list(wanted)), type=list[BundleCase])


HOST = msgspec.Raw(
    b'{"os": "trigger", "containers": [{"path": "spec.containers[0]", "name": "c"}]}'
)
CONTEXT = msgspec.Raw(CREATE)


def carrying(bundle: Bundle, *wanted: BundleCase) -> Bundle:
    """Return a bundle that carries cases."""
    found = cases(*wanted)
    return Bundle(bundle.wasm, bundle.rules, bundle.sources, bundle.revision, cases=found)


def test_the_cases_that_a_bundle_carries_are_run(built: Path, differing: Bundle) -> None:
    """One that holds is no fault; one that does not refuses the bundle, and says what it found."""
    built_in = read_bundle(built)
    answer = asyncio.run(_needs(differing))
    good = BundleCase("finds", HOST, needs=sorted(answer))
    try_out(carrying(differing, good), make, [], built_in).engine.close()
    bad = BundleCase("finds more", HOST, needs=[*answer, "host/network"])
    with pytest.raises(BundleRefusedError, match="own case 'finds more' fails: needs"):
        try_out(carrying(differing, good, bad), make, [], built_in)
    judged = BundleCase("denies", HOST, context=CONTEXT, denials=["rules/acme/x"])
    with pytest.raises(BundleRefusedError, match=r"'denies' fails: denials \[\], not \['rules/acm"):
        try_out(carrying(differing, judged), make, [], built_in)


def test_why_a_bundle_is_refused_is_short(built: Path, differing: Bundle) -> None:
    """However long what it says of itself is: it goes to logs and to people."""
    long = "a" * 3_000_000
    own = read_bundle(built)
    for case in (BundleCase("x", HOST, needs=[long]), BundleCase(long, HOST, needs=[])):
        with pytest.raises(BundleRefusedError, match="own case '") as refused:
            try_out(carrying(differing, case), make, [], own)
        assert len(str(refused.value)) == LONGEST_PROBLEM
    sources = {**own.sources, "rego/site/acme/x.rego": f"package {long}\n"}
    with pytest.raises(BundleRefusedError, match="the bundle's rego/site/acme/x") as refused:
        try_out(Bundle(own.wasm, own.rules, sources, ""), make, [], own)
    assert len(str(refused.value)) == LONGEST_PROBLEM


async def _needs(bundle: Bundle) -> set[str]:
    engine = make(bundle)
    try:
        return {need.privilege for need in (await engine.ask(msgspec.json.encode(HOST))).needs}
    finally:
        engine.close()


@pytest.mark.parametrize("asked", [False, True], ids=["nothing asked lately", "asked lately"])
def test_an_engine_that_is_away_says_nothing_of_the_bundle(built: Path, *, asked: bool) -> None:
    """It is neither loaded nor refused."""
    bundle = read_bundle(built)
    server = OpaServer("http://127.0.0.1:9")  # Where nothing listens.

    def away(of: Bundle) -> RememberingEngine:
        return RememberingEngine(OpaServerEngine(of, server, LIMITS))

    samples = [CachedSample(PolicyAnswer(()), HARMLESS)] if asked else []
    with pytest.raises(EngineAwayError):
        try_out(bundle, away, samples, bundle)


def test_an_engine_that_lacks_something_is_not_loaded(built: Path) -> None:
    """Though it answers; and where evaluating fails, the bundle is refused."""
    bundle = read_bundle(built)

    class Lacking(EmbeddedEngine):
        fails = False

        def missing(self) -> list[str]:
            return ["the policies are not there yet"]

        async def ask(self, projection: bytes) -> PolicyAnswer:
            if self.fails:
                raise EvaluationError("eval_conflict_error")
            return await super().ask(projection)

    def lacking(of: Bundle) -> RememberingEngine:
        return RememberingEngine(Lacking(of, LIMITS))

    with pytest.raises(EngineAwayError, match="not there yet"):
        try_out(bundle, lacking, [], bundle)
    Lacking.fails = True
    with pytest.raises(BundleRefusedError, match="privileged container fails: eval_conflict"):
        try_out(bundle, lacking, [], bundle)
