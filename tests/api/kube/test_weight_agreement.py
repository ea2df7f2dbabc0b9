"""The CRDs of weights and the Python types say the same, but for what only the webhook can say."""

import json

import pytest

from core.base.errors import InvalidObjectError
from core.weights.access_grants import parse_grant
from core.weights.stores import parse_store
from tests.api.kube.egress_cases import REFUSED, TAKEN, WEBHOOK, Cases, Spec
from tests.api.kube.weight_cases import GRANTS, STORES
from tests.harness.programs.client import Client
from tests.harness.programs.webhooks import serve_guarded

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
