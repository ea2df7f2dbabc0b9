"""The CRDs of weights and the Python types say the same, but for what only the webhook can say."""

import json
from typing import Any, Final

import pytest

from core.base.errors import InvalidObjectError
from core.weights.access_grants import parse_grant
from core.weights.stores import parse_store
from tests.api.kube.egress_cases import REFUSED, TAKEN, WEBHOOK, Cases, Spec, without
from tests.harness.programs.client import Client
from tests.harness.programs.webhooks import serve_guarded

Fields = dict[str, Any]

CLIENT: Final = "11111111-2222-3333-4444-555555555555"
RESOURCE: Final = (
    f"/subscriptions/{CLIENT}/resourceGroups/rg/providers/Microsoft.Storage/storageAccounts/llama"
)
STORE: Final[Fields] = {
    "account": "llama",
    "containers": [{"name": "prod"}],
    "owner": "weights-team",
}
GRANT: Final[Fields] = {
    "store": "llama",
    "rights": ["read"],
    "people": [f"oid:{CLIENT}"],
    "reason": "training",
    "expiresAt": "2031-12-31T18:00:00Z",
}


def store(**spec: Any) -> Fields:
    """Return a store's `spec` with these fields."""
    return STORE | spec


def identity(**fields: Any) -> Fields:
    """Return a store's `spec` with one identity."""
    return store(identities=[{"rights": ["read"], **fields}])


def grant(**spec: Any) -> Fields:
    """Return a grant's `spec` with these fields."""
    return GRANT | spec


STORES: Final[Cases] = {
    "a store": (TAKEN, STORE),
    "all of it": (
        TAKEN,
        store(
            resourceId=RESOURCE,
            endpointSuffix="core.chinacloudapi.cn",
            containers=[{"name": "$web"}, {"name": "prod", "prefixes": ["llama-4/"]}],
            privateEndpoints=["10.1.0.5/32", "2001:db8::/64"],
            identities=[{"clientId": CLIENT, "objectId": CLIENT, "rights": ["read"], "note": "n"}],
            checkpointSize="1400Gi",
        ),
    ),
    "no account": (REFUSED, without(STORE, "account")),
    "no containers": (REFUSED, without(STORE, "containers")),
    "no owner": (REFUSED, without(STORE, "owner")),
    "an account in capitals": (REFUSED, store(account="Llama")),
    "an account that is too short": (REFUSED, store(account="ab")),
    "a resource of another account": (REFUSED, store(resourceId=RESOURCE + "x")),
    "a resource that is none": (REFUSED, store(resourceId="/subscriptions/x")),
    "no container": (REFUSED, store(containers=[])),
    "a container in capitals": (REFUSED, store(containers=[{"name": "Prod"}])),
    "an empty prefix": (REFUSED, store(containers=[{"name": "prod", "prefixes": [""]}])),
    "no prefix": (REFUSED, store(containers=[{"name": "prod", "prefixes": []}])),
    "an address": (REFUSED, store(privateEndpoints=["10.1.0.5"])),
    "a name for an endpoint": (REFUSED, store(privateEndpoints=["llama.example/32"])),
    "host bits": (WEBHOOK, store(privateEndpoints=["10.1.0.5/8"])),
    "no endpoints": (REFUSED, store(privateEndpoints=[])),
    "an identity by object id": (TAKEN, identity(objectId=CLIENT)),
    "an identity without an id": (REFUSED, identity(note="who")),
    "an id in capitals": (REFUSED, identity(clientId=CLIENT.replace("1", "A"))),
    "a right that there is not": (REFUSED, identity(clientId=CLIENT, rights=["list"])),
    "no right": (REFUSED, identity(clientId=CLIENT, rights=[])),
    "a size with a sign": (REFUSED, store(checkpointSize="-1Gi")),
    "a size without a number": (REFUSED, store(checkpointSize="Gi")),
    "an unheard-of field": (REFUSED, store(public=True)),
}

GRANTS: Final[Cases] = {
    "a grant": (TAKEN, GRANT),
    "all of it": (
        TAKEN,
        grant(
            container="prod",
            prefixes=["llama-4/"],
            serviceAccounts=["trainer"],
            groups=["team"],
            owner="o",
            notBefore="2031-12-01T18:00:00Z",
        ),
    ),
    "to a group alone": (TAKEN, without(grant(groups=["team"]), "people")),
    "by a digest": (TAKEN, grant(people=["user:0123456789abcdef"])),
    "to nobody": (REFUSED, without(GRANT, "people")),
    "to a name": (REFUSED, grant(people=["alice@example.com"])),
    "to an id in capitals": (REFUSED, grant(people=[f"oid:{CLIENT.replace('1', 'A')}"])),
    "no store": (REFUSED, without(GRANT, "store")),
    "a store that is no name": (REFUSED, grant(store="Llama")),
    "no rights": (REFUSED, grant(rights=[])),
    "a right that there is not": (REFUSED, grant(rights=["list"])),
    "no reason": (REFUSED, without(GRANT, "reason")),
    "an empty reason": (REFUSED, grant(reason="")),
    "no end": (REFUSED, without(GRANT, "expiresAt")),
    "an end that is no time": (REFUSED, grant(expiresAt="tomorrow")),
    "a beginning that is no time": (REFUSED, grant(notBefore="2031-12-01")),
    "a beginning after its end": (WEBHOOK, grant(notBefore="2032-01-01T00:00:00Z")),
    "prefixes of no container": (REFUSED, grant(prefixes=["a/"])),
    "a service account that is no name": (REFUSED, grant(serviceAccounts=["Trainer_1"])),
    "no service accounts": (REFUSED, grant(serviceAccounts=[])),
    "an unheard-of field": (REFUSED, grant(forever=True)),
}


PLACES = {"WeightStore": "weightstores", "AccessGrant": "namespaces/default/accessgrants"}
CASES: dict[str, Cases] = {"WeightStore": STORES, "AccessGrant": GRANTS}


@pytest.fixture
async def served(client: Client) -> Client:
    """A client of a server that knows the kinds."""
    await serve_guarded(client)
    return client


def _problem(kind: str, item: Spec) -> str:
    raw = json.dumps(item).encode()
    try:
        parse_store(raw) if kind == "WeightStore" else parse_grant(raw)
    except InvalidObjectError as error:
        return f"{error.field}: {error.problem}"
    return ""


@pytest.mark.parametrize(
    ("kind", "case"), [(kind, case) for kind, cases in CASES.items() for case in cases]
)
async def test_both_say_the_same_but_for_a_few(kind: str, case: str, served: Client) -> None:
    """What is right both take, what is wrong both refuse; a few things the types refuse alone."""
    says, spec = CASES[kind][case]
    place = {"namespace": "default"} if kind == "AccessGrant" else {}
    item = {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": "agreement", **place},
        "spec": spec,
    }
    parameters = {"dryRun": "All", "fieldValidation": "Strict"}
    path = f"/apis/sallyport.dev/v1alpha1/{PLACES[kind]}"
    status, answer = await served.request("POST", path, item, parameters=parameters)
    assert status in {201, 400, 422}, answer
    problem = _problem(kind, item)
    assert (status == 201, bool(problem)) == {
        TAKEN: (True, False),
        REFUSED: (False, True),
        WEBHOOK: (True, True),
    }[says], (answer, problem)
    if problem:
        field, _, said = problem.partition(": ")
        assert field.startswith("spec"), problem
        assert said, problem
