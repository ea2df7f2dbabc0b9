"""Two gates and control put a published bundle in force together, and go back by one command."""

import asyncio
import json
import os
import re
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from core.policy_bundles import BASE
from tests.api.policies.published import (
    SOON_S,
    Field,
    controlling,
    in_force,
    open_field,
    until,
)
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.worlds.policy_bundles import retitled, revision_of

HASTE = 4.0
"""By how much control's clock is faster here: a gate is gone after 19 seconds and not after 75."""

FIRST, SECOND = retitled(1), retitled(2)


@pytest.fixture
async def field(apiserver: ApiServer, client: Client, tmp_path: Path) -> AsyncIterator[Field]:
    """A field of this test's own."""
    async with open_field(apiserver, client, tmp_path) as made:
        yield made


async def test_all_gates_switch_when_each_has_it_and_back_by_one_command(field: Field) -> None:
    """Nobody before control says so; a gate that starts later begins with what is active."""
    gates = [field.gate(), field.gate()]
    before = in_force(gates[0])
    wanted = await field.policy("activate", field.write(FIRST), "--wait", "0")
    assert (wanted.returncode, wanted.stdout) == (0, f"{revision_of(FIRST)} is wanted\n")
    ready = f'bundle="{revision_of(FIRST)}",revision="{revision_of(FIRST)}",state="ready"'
    await until(lambda: all(ready in gate.status("/metrics")[1] for gate in gates))
    assert {in_force(gate) for gate in gates} == {before}
    async with controlling(field):
        await until(lambda: {in_force(gate) for gate in gates} == {revision_of(FIRST)})
        done = await field.policy("activate", field.write(SECOND))
        assert done.returncode == 0, done.stderr
        assert f"of 2 gates have loaded {revision_of(SECOND)}" in done.stderr
        await until(lambda: {in_force(gate) for gate in gates} == {revision_of(SECOND)})
        late = field.gate()
        assert in_force(late) == revision_of(SECOND)
        done = await field.policy("activate", revision_of(FIRST))
        assert done.returncode == 0, done.stderr
        await until(lambda: {in_force(gate) for gate in field.gates} == {revision_of(FIRST)})
        done = await field.policy("rollback")
        assert (
            done.stdout == f"{revision_of(SECOND)} is in force, in place of {revision_of(FIRST)}\n"
        )
        await until(lambda: {in_force(gate) for gate in field.gates} == {revision_of(SECOND)})
        async with asyncio.timeout(SOON_S):
            while (status := await field.policy("status")).returncode:  # noqa: ASYNC110
                await asyncio.sleep(0.2)
        assert f"active: {revision_of(SECOND)}; before: {revision_of(FIRST)}" in status.stdout
        found = await field.status()
        assert [gate["inForce"] for gate in found["gates"]] == [revision_of(SECOND)] * 3
        done = await field.policy("activate", BASE)
        assert done.returncode == 0, done.stderr
        await until(lambda: {in_force(gate) for gate in field.gates} == {before})
        async with asyncio.timeout(SOON_S):
            while len(reasons := await _reasons(field)) < 5:  # noqa: ASYNC110
                await asyncio.sleep(0.2)
        assert reasons == ["BundleActivated"] * 5


async def test_one_gate_that_refuses_keeps_all_as_they_are(field: Field) -> None:
    """It is said who and why; reviews go on by what was in force."""
    key = ed25519.Ed25519PrivateKey.generate().public_key()
    public = field.folder / "key.pem"
    public.write_bytes(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    gates = [field.gate(), field.gate({"SALLYPORT_BUNDLES__KEYS": json.dumps({"k": str(public)})})]
    before = in_force(gates[0])
    async with controlling(field):
        done = await field.policy("activate", field.write(FIRST))
        assert done.returncode == 1
        assert re.search(
            rf"refused: \S+ refuses {revision_of(FIRST)}: .* is not signed", done.stderr
        )
        assert {in_force(gate) for gate in gates} == {before}
        assert [gate.status("/readyz")[0] for gate in gates] == [200, 200]
        status = await field.policy("status")
        assert status.returncode == 1
        assert "it is not signed" in status.stdout
        assert "sallyport_bundle_refused 1" in gates[1].status("/metrics")[1]
        async with asyncio.timeout(SOON_S):
            while "BundleRefused" not in await _reasons(field):  # noqa: ASYNC110
                await asyncio.sleep(0.2)
        done = await field.policy("activate", BASE)
        assert done.returncode == 0, done.stderr
        await until(lambda: "sallyport_bundle_refused 0" in gates[1].status("/metrics")[1])


async def _reasons(field: Field) -> list[str]:
    events = await field.objects.page(f"/api/v1/namespaces/{field.namespace}/events", 50)
    return [json.loads(bytes(each))["reason"] for each in events.items]


async def test_a_gate_that_is_gone_is_not_waited_for_for_ever(field: Field) -> None:
    """Its announcement stands still; until then the others wait."""
    staying, gone = field.gate(), field.gate()
    before = in_force(staying)
    os.kill(gone.pid, signal.SIGKILL)
    async with controlling(field, HASTE):
        began = time.monotonic()
        done = await field.policy("activate", field.write(FIRST), "--wait", str(SOON_S))
        assert done.returncode == 0, done.stderr
        assert time.monotonic() - began > 2
        assert "1 of 2 gates have loaded" in done.stderr
        await until(lambda: in_force(staying) == revision_of(FIRST))
        assert before != revision_of(FIRST)


async def test_without_control_each_switches_by_itself_where_that_is_said(field: Field) -> None:
    """In an emergency: `--now` waits for nobody."""
    gates = [field.gate(), field.gate()]
    done = await field.policy("activate", field.write(FIRST), "--now")
    assert done.stdout == f"{revision_of(FIRST)} is active\n"
    await until(lambda: {in_force(gate) for gate in gates} == {revision_of(FIRST)})
    done = await field.policy("rollback", "--now")
    assert (done.returncode, done.stdout) == (0, f"{BASE} is active\n")
    await until(lambda: revision_of(FIRST) not in {in_force(gate) for gate in gates})
