"""A site's own rules deny and warn: of Pods, of templates, of kinds that carry no privileges."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from core.decision.decision import Action, Decision, Verdict
from core.decision.request import Kind, Operation, Phase, Request
from policies import BUILT_IN_REGO
from policies.build.builder import build
from policies.bundle.format import Bundle, read_bundle
from policies.engine.cache import RememberingEngine
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from policies.engine.interface import A_POD, Judgement, PolicyAnswer, ShownFields
from policies.site.choices import read_choices
from tests.tools.provide import provide
from tests.unit.admission.approvals.test_break_glass import consent, sealed
from tests.unit.admission.approvals.test_exceptions import ANN, BEN, approved, written
from tests.unit.admission.approvals.test_exceptions import decide as decide_at
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.sandbox.sandbox_cluster import namespace, runtime_class
from tests.unit.admission.world import ALICE, BOB, Folder, decide, judge_of, pod, request, update

_HEAD = """# METADATA
# scope: package
# title: A rule
# description: Of a site.
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: has no label {value}
#   remedy: Add the label.
"""

_LABELS = (
    _HEAD
    + """#   kinds: [Pod, Service, networking.k8s.io/Ingress]
#   fields: [metadata.labels, spec.type]
#   parameters:
#     labels: {type: array, items: {type: string}}
package sallyport.rules.acme.labels

import data.sallyport.parameters.acme.labels as wanted

deny contains {"path": "metadata.labels", "value": label} if {
	some label in wanted.labels
	not input.fields.metadata.labels[label]
}

warn contains {"path": "spec.type", "value": "x", "message": "is open to the outside"} if {
	input.fields.spec.type == "LoadBalancer"
}
"""
)

_SHOWN = (
    _HEAD
    + """#   fields: ["spec.containers[]", metadata.annotations]
package sallyport.rules.acme.shown

deny contains {"path": "metadata", "value": "x", "message": substring(shown, n * 400, 400)} if {
	input.fields.metadata.annotations["example.com/show"]
	shown := json.marshal(input.fields)
	some n in numbers.range(0, floor(count(shown) / 400))
}
"""
)

_ENDLESS = (
    _HEAD
    + """#   fields: [metadata.annotations]
package sallyport.rules.acme.endless

deny contains {"path": "", "value": "x"} if {
	input.fields.metadata.annotations["example.com/endless"]
	some x in numbers.range(1, 20000)
	some y in numbers.range(1, 20000)
	x * y == -1
}
"""
)

_CHOICES = """
rules:
  acme/labels:
    namespaces: [train, team-*]
    excludedNamespaces: [team-free]
    parameters: {labels: [team]}
  acme/shown: {action: warn}
"""


def make_bundle_of_rules(folder: Path) -> Path:
    """Build the bundle of the rules above in a folder."""
    rego = folder / "acme"
    rego.mkdir()
    for name, text in {"labels": _LABELS, "shown": _SHOWN, "endless": _ENDLESS}.items():
        (rego / f"{name}.rego").write_text(text)
    (folder / "rules.yaml").write_text(_CHOICES)
    bundle = folder / "b.tar.gz"
    choices = read_choices(folder / "rules.yaml")
    build(provide("opa"), BUILT_IN_REGO, bundle, [rego], choices)
    return bundle


SERVICE = Kind("Service", "v1")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """The built-in policies, and the rules of `site_rules`."""
    return read_bundle(make_bundle_of_rules(tmp_path_factory.mktemp("site")))


@pytest.fixture(scope="module")
def site(bundle: Bundle) -> Iterator[EmbeddedEngine]:
    """An engine with it."""
    engine = EmbeddedEngine(bundle, EvaluationLimits(seconds=1.0))
    yield engine
    engine.close()


def labelled(made: dict[str, Any] | None = None, **labels: str) -> dict[str, Any]:
    """Return an object, or a Pod, with labels."""
    made = msgspec.json.decode(msgspec.json.encode(made or pod()))
    made["metadata"]["labels"] = labels
    return made


def service(**spec: Any) -> dict[str, Any]:
    """Return a Service without labels."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "train"},
        "spec": spec,
    }


def said(decision: Decision) -> list[tuple[str, str, str]]:
    """Return rule, path and message of each finding."""
    return [(each.rule, each.path, each.message) for each in decision.findings]


MISSING = ("rules/acme/labels", "metadata.labels", "has no label team")


@pytest.fixture
def train(folder: Folder) -> Watched:
    """A cluster with the namespace train."""
    return Watched(folder.namespace("train", mode="enforce").cluster())


async def test_a_pod_is_refused_with_field_and_fix(site: EmbeddedEngine, train: Watched) -> None:
    """And admitted once it is as the rule wants it."""
    decision = await decide(train, site, request(pod()))
    assert (decision.verdict, said(decision)) == (Verdict.DENY, [MISSING])
    assert decision.findings[0].remedy == "Add the label."
    first = decision.message.splitlines()[0]
    assert first == "Pod train/llama-0: A rule of this cluster denies it."
    assert (await decide(train, site, request(labelled(team="x")))).verdict is Verdict.ALLOW


async def test_a_template_is_refused_where_it_lies(site: EmbeddedEngine, train: Watched) -> None:
    """The author of a workload is told, at the field that they wrote."""
    made = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "train", "labels": {"team": "x"}},
        "spec": {"template": {"metadata": {}, "spec": pod()["spec"]}},
    }
    decision = await decide(train, site, request(made, kind=Kind("Deployment", "v1", "apps")))
    assert said(decision) == [
        ("rules/acme/labels", "spec.template.metadata.labels", "has no label team")
    ]


@pytest.mark.parametrize(
    ("namespace", "refused"), [("team-a", True), ("team-free", False), ("other", False)]
)
async def test_it_holds_where_the_site_says(
    site: EmbeddedEngine, folder: Folder, namespace: str, *, refused: bool
) -> None:
    """Patterns of namespaces, and exclusions."""
    cluster = folder.namespace(namespace, mode="enforce").cluster()
    decision = await decide(cluster, site, request(pod(), namespace=namespace))
    assert (decision.verdict is Verdict.DENY) is refused


async def test_a_namespace_that_only_warns_is_warned(site: EmbeddedEngine, folder: Folder) -> None:
    """Its mode softens a site's rules as it does the built-in ones."""
    cluster = folder.namespace("train", mode="warn").cluster()
    decision = await decide(cluster, site, request(pod()))
    assert (decision.verdict, decision.allowed, decision.if_enforced) == (
        Verdict.WARN,
        True,
        "refused",
    )


async def test_a_kind_without_privileges_needs_no_profile(
    site: EmbeddedEngine, train: Watched
) -> None:
    """Bob may use no profile: a Service is refused for its label alone, and warned of its type."""
    opened = service(type="LoadBalancer")
    decision = await decide(train, site, request(opened, BOB, kind=SERVICE, name="web"))
    assert said(decision) == [
        MISSING,
        ("rules/acme/labels", "spec.type", "is open to the outside"),
    ]
    assert [each.action for each in decision.findings] == [Action.DENY, Action.WARN]
    decision = await decide(train, site, request(labelled(opened, team="x"), BOB, kind=SERVICE))
    assert (decision.verdict, decision.allowed) == (Verdict.WARN, True)
    assert any("is open to the outside" in line for line in decision.warnings)
    fine = labelled(service(), team="x")
    assert (await decide(train, site, request(fine, BOB, kind=SERVICE))).verdict is Verdict.ALLOW


async def test_updates_are_judged_where_they_change_what_is_read(
    site: EmbeddedEngine, train: Watched
) -> None:
    """A label that is taken away is missed; what was there before the rule is left alone."""
    for kind, old in ((Kind("Pod", "v1"), pod()), (SERVICE, service())):
        with_label = labelled(old, team="x")
        noted = labelled(old)
        noted["metadata"]["annotations"] = {"example.com/x": "y"}
        taken = await decide(train, site, update(old, with_label, kind=kind))
        assert (kind.kind, said(taken)) == (kind.kind, [MISSING])
        if kind is SERVICE:
            kept = await decide(train, site, update(noted, labelled(old), kind=kind))
            assert kept.verdict is Verdict.ALLOW
    deleted = request(None, old=service(), operation=Operation.DELETE, kind=SERVICE)
    assert (await decide(train, site, deleted)).verdict is Verdict.ALLOW


async def test_the_mutating_pass_does_not_ask(site: EmbeddedEngine, train: Watched) -> None:
    """Another webhook may still set what is missing: the final state counts."""
    decision = await judge_of(train, site).mutate(request(pod()), budget=10)
    assert (decision.allowed, said(decision)) == (True, [])
    asked = msgspec.structs.replace(request(pod()), phase=Phase.VALIDATING)
    assert (await decide(train, site, asked)).verdict is Verdict.DENY


async def test_rules_are_never_shown_secrets(site: EmbeddedEngine, train: Watched) -> None:
    """Whatever they declare; a rule that only warns admits."""
    made = labelled(team="x")
    made["metadata"]["annotations"] = {
        "example.com/show": "yes",
        "kubectl.kubernetes.io/last-applied-configuration": "secret-1",
        "batch.kubernetes.io/job-completion-index": "7",
    }
    made["spec"]["containers"][0] |= {
        "env": [{"name": "TOKEN", "value": "secret-2"}],
        "command": ["secret-3"],
        "args": ["secret-4"],
        "livenessProbe": {
            "httpGet": {"port": 1, "httpHeaders": [{"name": "A", "value": "secret-5"}]},
            "exec": {"command": ["secret-6"]},
        },
    }
    decision = await decide(train, site, request(made))
    assert decision.verdict is Verdict.WARN
    shown = "".join(each for _, _, each in said(decision))
    assert "TOKEN" in shown
    assert "secret" not in shown
    assert "job-completion-index" not in shown


async def test_a_rule_that_does_not_end_is_an_error(site: EmbeddedEngine, train: Watched) -> None:
    """No denial, and nothing is admitted; the next Pod is judged as before."""
    made = labelled(team="x")
    made["metadata"]["annotations"] = {"example.com/endless": "yes"}
    decision = await decide(train, site, request(made))
    assert (decision.verdict, decision.allowed) == (Verdict.ERROR, False)
    assert decision.reason.startswith("the policies could not be evaluated: ")
    assert (await decide(train, site, request(labelled(team="x")))).verdict is Verdict.ALLOW


async def test_an_exception_names_the_rule(site: EmbeddedEngine, folder: Folder) -> None:
    """Approved by two it excuses, and the decision says by which; without approvals it does not."""
    folder.namespace("train", mode="enforce")
    for who in (ANN, BEN):
        folder.grant(f"User:{who.username}", "exceptions", verb="approve", resource="approvaltiers")
    item = written(excuses=[{"rule": "rules/acme/labels", "value": "team"}])
    folder.documents.append(item)
    decision = await decide_at(Watched(folder.cluster()), site, pod())
    assert decision.verdict is Verdict.DENY
    assert "PolicyException net names it, but is not in force" in decision.message
    folder.documents += [approved(item, ANN), approved(item, BEN)]
    decision = await decide_at(Watched(folder.cluster()), site, pod())
    assert (decision.verdict, decision.evidence.exceptions) == (Verdict.ALLOW, ("net@uid-1",))


async def test_break_glass_relaxes_it(site: EmbeddedEngine, folder: Folder) -> None:
    """Of a Pod as of a Service; loudly."""
    folder.namespace("train", mode="enforce")
    for who in (ANN, BEN):
        folder.grant(
            f"User:{who.username}", "break-glass", verb="approve", resource="approvaltiers"
        )
    item = sealed(rules=["rules/acme/labels"])
    folder.documents += [item, consent(item, ANN), consent(item, BEN)]
    cluster = Watched(folder.cluster())
    decision = await decide_at(cluster, site, pod())
    assert (decision.verdict, decision.allowed) == (Verdict.WARN, True)
    assert decision.evidence.break_glass == ("fire@uid-1",)


class Counting(EmbeddedEngine):
    """Counts evaluations of `judge`."""

    judged = 0

    async def judge(
        self, projection: bytes, answer: PolicyAnswer, context: bytes, shown: ShownFields = A_POD
    ) -> Judgement:
        """Judge, and count."""
        self.judged += 1
        return await super().judge(projection, answer, context, shown)


async def test_a_gang_is_judged_once(bundle: Bundle, train: Watched) -> None:
    """What controllers number Pods by is not shown: the sixth is answered as the first."""
    counting = Counting(bundle)
    engine = RememberingEngine(counting)
    try:
        for number in range(6):
            numbered = {"batch.kubernetes.io/job-completion-index": str(number)}
            made = labelled(None, team="x", **numbered)
            asked: Request = request(made, ALICE, name=f"llama-{number}")
            assert (await decide(train, engine, asked)).verdict is Verdict.ALLOW
    finally:
        engine.close()
    assert counting.judged == 1


async def test_rules_and_risk_share_one_judgement(bundle: Bundle, folder: Folder) -> None:
    """Where a Pod is weighed too, and nothing is remembered."""
    asking = namespace(runtime_class(folder), "by-risk")
    counting = Counting(bundle)
    engine = RememberingEngine(counting, most_entries=0)
    try:
        decision = await decide(Watched(asking.cluster()), engine, request(labelled(team="x")))
    finally:
        engine.close()
    assert decision.sandbox is not None
    assert counting.judged == 1
