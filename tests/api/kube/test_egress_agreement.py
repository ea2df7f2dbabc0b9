"""The CRDs of egress and the Python types say the same, but for what only the webhook can say."""

import json

import pytest

from core.base.errors import InvalidObjectError
from core.egress.allowlists import KIND, SET_KIND, parse_allowlist, parse_destinations
from tests.api.kube.egress_cases import (
    ABOUT,
    DESTINATIONS,
    PORTS,
    REFUSED,
    SETS,
    TAKEN,
    WEBHOOK,
    Cases,
    Spec,
)
from tests.harness.programs.client import Client
from tests.harness.programs.webhooks import serve_guarded

PLACES = {KIND: "namespaces/default/egressallowlists", SET_KIND: "egressdestinations"}
CASES: dict[str, tuple[str, Cases]] = {
    "destinations": (KIND, DESTINATIONS),
    "ports": (KIND, PORTS),
    "about": (KIND, ABOUT),
    "sets": (SET_KIND, SETS),
}


@pytest.fixture
async def served(client: Client) -> Client:
    """A client of a server that knows the kinds."""
    await serve_guarded(client)
    return client


def _problem(kind: str, item: Spec) -> str:
    parse = {KIND: parse_allowlist, SET_KIND: parse_destinations}[kind]
    try:
        parse(json.dumps(item).encode())
    except InvalidObjectError as error:
        return f"{error.field}: {error.problem}"
    return ""


@pytest.mark.parametrize(
    ("group", "case"), [(group, case) for group, (_, cases) in CASES.items() for case in cases]
)
async def test_both_say_the_same_but_for_a_few(group: str, case: str, served: Client) -> None:
    """What is right both take, what is wrong both refuse; a few things the types refuse alone."""
    kind, cases = CASES[group]
    says, spec = cases[case]
    item = {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": "agreement"} | ({"namespace": "default"} if kind == KIND else {}),
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
