"""Nobody takes all objects of a kind away, or changes what it says, but who is named for it."""

import asyncio
import time
from collections.abc import AsyncIterator
from copy import deepcopy
from pathlib import Path
from typing import Final

import pytest

from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json, connect, read_objects
from tests.harness.worlds.rbac import grant, rule, user

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVICES: Final = "/apis/apiregistration.k8s.io/v1/apiservices"
EDITOR: Final = "definitions-editor@example.com"
"""Who installs operators: may write every definition."""
HOLDER: Final = "definitions-holder@example.com"
"""Who besides may change those of Sallyport's."""
MERGE: Final = "application/merge-patch+json"

GUARD: Final = read_objects(Path("deploy/kinds-guard.yaml"))
STORES: Final = read_objects(Path("helm/sallyport-crds/templates/weightstores.yaml"))[0]
STORE: Final[Json] = {
    "apiVersion": "sallyport.dev/v1alpha1",
    "kind": "WeightStore",
    "metadata": {"name": "kinds-guard"},
    "spec": {"account": "kindsguard", "containers": [{"name": "prod"}], "owner": "weights-team"},
}


def decoy(group: str = "sallyport.dev", plural: str = "decoys") -> Json:
    """Return the definition of another kind."""
    made = deepcopy(STORES)
    made["metadata"] = {"name": f"{plural}.{group}"}
    kind = plural.capitalize().removesuffix("s")
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    made["spec"] = {**made["spec"], "group": group, "names": names}
    return made


def service(group: str) -> Json:
    """Return the registration of another server for a group."""
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"v1.{group}"},
        "spec": {
            "group": group,
            "version": "v1",
            "groupPriorityMinimum": 1,
            "versionPriority": 1,
            "service": {"name": "theirs", "namespace": "default"},
            "insecureSkipTLSVerify": True,
        },
    }


@pytest.fixture
async def admin(apiserver: ApiServer) -> AsyncIterator[Client]:
    """A cluster with the guard, a store, an editor and a holder."""
    verbs = "get list create update patch delete deletecollection"
    write = (
        rule(["apiextensions.k8s.io"], "customresourcedefinitions", verbs),
        rule(["apiregistration.k8s.io"], "apiservices", verbs),
    )
    change = rule(["sallyport.dev"], "definitions", "change")
    async with connect(apiserver) as client:
        await client.apply([STORES, *GUARD])
        await client.wait_for_kind(STORE["apiVersion"], "WeightStore")
        await client.apply([STORE])
        for index, each in enumerate(write):
            await client.apply(grant(f"kinds-writers-{index}", each, user(EDITOR), user(HOLDER)))
        await client.apply(grant("kinds-holders", change, user(HOLDER)))
        attributes = {"group": "sallyport.dev", "resource": "definitions"}
        await client.as_user(HOLDER).wait_until_can("change", attributes)
        attributes = {"group": "apiregistration.k8s.io", "resource": "apiservices"}
        await client.as_user(EDITOR).wait_until_can("delete", attributes)
        await until_guarded(client)
        try:
            yield client
        finally:
            for each in (*GUARD, STORE):
                await client.delete(each)


async def until_guarded(client: Client) -> None:
    """Wait until kube-apiserver evaluates the policy."""
    end = time.monotonic() + 60
    dry = {"dryRun": "All"}
    while True:
        path = f"{CRDS}/{STORES['metadata']['name']}"
        if (await client.as_user(EDITOR).request("DELETE", path, parameters=dry))[0] == 403:
            return
        assert time.monotonic() < end, "the policy is not in force"
        await asyncio.sleep(0.2)


async def test_no_editor_of_definitions_deletes_a_kind(admin: Client) -> None:
    """By name and among others; the stores are there afterwards, and what is not ours goes."""
    editor = admin.as_user(EDITOR)
    await admin.apply([decoy("example.com", "bystanders")])
    name = STORES["metadata"]["name"]
    status, answer = await editor.request("DELETE", f"{CRDS}/{name}")
    assert (status, "change on definitions.sallyport.dev" in answer["message"]) == (403, True)
    only = {"fieldSelector": f"metadata.name={name}"}
    status, answer = await editor.request("DELETE", CRDS, parameters=only)
    assert (status, "kinds-guard" in answer["message"]) == (403, True), answer
    status, _ = await editor.request("DELETE", f"{CRDS}/bystanders.example.com")
    assert status == 200
    assert (await admin.request("GET", f"{CRDS}/{name}"))[1]["metadata"].get(
        "deletionTimestamp"
    ) is None
    found = await admin.get(STORE["apiVersion"], "WeightStore", "kinds-guard")
    assert found["spec"]["account"] == "kindsguard"


async def test_no_editor_takes_a_field_out_of_a_kind(admin: Client) -> None:
    """What the schema leaves out is gone from every object that is read; labels are anyone's."""
    editor = admin.as_user(EDITOR)
    path = f"{CRDS}/{STORES['metadata']['name']}"
    current = (await admin.request("GET", path))[1]
    less = deepcopy(current)
    schema = less["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["identities"]
    status, answer = await editor.request("PUT", path, less)
    assert (status, "kinds-guard" in answer["message"]) == (403, True), answer
    unserved = deepcopy(current)
    unserved["spec"]["versions"][0]["served"] = False
    assert (await editor.request("PUT", path, unserved))[0] == 403
    label: Json = {"metadata": {"labels": {"team": "platform"}}}
    assert (await editor.request("PATCH", path, label, content_type=MERGE))[0] == 200


async def test_whoever_holds_the_right_changes_and_deletes(admin: Client) -> None:
    """An upgrade of the kinds, and the end of one."""
    await admin.apply([decoy()])
    editor, holder = admin.as_user(EDITOR), admin.as_user(HOLDER)
    path = f"{CRDS}/decoys.sallyport.dev"
    names: Json = {"spec": {"names": {"shortNames": ["dcy"]}}}
    assert (await editor.request("PATCH", path, names, content_type=MERGE))[0] == 403
    assert (await holder.request("PATCH", path, names, content_type=MERGE))[0] == 200
    assert (await editor.request("DELETE", path))[0] == 403
    assert (await holder.request("DELETE", path))[0] == 200


async def test_no_other_server_answers_for_the_kinds(admin: Client) -> None:
    """It would say that there are no stores; other groups are other people's."""
    editor = admin.as_user(EDITOR)
    status, answer = await editor.request("POST", SERVICES, service("sallyport.dev"))
    assert (status, "kinds-guard" in answer["message"]) == (403, True), answer
    path = f"{SERVICES}/v1alpha1.sallyport.dev"
    theirs: Json = {"spec": {"service": {"name": "theirs", "namespace": "default"}}}
    status, answer = await editor.request("PATCH", path, theirs, content_type=MERGE)
    assert (status, "kinds-guard" in answer["message"]) == (403, True), answer
    other = service("bystanders.example.com")
    assert (await editor.request("POST", SERVICES, other))[0] == 201
    assert (await editor.request("DELETE", f"{SERVICES}/{other['metadata']['name']}"))[0] == 200
