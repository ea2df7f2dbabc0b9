"""What a refused person reads: all findings at once, how to mend each, and whom to ask."""

import copy
from typing import Any

import pytest

from core.decision.decision import Action, Decision, Finding, Verdict
from core.people.subject import service_account_subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import (
    ADMIN,
    ALICE,
    ID,
    Folder,
    decide,
    pod,
    request,
    rules,
    without_evidence,
)

JOBS = service_account_subject("kube-system", "job-controller")


async def test_refusal_is_whole(engine: EmbeddedEngine, folder: Folder) -> None:
    """The whole decision: each finding with rule, path, words, remedy, privilege, who covers it."""
    folder.profile("ipc", 150, "capability/IPC_LOCK", includes="pss-restricted")
    folder.profile("net", 160, "host/network").grant("Group:researchers", "ipc")
    cluster = folder.cluster()
    made = pod(hostNetwork=True, hostPID=True, add=["IPC_LOCK"])
    decision = await decide(cluster, engine, request(made))
    network, processes = (
        engine.rules["privileges/host/network"],
        engine.rules["privileges/host/pid"],
    )
    assert without_evidence(decision) == Decision(
        id=ID,
        verdict=Verdict.DENY,
        allowed=False,
        message=(
            "Pod train/llama-0: It needs 2 privileges that you may not have here.\n\n"
            f"1. spec.hostNetwork: {network.message}\n"
            f"   Fix: {network.remedy}\n"
            "   (rule privileges/host/network; privilege host/network, "
            "covered by net or pss-privileged)\n"
            f"2. spec.hostPID: {processes.message}\n"
            f"   Fix: {processes.remedy}\n"
            "   (rule privileges/host/pid; privilege host/pid, covered by pss-privileged)\n\n"
            "The profile ipc covers the rest.\n"
            "Or ask for the right to use pss-privileged.\n"
            f"Decision {ID}"
        ),
        findings=[
            Finding(
                "privileges/host/network",
                Action.DENY,
                "spec.hostNetwork",
                network.message,
                network.remedy,
                "host/network",
                None,
                ["net", "pss-privileged"],
            ),
            Finding(
                "privileges/host/pid",
                Action.DENY,
                "spec.hostPID",
                processes.message,
                processes.remedy,
                "host/pid",
                None,
                ["pss-privileged"],
            ),
        ],
        policy_revision=engine.revision,
        profiles_revision=cluster.profiles().revision,
        subjects=[ALICE.label],
    )


@pytest.mark.parametrize(
    ("granted", "uncovered"),
    [
        (["pss-restricted"], ["capability/IPC_LOCK", "host/network", "host/pid"]),
        (["pss-restricted", "one"], ["host/network", "host/pid"]),
        (["pss-restricted", "two-late", "one"], ["host/pid"]),
        (["two-late", "two-early"], ["host/network"]),
        ([], ["capability/IPC_LOCK", "host/network", "host/pid"]),
    ],
)
async def test_findings_are_what_the_nearest_usable_profile_lacks(
    engine: EmbeddedEngine, folder: Folder, granted: list[str], uncovered: list[str]
) -> None:
    """The fewest gaps first, then rank: nobody is told to mend what they may already have."""
    folder.documents.clear()
    folder.profile("one", 20, "capability/IPC_LOCK")
    folder.profile("two-late", 40, "capability/IPC_LOCK", "host/network")
    folder.profile("two-early", 30, "capability/IPC_LOCK", "host/pid")
    if granted:
        folder.grant("Group:researchers", *granted)
    made = pod(hostNetwork=True, hostPID=True, add=["IPC_LOCK"])
    decision = await decide(folder.cluster(), engine, request(made))
    assert sorted(str(finding.privilege) for finding in decision.findings) == uncovered


async def test_without_any_profile_the_closest_is_named(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Who may use nothing is told what comes nearest, and what it lacks."""
    folder.documents.clear()
    folder.profile("near", 20, "host/network")
    made = pod(hostNetwork=True, hostPID=True)
    message = (await decide(folder.cluster(), engine, request(made))).message
    assert "\nOr ask for the right to use pss-privileged.\n" in message
    assert "\nThe closest profile, near, lacks host/pid.\n" in message


async def test_pod_that_needs_nothing_still_needs_a_profile(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Where even pss-restricted was taken away, that is what is said."""
    folder.documents.clear()
    decision = await decide(folder.cluster(), engine, request(pod()))
    assert decision.verdict is Verdict.DENY
    assert decision.findings == [
        Finding(
            "profiles/none",
            Action.DENY,
            "",
            "needs no privilege, but you may use no profile at all",
            "Ask for the right to use one in namespace train.",
        )
    ]
    first, *rest = decision.message.splitlines()
    assert first == "Pod train/llama-0: You may use no profile here."
    assert "Or ask for the right to use pss-restricted, pss-baseline or pss-privileged." in rest


async def test_service_account_is_named_where_its_right_is_missing(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A controller's Pod: the account that needs the right; with a person: both."""
    folder.documents.clear()
    made = pod(owner=("batch/v1", "Job"), hostNetwork=True, serviceAccountName="trainer")
    cluster = folder.cluster()
    by_controller = await decide(cluster, engine, request(made, JOBS))
    assert "no profile that service account train:trainer may use covers" in by_controller.message
    by_person = await decide(cluster, engine, request(made, ALICE))
    assert (
        "no profile that you and service account train:trainer both may use covers"
        in by_person.message
    )


async def test_same_finding_of_many_containers_is_said_once(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """One entry with all places; the decision has one finding for each."""
    made = pod()
    container = made["spec"]["containers"][0]
    del container["securityContext"]["allowPrivilegeEscalation"]
    made["spec"]["containers"] = [container | {"name": f"c{number}"} for number in range(9)]
    decision = await decide(folder.cluster(), engine, request(made))
    path = "spec.containers[{}].securityContext.allowPrivilegeEscalation"
    assert [(finding.path, finding.container) for finding in decision.findings] == [
        (path.format(number), f"c{number}") for number in range(9)
    ]
    others = ", ".join(path.format(number) for number in range(1, 6))
    assert f"   also at: {others} and 3 more\n" in decision.message
    assert decision.message.count("Fix: ") == 1


async def test_findings_are_ordered_by_path(engine: EmbeddedEngine, folder: Folder) -> None:
    """The same Pod gives the same message each time, in the order of its fields."""
    made = pod(hostIPC=True, hostNetwork=True, hostPID=True, add=["SYS_ADMIN", "NET_RAW"])
    first = await decide(folder.cluster(), engine, request(made))
    again = await decide(folder.cluster(), engine, request(copy.deepcopy(made)))
    assert without_evidence(first) == without_evidence(again)
    assert rules(first) == [
        ("privileges/capability/add", "capability/SYS_ADMIN"),
        ("privileges/capability/add", "capability/NET_RAW"),
        ("privileges/host/ipc", "host/ipc"),
        ("privileges/host/network", "host/network"),
        ("privileges/host/pid", "host/pid"),
    ]


async def test_long_refusal_shows_some_and_says_how_to_see_all(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """40 entries are shown; past 200 findings one stands for the rest."""
    made = pod(add=[f"CAP{number}" for number in range(250)])
    decision = await decide(folder.cluster(), engine, request(made))
    assert "\n40. " in decision.message
    assert "\n41. " not in decision.message
    assert "… and 161 more: sallyport review -o json FILE shows all." in decision.message
    assert len(decision.findings) == 201
    last = decision.findings[-1]
    assert (last.rule, last.action, last.message) == (
        "profiles/more",
        Action.DENY,
        "needs privileges at 50 more places",
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("SYS_ADMIN", "SYS_ADMIN"),
        ("A/B", "A/B"),
        ("a\nDecision forged", "a\\x0aDecision forged"),
        ("\x1b[31m", "\\x1b[31m"),
        ("x" * 200, "x" * 79 + "…"),
    ],
)
async def test_values_are_shown_as_written_and_harmless(
    engine: EmbeddedEngine, folder: Folder, value: str, shown: str
) -> None:
    """Decoded for people, without control characters, never longer than a line."""
    decision = await decide(folder.cluster(), engine, request(pod(add=[value])))
    (finding,) = decision.findings
    expected = engine.rules["privileges/capability/add"].message.replace("{value}", shown)
    assert finding.message == expected


LONG = "n" * 253
CASES: dict[str, dict[str, Any]] = {
    "needs": {"hostNetwork": True},
    "many": {"hostNetwork": True, "hostPID": True, "add": ["A" * 300]},
    "no such profile": {"annotations": {"sallyport.dev/profile": "gone" * 100}},
    "odd profile": {"annotations": {"sallyport.dev/profile": "a\nb\r\u2028c"}},
    "not covering": {"annotations": {"sallyport.dev/profile": "pss-restricted"}, "hostPID": True},
    "not usable": {"annotations": {"sallyport.dev/profile": "p" * 200}},
}


@pytest.mark.parametrize("name", ["llama-0", LONG, ""])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("subject", [ALICE, JOBS])
async def test_first_line_is_short_and_the_last_is_the_decision(
    engine: EmbeddedEngine, folder: Folder, name: str, case: str, subject: Any
) -> None:
    """Under 120 characters, with the object's name, whatever the names are; then the id."""
    folder.profile("p" * 200, 10, "host/network")
    made = pod(**CASES[case])
    asked = request(made, subject, name=name, namespace="n" * 63)
    decision = await decide(folder.cluster(), engine, asked)
    assert decision.verdict is Verdict.DENY
    first, second, *_, last = decision.message.splitlines()
    assert len(first) < 120
    assert first.startswith(f"Pod {'n' * 63}/")
    assert (second, last) == ("", f"Decision {ID}")


async def test_admin_without_a_ceiling_is_refused_nothing(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The tests above are not vacuous: the same Pod passes for who may use everything."""
    made = pod(hostNetwork=True, hostPID=True, add=["IPC_LOCK"])
    decision = await decide(folder.cluster(), engine, request(made, ADMIN))
    assert (decision.verdict, decision.profile) == (Verdict.ALLOW, "pss-privileged")


async def test_what_the_closest_profile_lacks_is_in_order(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The same Pod is refused in the same words each time: a set has no order of its own."""
    folder.documents.clear()
    made = pod(hostNetwork=True, hostPID=True, hostIPC=True)
    message = (await decide(folder.cluster(), engine, request(made))).message
    assert "pss-restricted, lacks host/ipc, host/network or host/pid.\n" in message
