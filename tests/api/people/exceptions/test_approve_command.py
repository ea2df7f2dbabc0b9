"""`sallyport approve` shows what is approved, and approves what it has shown."""

import asyncio
import json

import pytest

from tests.api.admission.objects import new_namespace
from tests.api.people.exceptions.exceptions import (
    API,
    AUTHOR,
    TIER,
    begins,
    exception,
    set_up,
    stays_out,
)
from tests.harness.programs.client import Client
from tests.harness.programs.gate import PROGRAM
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.worlds.rbac import binding, user


@pytest.fixture
async def place(admin: Client) -> str:
    """A namespace with an exception that Alice and Bob may approve."""
    await set_up(admin)
    people = binding("sallyport-approve", user("alice"), user("bob"), name="exception-people")
    await admin.apply([people])
    for name in ("alice", "bob"):
        await admin.as_user(name).wait_until_can("approve", TIER)
    namespace = await new_namespace(admin)
    await admin.as_user(AUTHOR).create(exception(namespace))
    return namespace


async def approve(
    installation: Installation, who: str, *arguments: str
) -> tuple[int | None, str, str]:
    """Run the command as one of the server's users; give code, output and errors."""
    kubeconfig = installation.apiserver.kubeconfig(who)
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        "approve",
        *arguments,
        "--kubeconfig",
        kubeconfig,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    return process.returncode, output.decode(), errors.decode()


async def test_two_people_approve_from_the_command_line(
    admin: Client, place: str, installation: Installation
) -> None:
    """Each is shown what it adds; the second sees the first; then it is in force."""
    code, shown, _ = await approve(installation, "alice", "pex", "llama", "-n", place, "--yes")
    assert code == 0
    for words in ("reason:   it measures the network", "Pod llama (v1)", "+ host/network"):
        assert words in shown
    code, shown, _ = await approve(installation, "bob", "pex", "llama", "-n", place, "--show")
    assert (code, "approved as it is by user:" in shown) == (0, True)
    await stays_out(admin, place)
    code, shown, _ = await approve(
        installation, "bob", "policyexception", "llama", "-n", place, "--yes", "-o", "json"
    )
    answer = json.loads(shown)
    assert (code, answer["approved"], answer["name"]) == (0, True, "llama")
    stored = await admin.get(API, "Approval", answer["approval"], place)
    assert stored["spec"]["for"]["digest"] == answer["digest"]
    await begins(admin, place)


async def test_a_refusal_and_wrong_usage_have_codes_of_their_own(
    place: str, installation: Installation
) -> None:
    """1 in the gate's words; 64 for what is not there, and where nobody can be asked."""
    code, shown, _ = await approve(
        installation, "admin", "pex", "llama", "-n", place, "--yes", "-o", "json"
    )
    answer = json.loads(shown)
    assert (code, answer["approved"]) == (1, False)
    assert "system:masters" in answer["message"]
    for arguments, says in (
        (("pex", "none", "-n", place, "--yes"), "there is no such object"),
        (("pod", "llama", "-n", place, "--yes"), "approve one of"),
        (("pex", "llama", "-n", place), "give --yes"),
    ):
        code, _, errors = await approve(installation, "alice", *arguments)
        assert (code, says in errors) == (64, True), errors
