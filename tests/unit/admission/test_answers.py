"""What a caller who has not proved to be kube-apiserver learns from an answer: its own object."""

from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from admission.answers import FIXED, HIDDEN, publish_error, publish_outcomes, publish_remarks
from admission.model.facts import Facts
from admission.model.outcome import Outcome
from admission.profiles.check import NAMED_RULE
from core.base.errors import AccessReviewError, InvalidObjectError
from core.decision.decision import Action, Decision, Finding
from core.decision.request import Phase, Request
from core.decision.requester_view import OWN
from core.profiles.container_profiles import CATALOGUE, ProfileSet
from core.risk.model import Behaviour, RiskLevel
from docs.generate.rule_ids import find_rule_ids
from policies.bundle.format import Rule
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.objects.test_claims_by_others import host_path, mounting, volume
from tests.unit.admission.objects.test_entering_pods import shell
from tests.unit.admission.objects.test_rbac_changes import binding
from tests.unit.admission.risk import cluster_at_risk as at_risk
from tests.unit.admission.sandbox.sandbox_cluster import pod as sandboxed
from tests.unit.admission.weights import weights_cluster as weights
from tests.unit.admission.world import ID, Folder, judge_of, pod, request
from webhooks.review_encoder import encode_answer

MARK: Final = "sentinel-secret"
"""Stands in facts for what no answer may hold."""

RULES: Final = frozenset(find_rule_ids())
"""The rules of all findings that are made in Python: a new one is tested from its first day."""


def test_the_rules_of_the_code_are_found() -> None:
    """The list that the tests below go through holds what is known to be there."""
    assert {"weights/grant", "egress/opens", "identity/risk", "sandbox/runtime"} <= RULES
    assert {"notes/requester", "egress/no-set", "approvals/approver", "profiles/many"} <= RULES
    assert len(RULES) > 50


def test_it_is_decided_of_each_rule_what_is_told() -> None:
    """One that nobody thought about would say its id alone, also where the object says it all."""
    in_words_of_their_own = {NAMED_RULE, "profiles/elsewhere"} | {
        each for each in RULES if each.startswith("identity/")
    }
    assert OWN | FIXED.keys() | HIDDEN | in_words_of_their_own == RULES


def marked(rule: str, action: Action = Action.DENY) -> Outcome:
    """Return a check's outcome that says a secret wherever a finding can."""
    finding = Finding(rule, action, "spec", f"m {MARK}", f"r {MARK}", covered_by=[MARK])
    return Outcome((finding,), f"h {MARK}", (f"a {MARK}",), profile=MARK)


def told(outcome: Outcome, rules: dict[str, Rule] | None = None) -> str:
    """Return all that is said of an outcome, as JSON."""
    facts = Facts(ProfileSet("", ()), "", rules or {})
    return msgspec.json.encode(publish_outcomes([outcome], facts)).decode()


@pytest.mark.parametrize("rule", sorted(RULES - OWN))
def test_no_words_of_a_check_are_passed_on(rule: str) -> None:
    """A rule that is not listed as one about the object alone says its id and fixed words."""
    said = told(marked(rule))
    assert MARK not in said
    assert rule in said


def test_a_rule_that_nobody_listed_says_its_id_alone() -> None:
    """So a new check tells nothing before somebody has thought about it."""
    said = told(marked("novel/check"))
    assert MARK not in said
    assert "novel/check" in said


@pytest.mark.parametrize("rule", sorted(OWN))
def test_a_headline_and_advice_are_never_passed_on(rule: str) -> None:
    """Also of a rule about the object alone; those of namespaces and policies are fixed words."""
    outcome = msgspec.structs.replace(
        marked(rule), findings=(Finding(rule, Action.DENY, "spec", "m", "r"),)
    )
    if rule not in {"namespaces/exempt", "egress/uncompared"}:
        assert MARK not in told(outcome)


def test_a_site_rule_says_what_its_metadata_says() -> None:
    """Its own message may quote the risk, or whatever else it was shown."""
    rule = Rule("rules/acme/x", "has a team", "", MARK, "Add a team.", 1, site=True)
    said = told(marked(rule.id), {rule.id: rule})
    assert MARK not in said
    assert "has a team" in said
    assert "Add a team." in said


def test_a_warning_about_risk_is_not_told() -> None:
    """It would say who is at risk without stopping anybody, and warn a thief."""
    assert told(marked("identity/risk", Action.WARN)) == "[]"
    assert told(marked("identity/behaviour", Action.WARN)) == "[]"


def test_remarks_and_errors_are_fixed_words() -> None:
    """They name exceptions, who approved them, profiles that somebody was asked about."""
    assert MARK not in "".join(publish_remarks((MARK,)))
    assert MARK not in publish_error(AccessReviewError(MARK), request(pod()))
    assert MARK not in publish_error(InvalidObjectError("Role", MARK, MARK), request(pod()))
    own = InvalidObjectError("Pod", "spec.containers", "must be a list")
    assert publish_error(own, request(pod())) == str(own)


# Whole decisions, from worlds that hold secrets.


def stranger(asked: Request) -> Request:
    """Return a review by a caller that has shown nothing."""
    return msgspec.structs.replace(asked, authenticated=False, phase=Phase.VALIDATING)


def answer(asked: Request, decision: Decision) -> str:
    """Return the whole body that the caller reads."""
    return encode_answer(asked, decision, []).decode()


async def ask(folder: Folder, engine: EmbeddedEngine, asked: Request) -> tuple[str, Decision]:
    """Return the body and the decision that a stranger's review leads to."""
    asked = stranger(asked)
    decision = await judge_of(Watched(folder.cluster()), engine).validate(asked, budget=10)
    return answer(asked, decision), decision


async def test_a_refused_pod_reads_what_to_change(folder: Folder, engine: EmbeddedEngine) -> None:
    """Rule, path, privilege, remedy, covering profiles, id: all that is public, and no more."""
    folder.profile("ipc", 150, "capability/IPC_LOCK", includes="pss-restricted")
    folder.profile("net", 160, "host/network").grant("Group:researchers", "ipc")
    body, decision = await ask(folder, engine, request(pod(hostNetwork=True, add=["IPC_LOCK"])))
    rule = engine.rules["privileges/host/network"]
    assert decision.message == (
        "Pod train/llama-0: It needs 1 privilege that may not be used here.\n\n"
        f"1. spec.hostNetwork: {rule.message}\n"
        f"   Fix: {rule.remedy}\n"
        "   (rule privileges/host/network; privilege host/network, "
        "covered by net or pss-privileged)\n\n"
        "Or ask for the right to use pss-privileged.\n"
        f"Decision {ID}"
    )
    assert "ipc" not in body
    assert [each.privilege for each in decision.findings] == ["host/network"]


async def test_a_profile_that_was_chosen_is_not_told(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """An admission says neither in the message nor for the audit log which profile it was."""
    folder.profile(MARK, 1).grant("User:alice@example.com", MARK)
    body, decision = await ask(folder, engine, request(pod()))
    assert decision.profile == MARK
    assert MARK not in body


async def test_a_profile_of_an_older_catalogue_is_not_named(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """The warning says what is lacked, not which profile the requester may use."""
    folder.documents.clear()
    folder.profile(MARK, 1, catalogue=1).grant("User:alice@example.com", MARK)
    body, decision = await ask(folder, engine, request(pod(hostUsers=True)))
    assert decision.allowed
    assert decision.findings
    assert MARK not in body
    assert decision.warnings


async def test_a_role_keeps_its_content(tmp_path: Path, engine: EmbeddedEngine) -> None:
    """A binding is refused for what its role holds; the record alone says what that is."""
    folder = Folder(tmp_path / "c").profile("bare", 5, catalogue=CATALOGUE)
    folder.grant("User:alice@example.com", "bare").documents.append(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "held"},
            "rules": [
                {
                    "apiGroups": ["sallyport.dev"],
                    "resources": ["containerprofiles"],
                    "verbs": ["use"],
                    "resourceNames": [MARK],
                },
                {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
            ],
        }
    )
    body, decision = await ask(folder, engine, binding("held"))
    assert any(MARK in (each.privilege or "") for each in decision.findings)
    assert not decision.allowed
    assert MARK not in body
    assert "secrets" not in body
    assert "roleRef: gives rights that you may not give" in decision.message
    assert "profiles/elsewhere" in decision.message


async def test_a_pod_that_is_entered_keeps_its_content(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """Who may not enter it does not read what it has."""
    folder.documents.clear()
    held = pod(hostPID=True, image=f"registry.example/{MARK}")
    folder.add_pod(held).profile("visitor", 10, "exec/**", catalogue=CATALOGUE)
    folder.grant("User:alice@example.com", "visitor")
    body, decision = await ask(folder, engine, shell())
    assert {each.rule for each in decision.findings} & {"privileges/host/pid"}
    assert MARK not in body
    assert "host/pid" not in body
    assert "the Pod that it enters has what you may not have" in decision.message


async def test_entering_by_a_profile_of_an_older_catalogue_names_the_newer_one(
    tmp_path: Path, engine: EmbeddedEngine
) -> None:
    """What the Pod has is not told; the catalogue that the privileges are of is."""
    folder = Folder(tmp_path / "c").add_pod(pod(hostUsers=True, image=f"a.example/{MARK}"))
    folder.profile("visitor", 10, catalogue=1).grant("User:alice@example.com", "visitor")
    body, decision = await ask(folder, engine, shell())
    assert decision.allowed
    assert MARK not in body
    assert "of 0" not in " ".join(decision.warnings)
    assert "these privileges are of 3" in " ".join(decision.warnings)


async def test_a_volume_of_a_claim_keeps_its_path(tmp_path: Path, engine: EmbeddedEngine) -> None:
    """The claim is in the Pod; where its volume lies is not."""
    folder = Folder(tmp_path / "c").profile("bare", 5).grant("User:alice@example.com", "bare")
    folder.documents.append(volume("v", host_path(f"/srv/{MARK}"), "mine"))
    made = mounting({"persistentVolumeClaim": {"claimName": "mine"}})
    body, decision = await ask(folder, engine, request(made))
    assert any(MARK in (each.privilege or "") for each in decision.findings)
    assert MARK not in body
    assert "is a volume that you may not have" in decision.message


@pytest.mark.parametrize("level", list(RiskLevel))
async def test_the_level_of_a_risk_makes_no_difference(
    folder: Folder, engine: EmbeddedEngine, level: RiskLevel
) -> None:
    """A refusal for risk says the rule and where help is: no level, no time, no event, no row."""
    asked = stranger(request(sandboxed(), at_risk.CAROL))
    known = at_risk.snapshot(at_risk.CAROL, level=level, acting=Behaviour.DENIALS)
    decision = await at_risk.decide(at_risk.everyone(folder), engine, known, asked)
    body = answer(asked, decision)
    for word in ("level", at_risk.EVENT, "since", "row", "unusual", "denials", "mysignins"):
        assert word not in body, word
    if not decision.allowed:
        assert "identity/risk" in decision.message
        assert "security team" in decision.message
        assert f"Decision {ID}" in decision.message
    assert any(each.rule.startswith("identity/") for each in decision.findings)


async def test_a_grant_keeps_its_people(folder: Folder, engine: EmbeddedEngine) -> None:
    """Groups and people of grants, stores and client ids are told to who may read the record."""
    held = weights.grant(MARK, people=["user:0123456789abcdef"])
    known = weights.world(folder, *weights.approved(held))
    asked = stranger(request(weights.signing_in()))
    decision = await weights.decide(known.cluster(), engine, asked)
    body = answer(asked, decision)
    assert not decision.allowed
    assert MARK in msgspec.json.encode(decision.findings).decode()
    for word in (MARK, "0123456789abcdef", weights.CLIENT, weights.ENDPOINT, "llamaweights"):
        assert word not in body, word
    assert "no live AccessGrant covers that" in decision.message


async def test_a_known_caller_is_told_all(folder: Folder, engine: EmbeddedEngine) -> None:
    """kube-apiserver that showed its certificate passes on the words of before."""
    folder.profile("mine", 150).grant("User:alice@example.com", "mine")
    asked: Any = msgspec.structs.replace(
        request(pod(hostNetwork=True)), authenticated=True, phase=Phase.VALIDATING
    )
    decision = await judge_of(Watched(folder.cluster()), engine).validate(asked, budget=10)
    assert "that you may not have here" in decision.message
    assert "covers the rest" in decision.message
    assert decision.answered is None
