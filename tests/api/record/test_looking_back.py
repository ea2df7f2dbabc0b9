"""What the gate decided is what looking back finds: through kube-apiserver, spool and auditor."""

import asyncio
import json
import time
from typing import Any

from core.people.subject import Subject
from tests.api.record.conftest import TRAIN, pod
from tests.api.record.installation import Installation
from tests.harness.programs.client import Client
from tests.harness.worlds import rbac

SHIPPED_S = 60.0
MALLORY = "mallory-of-looking-back"


async def looked(installation: Installation, count: int) -> Any:
    """Look back until so many items are found, and give the document."""
    label = Subject(username=MALLORY).label
    deadline = time.monotonic() + SHIPPED_S
    kubeconfig = str(installation.apiserver.kubeconfig())
    while True:
        done = await asyncio.to_thread(
            installation.run, "risk", "look-back", label, "--kubeconfig", kubeconfig, "-o", "json"
        )
        assert done.returncode in {0, 1}, done.stderr
        (document,) = json.loads(done.stdout)
        if len(document.get("items", [])) >= count:
            return document
        assert time.monotonic() < deadline, document
        await asyncio.sleep(0.3)


async def can_do_all(mallory: Client) -> None:
    """Wait until RBAC knows the two grants."""
    for resource, subresource in (("pods", ""), ("pods", "exec"), ("serviceaccounts", "token")):
        wanted = {"resource": resource, "subresource": subresource, "namespace": TRAIN}
        await mallory.wait_until_can("create", wanted)
    profiles = {"group": "sallyport.dev", "resource": "containerprofiles"}
    await mallory.wait_until_can("use", profiles)


async def test_what_somebody_was_let_do_is_found(installation: Installation, admin: Client) -> None:
    """A Pod that they started, one that they entered, a token; what was refused is not there."""
    makes = rbac.rule([""], "pods pods/exec serviceaccounts/token", "create get")
    await admin.apply(rbac.grant("mallory-makes", makes, rbac.user(MALLORY), namespace=TRAIN))
    uses = rbac.rule(["sallyport.dev"], "containerprofiles", "use")
    await admin.apply(rbac.grant("mallory-uses", uses, rbac.user(MALLORY)))
    await admin.create_service_account("looked", TRAIN)
    await admin.create(pod("entered-by-mallory"))
    mallory = admin.as_user(MALLORY)
    await can_do_all(mallory)
    await mallory.create(pod("made-by-mallory"))
    where = f"/api/v1/namespaces/{TRAIN}"
    await mallory.request("POST", f"{where}/pods/entered-by-mallory/exec?command=id&stdout=true")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    await mallory.request("POST", f"{where}/serviceaccounts/looked/token", review)
    document = await looked(installation, 3)
    found = {(each["sort"], each["kind"], each["name"]) for each in document["items"]}
    assert found == {
        ("entered", "Pod", "entered-by-mallory"),
        ("credential", "ServiceAccount", "looked"),
        ("workload", "Pod", "made-by-mallory"),
    }
    assert all(each["decision"] for each in document["items"])
    assert MALLORY not in json.dumps({**document, "items": []})
