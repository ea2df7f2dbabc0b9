"""Whatever the gate admits the back-stop admits: asked of both in one request."""

import asyncio
from http import HTTPStatus
from itertools import islice
from typing import Any

import pytest

from tests.api.admission.objects import until_known
from tests.api.backstop.installed_backstop import GROUPS, changed, is_refusal
from tests.api.backstop.together.questions import (
    AGENT,
    EXCUSED,
    GLASS,
    LATE,
    LOW,
    PLAIN,
    SPACES,
    WATCHED,
    Tally,
    ask,
    asked,
)
from tests.api.people.break_glass.glass import ON_CALL, approve, new_name, opens, sealed
from tests.api.people.break_glass.glass import set_up as set_up_people
from tests.api.people.exceptions.exceptions import ANN, API, AUTHOR, BEN, approval, exception
from tests.harness.evidence import record
from tests.harness.programs.client import Client, Json, Outcome
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.approvals import seen
from tests.harness.worlds.pods import RESTRICTED
from tests.harness.worlds.rbac import binding, role, service_account, use_of, user

SEED = 11
AT_ONCE = 8
NETS: Json = {
    "apiVersion": "sallyport.dev/v1alpha1",
    "kind": "ContainerProfile",
    "metadata": {"name": "nets"},
    "spec": {
        "description": "For a test.",
        "rank": 500,
        "catalogue": 3,
        "includes": ["pss-baseline"],
        "privileges": [
            "host/*",
            "capability/NET_ADMIN",
            "capability/a%2Fb",
            "volume/hostPath:ro/var/**",
            "volume/hostPath:rw/data/a%20b",
            "volume/hostPath:ro/%2F",
            "proc-mount/*",
        ],
    },
}


@pytest.fixture
async def spaces(admin: Client) -> Client:
    """Namespaces with a ceiling, another mode, an exception that is in force, an open glass."""
    await set_up_people(admin)
    await admin.apply([NETS, role("use-nets", use_of("nets")), binding("use-nets", user("nets"))])
    for name in (PLAIN, LOW, EXCUSED, GLASS):
        await admin.create_namespace(name)
    await admin.create_namespace(WATCHED, {"sallyport.dev/mode": "audit"})
    for name in SPACES:
        await admin.create_service_account(AGENT, name)
        await until_known(admin, name)
    subjects = [service_account(AGENT, name) for name in SPACES]
    await admin.apply([binding("use-pss-privileged", *subjects, name="agents-of-both")])
    ceiling = {"sallyport.dev/ceiling": "restricted,log-agent , nets"}
    metadata = {"name": LOW, "annotations": ceiling}
    await admin.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}])
    path = f"/apis/{API}/namespaces/{EXCUSED}/policyexceptions/llama"
    if (await admin.request("GET", path))[0] != HTTPStatus.OK:
        await _excuse(admin)
        await _break_glass(admin)
    return admin


async def _excuse(admin: Client) -> None:
    excuses = [
        {"privilege": "host/network"},
        {"privilege": "capability/NET_ADMIN", "container": "main"},
        {"privilege": "volume/hostPath:rw/%2F"},
        {"privilege": "volume/hostPath:ro/data/a%20b"},
        {"privilege": "container/privileged", "container": "main"},
    ]
    await admin.as_user(AUTHOR).create(exception(EXCUSED, excuses=excuses))
    for name in (ANN, BEN):
        made = await seen(admin, approval(EXCUSED, name.partition("@")[0]))
        await admin.as_user(name).create(made)


async def _break_glass(admin: Client) -> None:
    name = new_name()
    rules = ["privileges/host/pid", "privileges/volume/host_path", "privileges/seccomp/unconfined"]
    glass = sealed(GLASS, name, rules=rules, privileges=["capability/*", "container/privileged"])
    await admin.as_user(AUTHOR).create(glass)
    await approve(admin, name, ANN, BEN)
    await opens(admin.as_user(ON_CALL), name)
    await asyncio.sleep(6)  # Both follow it: the gate by its watch, the back-stop by its ConfigMap.


def late(pod: Json, **spec: Any) -> Json:
    """Return a Pod that needs more, and that the mutating webhook is not asked about."""
    made = changed(pod, **spec)
    made["metadata"]["labels"] = {LATE: "yes"}
    return made


async def test_nothing_that_the_gate_admits_is_refused(spaces: Client) -> None:
    """Of thousands of Pods, who asks and where: none is admitted by the gate and refused here.

    And what it holds, it refuses as the gate does: nearly always. All that it refuses the mutating
    webhook has refused before it, with a decision, and nothing that would be admitted in the end.
    """
    tally = Tally()
    waiting = asked(SEED, size(300, 3_000))
    while batch := list(islice(waiting, AT_ONCE)):
        await asyncio.gather(*(ask(spaces, tally, *each) for each in batch))
    wrong = [*tally.too_strict[:5], *tally.too_early[:5], *tally.unrecorded[:5]]
    told = "\n".join([*tally.lines(), *wrong, *tally.missed[:5]])
    assert not wrong, told
    assert tally.refused_early >= tally.held_by_backstop, told
    assert tally.admitted > tally.asked / 10, told
    assert tally.admitted_of_jobs > 0, told
    assert tally.held_by_backstop > 0.9 * tally.refused_for_held > 0, told
    if PROOF:
        record("backstop", ["", "## Beside the gate", "", *tally.lines()])


async def test_what_is_excused_comes_in(spaces: Client) -> None:
    """The one Pod that is named, with the one privilege; another name is refused by both."""
    pod = late(RESTRICTED.pod(), hostNetwork=True)
    runner = spaces.as_user("pss-baseline", GROUPS)
    for name, outcome in (("llama", Outcome.ALLOWED), ("other", Outcome.DENIED)):
        pod["metadata"]["name"] = name
        runner.warnings.clear()
        answer = await runner.dry_run_create(pod, EXCUSED)
        assert answer.outcome is outcome, answer.message
        assert any(map(is_refusal, runner.warnings)) is (outcome is Outcome.DENIED)


async def test_what_is_relaxed_comes_in(spaces: Client) -> None:
    """While the glass is open, in its namespace and for what it names; by both."""
    runner = spaces.as_user("pss-baseline", GROUPS)
    pids, ipc = ({"hostPID": True}, {"hostIPC": True})
    for spec, outcome in ((pids, Outcome.ALLOWED), (ipc, Outcome.DENIED)):
        runner.warnings.clear()
        answer = await runner.dry_run_create(late(RESTRICTED.pod(), **spec), GLASS)
        assert answer.outcome is outcome, answer.message
        assert any(map(is_refusal, runner.warnings)) is (outcome is Outcome.DENIED)


@pytest.mark.parametrize(
    "context",
    [
        {"privileged": True},
        {"capabilities": {"add": ["NET_ADMIN"]}},
        {"seccompProfile": {"type": "Unconfined"}},
        {"appArmorProfile": {"type": "Unconfined"}},
        {"seLinuxOptions": {"type": "spc_t"}},
    ],
)
async def test_a_debug_container_is_judged_alike(spaces: Client, context: Json) -> None:
    """Refused by the mutating webhook already, and admitted for whoever may have it."""
    pod = RESTRICTED.pod()
    pod["metadata"] = {"name": new_name(), "namespace": PLAIN}
    await spaces.create(pod)
    debugger = {"name": "debug", "image": pod["spec"]["containers"][0]["image"]}
    patch = {"spec": {"ephemeralContainers": [debugger | {"securityContext": context}]}}
    path = f"/api/v1/namespaces/{PLAIN}/pods/{pod['metadata']['name']}/ephemeralcontainers"
    for user_name, expected in (("restricted", 403), ("pss-privileged", 200)):
        client = spaces.as_user(user_name, GROUPS)
        status, answer = await client.request(
            "PATCH", path, patch, content_type="application/strategic-merge-patch+json"
        )
        assert status == expected, answer
        assert ("mutate.sallyport.dev" in str(answer)) is (expected == HTTPStatus.FORBIDDEN)
        assert not any(map(is_refusal, client.warnings))
