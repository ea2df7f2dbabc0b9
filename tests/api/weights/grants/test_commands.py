"""`sallyport approve` for grants and stores shows what is approved, and approves just that."""

import asyncio
import json
from copy import deepcopy
from functools import partial
from pathlib import Path

import yaml

from tests.api.weights.grants.conftest import (
    CAROL,
    DAVE,
    STORE,
    Installation,
    asked_for,
    human,
    place,
    pod,
    soon,
)
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.programs.gate import PROGRAM


async def run(installation: Installation, who: str, *arguments: str) -> tuple[int | None, str]:
    """Run the command as one of the server's users; give code and all that it said."""
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        "approve",
        *arguments,
        "--kubeconfig",
        installation.apiserver.kubeconfig(who),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode()


async def test_two_people_approve_a_grant(admin: Client, installation: Installation) -> None:
    """Each sees which rights on which store, as which account, for whom; then it is in force."""
    namespace = await place(admin, "commanded")
    await human(admin, DAVE).create(asked_for(namespace, container="prod"))
    code, shown = await run(installation, "alice", "grant", "llama", "-n", namespace, "--yes")
    assert code == 0, shown
    for words in ("+ read weights of llama (container prod)", "as trainer", "+ oid:"):
        assert words in shown
    code, shown = await run(installation, "bob", "agr", "llama", "-n", namespace, "--yes")
    assert (code, "approved as it is by" in shown) == (0, True), shown
    await soon(partial(human(admin, CAROL).create, pod(namespace, "one")))


async def test_two_people_approve_what_narrows_and_removes_a_store(
    admin: Client, installation: Installation, tmp_path: Path
) -> None:
    """By the file as it shall be; what guards no less needs nobody."""
    made = deepcopy(STORE)
    made["metadata"]["name"] = "commanded"
    made["spec"] |= {"account": "commanded", "identities": None}
    del made["spec"]["identities"]
    file = tmp_path / "store.yaml"
    file.write_text(yaml.safe_dump(made))
    code, shown = await run(installation, "alice", "store", str(file), "--yes")
    assert (code, "there is none yet" in shown) == (64, True), shown
    dave = human(admin, DAVE)
    there = await dave.create(made)
    code, shown = await run(installation, "alice", "store", str(file), "--show")
    assert (code, "nobody needs to approve it" in shown) == (0, True), shown
    narrower = deepcopy(made)
    narrower["spec"]["containers"] = [{"name": "prod", "prefixes": ["llama-4/"]}]
    file.write_text(yaml.safe_dump(narrower))
    for who in ("alice", "bob"):
        code, shown = await run(installation, who, "wst", str(file), "--yes", "-o", "json")
        assert (code, json.loads(shown)["kind"]) == (0, "WeightStore"), shown
    there["spec"] = narrower["spec"]
    path = "/apis/sallyport.dev/v1alpha1/weightstores/commanded"

    async def write() -> Json:
        status, answer = await dave.request("PUT", path, there)
        if status != 200:
            raise ApiStatusError("PUT", path, status, answer["message"])
        return dict(answer)

    await soon(write)
    for who in ("alice", "bob"):
        code, shown = await run(installation, who, "store-removal", "commanded", "--yes")
        assert (code, "- is removed" in shown) == (0, True), shown
    await soon(partial(dave.delete, there))
