"""What a Pod can sign in as is seen, wherever it says so, and what it hides is told as hidden."""

import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.kubernetes.pod import Pod, decode_pod
from identity.risk.workload_identity import (
    MOST_CLIENT_IDS,
    ClientId,
    client_ids_of,
    is_for_entra,
)
from tests.unit.identity.risk.identities import CLIENT, ELSEWHERE, OTHER, PRINCIPAL, TENANT

LABELLED = {"azure.workload.identity/use": "true"}
BY_LABEL = "metadata.labels[azure.workload.identity/use]"
ACCOUNT = "spec.serviceAccountName"
OWN_TOKEN = "spec.volumes[1].projected.sources[0].serviceAccountToken.audience"

Json = dict[str, Any]


def _pod(
    *env: Json,
    labels: Json | None = None,
    volumes: list[Json] | None = None,
    spec: Json | None = None,
) -> Pod:
    ordinary = {"name": "api", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
    containers = [{"name": "main", "env": list(env)}]
    body = {
        "metadata": {"labels": labels},
        "spec": {"containers": containers, "volumes": [ordinary, *(volumes or [])], **(spec or {})},
    }
    return decode_pod(msgspec.json.encode(body))


def _token(audience: str) -> list[Json]:
    return [
        {"name": "x", "projected": {"sources": [{"serviceAccountToken": {"audience": audience}}]}}
    ]


def _client(value: str) -> Json:
    return {"name": "AZURE_CLIENT_ID", "value": value}


def _tenant(value: str) -> Json:
    return {"name": "AZURE_TENANT_ID", "value": value}


def _hidden(name: str) -> Json:
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}


ENTRA = "api://AzureADTokenExchange"
ENV = "spec.containers[0].env"


@pytest.mark.parametrize(
    ("pod", "annotated", "expected"),
    [
        # Without a token for Entra, what the service account names gives the Pod nothing.
        (_pod(), CLIENT, []),
        (_pod(labels={"azure.workload.identity/use": "True"}), CLIENT, []),
        (_pod(_tenant(ELSEWHERE)), "", []),
        # By the label of Azure's webhook.
        (_pod(labels=LABELLED), CLIENT, [(CLIENT, "", ACCOUNT)]),
        (_pod(labels=LABELLED), CLIENT.upper(), [(CLIENT, "", ACCOUNT)]),
        (_pod(labels=LABELLED), "no guid", [("", "", ACCOUNT)]),
        (_pod(labels=LABELLED), "", [("", "", BY_LABEL)]),
        # By its own environment, with a token or without: there are secrets and node identities.
        (_pod(_client(OTHER)), "", [(OTHER, "", f"{ENV}[0].value")]),
        (
            _pod({"name": "A"}, _client(OTHER), labels=LABELLED),
            CLIENT,
            [(CLIENT, "", ACCOUNT), (OTHER, "", f"{ENV}[1].value")],
        ),
        (_pod(_client(CLIENT), labels=LABELLED), CLIENT, [(CLIENT, "", ACCOUNT)]),
        (_pod(_client("")), "", []),
        # What is not said is hidden.
        (_pod(_hidden("AZURE_CLIENT_ID")), "", [("", "", f"{ENV}[0].valueFrom")]),
        (_pod(_client("$(ID)")), "", [("", "", f"{ENV}[0].value")]),
        (_pod(_client(f" {CLIENT}")), "", [("", "", f"{ENV}[0].value")]),
        (_pod(_client(f"{{{CLIENT}}}")), "", [("", "", f"{ENV}[0].value")]),
        # Kubernetes takes the last of two with a name; both are told.
        (
            _pod(_client(CLIENT), _client(OTHER)),
            "",
            [(CLIENT, "", f"{ENV}[0].value"), (OTHER, "", f"{ENV}[1].value")],
        ),
        # By a token of its own making.
        (_pod(volumes=_token(ENTRA)), CLIENT, [(CLIENT, "", ACCOUNT)]),
        (_pod(volumes=_token(ENTRA)), "", [("", "", OWN_TOKEN)]),
        (_pod(volumes=_token("api://AKSIdentityBinding")), "", [("", "", OWN_TOKEN)]),
        (_pod(_client(OTHER), volumes=_token(ENTRA)), "", [(OTHER, "", f"{ENV}[0].value")]),
        (_pod(volumes=_token("vault")), CLIENT, []),
        (
            _pod(volumes=[{"name": "x", "projected": {"sources": 1}}]),
            "",
            [("", "", "spec.volumes[1].projected")],
        ),
        # In another tenant.
        (
            _pod(_tenant(ELSEWHERE.upper()), labels=LABELLED),
            CLIENT,
            [(CLIENT, "", ACCOUNT), (CLIENT, ELSEWHERE, f"{ENV}[0].value")],
        ),
        (
            _pod(_client(OTHER), _tenant(ELSEWHERE)),
            "",
            [(OTHER, "", f"{ENV}[0].value"), (OTHER, ELSEWHERE, f"{ENV}[1].value")],
        ),
        (
            _pod(_client(OTHER), _hidden("AZURE_TENANT_ID")),
            "",
            [(OTHER, "", f"{ENV}[0].value"), ("", "", f"{ENV}[1].valueFrom")],
        ),
        (
            _pod(_client(OTHER), _tenant("$(TENANT)")),
            "",
            [(OTHER, "", f"{ENV}[0].value"), ("", "", f"{ENV}[1].value")],
        ),
        (
            _pod(_tenant(ELSEWHERE), labels=LABELLED),
            "",
            [("", ELSEWHERE, f"{ENV}[0].value")],
        ),
    ],
)  # fmt: skip
def test_what_a_pod_can_sign_in_as(
    pod: Pod, annotated: str, expected: list[tuple[str, str, str]]
) -> None:
    """Each client id once a tenant, with the field that shows it; empty for what is hidden."""
    assert client_ids_of(pod, annotated, "") == tuple(ClientId(*each) for each in expected)


@pytest.mark.parametrize("kind", ["initContainers", "ephemeralContainers"])
def test_every_kind_of_container_counts(kind: str) -> None:
    """An init container has the Pod's tokens too, and so has what is debugged with."""
    pod = _pod(spec={kind: [{"name": "a"}, {"name": "b", "env": [_client(CLIENT)]}]})
    expected = ClientId(CLIENT, "", f"spec.{kind}[1].env[0].value")
    assert client_ids_of(pod, "", "") == (expected,)


def test_the_service_accounts_tenant_is_where_it_signs_in() -> None:
    """The annotation tenant-id holds for the client id beside it, unless the Pod names another."""
    found = client_ids_of(_pod(_tenant(TENANT), labels=LABELLED), CLIENT, ELSEWHERE.upper())
    assert [(each.client_id, each.tenant) for each in found] == [
        (CLIENT, ELSEWHERE),
        (CLIENT, TENANT),
    ]


@pytest.mark.parametrize(
    ("audience", "expected"),
    [
        ("api://AzureADTokenExchange", True),
        ("api://AzureADTokenExchangeUSGov", True),
        ("API://azureadtokenexchange", True),
        ("api://AKSIdentityBinding", True),
        ("", False),
        ("https://kubernetes.default.svc", False),
        ("sts.amazonaws.com", False),
        (" api://AzureADTokenExchange", False),
    ],
)
def test_audiences_of_entra(audience: str, *, expected: bool) -> None:
    """Those of all clouds, and of AKS' identity bindings, in whatever case."""
    assert is_for_entra(audience) is expected


def _many(count: int) -> list[Json]:
    return [_client(f"00000000-0000-4000-8000-{number:012d}") for number in range(count)]


def test_more_than_are_told_apart_count_as_hidden() -> None:
    """Nobody hides the one that counts behind others: the rest is told, as one that hides."""
    exact = client_ids_of(_pod(*_many(MOST_CLIENT_IDS)), "", "")
    more = client_ids_of(_pod(*_many(MOST_CLIENT_IDS + 1)), "", "")
    assert [bool(each.client_id) for each in exact] == [True] * MOST_CLIENT_IDS
    assert more == (*exact, ClientId("", "", f"{ENV}[{MOST_CLIENT_IDS}].value"))


def test_a_pod_full_of_client_ids_stays_cheap() -> None:
    """10,000 client ids and as many tenants are read in one pass; 10^8 steps would take 10 s."""
    tenants = [_tenant(each["value"]) for each in _many(10_000)]
    pod = _pod(*_many(10_000), *tenants, labels=LABELLED)
    began = time.process_time()
    found = client_ids_of(pod, CLIENT, "")
    assert time.process_time() - began < 2
    assert len(found) == MOST_CLIENT_IDS + 1


ids = st.sampled_from([CLIENT, OTHER, PRINCIPAL, "", "$(A)", "x"])
variables = st.one_of(
    st.builds(_client, ids),
    st.builds(_tenant, ids),
    st.sampled_from([_hidden("AZURE_CLIENT_ID"), _hidden("AZURE_TENANT_ID")]),
)


@given(
    env=st.lists(variables, max_size=6),
    more=variables,
    annotated=ids,
    labels=st.sampled_from([None, LABELLED]),
)
def test_to_say_more_takes_nothing_away(
    env: list[Json], more: Json, annotated: str, labels: Json | None
) -> None:
    """Whatever a Pod adds to its environment, every client id that it had by name is still told."""
    before = {each.client_id for each in client_ids_of(_pod(*env, labels=labels), annotated, "")}
    after = client_ids_of(_pod(*env, more, labels=labels), annotated, "")
    assert before - {""} <= {each.client_id for each in after}
    assert len(set(after)) == len(after) <= MOST_CLIENT_IDS + 1
