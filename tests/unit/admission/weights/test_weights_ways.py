"""By which ways weights are reached, in whatever spelling; and what is no way."""

from typing import Any

import pytest

from core.decision.decision import Decision
from core.decision.request import Kind, Operation
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.weights.weights_cluster import (
    CLIENT,
    Object,
    approved,
    claiming,
    decide,
    grant,
    mounting,
    rules,
    signing_in,
    volume,
    world,
)
from tests.unit.admission.world import ALICE, BOB, Folder, pod, request

GRANT = {"weights/grant"}


@pytest.mark.parametrize(
    "made",
    [
        pod(),
        pod(serviceAccountName="trainer"),
        signing_in("harmless"),
        mounting(containerName="scratch"),
        mounting(storageAccount="others"),
        pod(
            serviceAccountName="harmless",
            volumes=[
                {"name": "w", "azureFile": {"secretName": "llamaweights", "shareName": "prod"}}
            ],
        ),
    ],
)
async def test_what_reaches_no_weights_needs_no_grant(
    engine: EmbeddedEngine, folder: Folder, made: Object
) -> None:
    """Without a token an annotation opens nothing; names alone are nothing."""
    cluster = world(folder).cluster()
    assert not rules(await decide(cluster, engine, request(made)))


def token(audience: str) -> Object:
    """Return a projected token."""
    source = {"serviceAccountToken": {"path": "t", "audience": audience}}
    return {"name": "t", "projected": {"sources": [source]}}


def with_env(place: str, *env: Object) -> Object:
    """Return a Pod with a token for Entra, as another account, with an environment somewhere."""
    made = signing_in("harmless")
    container = {**made["spec"]["containers"][0], "name": "other", "env": list(env)}
    made["spec"].setdefault(place, []).append(container)
    return made


NAMED = {"name": "AZURE_CLIENT_ID", "value": CLIENT.upper()}


HIDDEN = {"name": "AZURE_CLIENT_ID", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}


@pytest.mark.parametrize(
    "made",
    [
        pod(serviceAccountName="trainer", volumes=[token("api://AzureADTokenExchange")]),
        pod(serviceAccountName="trainer", volumes=[token("API://azureadtokenexchange")]),
        pod(serviceAccount="trainer", volumes=[token("api://AzureADTokenExchange")]),
        with_env("containers", NAMED),
        with_env("initContainers", NAMED),
        with_env("ephemeralContainers", NAMED),
        with_env("containers", HIDDEN),
        mounting("harmless", STORAGEACCOUNT="llamaweights", storageAccount="others"),
        mounting("harmless", storageAccount="others", CLIENTID=CLIENT),
        mounting("harmless", storageAccount="others", clientID=""),
        mounting("harmless", storageAccount="LlamaWeights"),
        mounting("harmless", containerName="${pod.metadata.name}"),
        pod(
            serviceAccountName="harmless",
            volumes=[{"name": "w", "nfs": {"server": "10.1.0.5", "path": "/"}}],
        ),
        pod(
            serviceAccountName="harmless",
            volumes=[{"name": "w", "flexVolume": {"driver": "azure/blobfuse"}}],
        ),
    ],
)
async def test_ways_around_are_ways(engine: EmbeddedEngine, folder: Folder, made: Object) -> None:
    """Other spellings, containers that come first or late, hidden names, other drivers."""
    cluster = world(folder).cluster()
    assert rules(await decide(cluster, engine, request(made))) >= GRANT


async def test_an_account_that_a_grant_names_reaches_the_store_whatever_it_shows(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A program may sign in as any identity that its account is federated with."""
    ended = grant(serviceAccounts=["harmless"], expiresAt="2026-05-01T00:00:00Z")
    cluster = world(folder, *approved(ended)).cluster()
    decision = await decide(cluster, engine, request(signing_in("harmless")))
    assert rules(decision) == GRANT
    assert "hides as whom it signs in" in decision.message


async def test_a_claim_is_the_volume_that_it_has(engine: EmbeddedEngine, folder: Folder) -> None:
    """Bound, or kept for it; another claim is none."""
    items = [volume(), volume("train/bound", "uid-1", "bound")]
    cluster = world(folder, *items).cluster()
    for claim, wanted in (("weights", GRANT), ("bound", GRANT), ("other", set())):
        assert rules(await decide(cluster, engine, request(claiming(claim)))) == wanted


async def test_a_route_past_the_private_endpoint_is_refused_for_all(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """No grant makes it good."""
    cluster = world(folder, *approved(grant())).cluster()
    decision = await decide(cluster, engine, request(mounting(server="20.60.1.1")))
    assert rules(decision) == {"weights/public-route"}
    assert "20.60.1.1" in decision.message
    assert "llamaweights.blob.core.windows.net" in decision.message


def connect(who: Any, **more: Any) -> Any:
    """Return a shell into the Pod llama-0."""
    options = {"apiVersion": "v1", "kind": "PodExecOptions", "command": ["sh"], "stdin": True}
    kind = Kind("PodExecOptions", "v1")
    fields: Object = {"kind": kind, "operation": Operation.CONNECT, "subresource": "exec"}
    return request(options, who, **fields | more)


async def test_whoever_enters_needs_a_grant_too(engine: EmbeddedEngine, folder: Folder) -> None:
    """A shell reads as the Pod's identity: the grant must name who enters."""
    running = signing_in()
    cluster = world(folder, *approved(grant())).add_pod(running).cluster()
    assert not rules(await decide(cluster, engine, connect(ALICE)))
    refused = await decide(cluster, engine, connect(BOB))
    assert rules(refused) == GRANT
    assert "does not name who asked" in refused.message


async def test_a_debug_container_is_entering(engine: EmbeddedEngine, folder: Folder) -> None:
    """`kubectl debug` into what reaches weights."""
    old = signing_in()
    new = signing_in()
    new["spec"]["ephemeralContainers"] = [{**old["spec"]["containers"][0], "name": "debug"}]
    cluster = world(folder, *approved(grant())).cluster()
    for who, wanted in ((ALICE, set()), (BOB, GRANT)):
        update = request(
            new, who, old=old, operation=Operation.UPDATE, subresource="ephemeralcontainers"
        )
        assert rules(await decide(cluster, engine, update)) == wanted


async def token_request(cluster: Any, engine: EmbeddedEngine, audience: str, who: Any) -> Decision:
    """Ask for a token of the account trainer."""
    kind = Kind("TokenRequest", "v1", "authentication.k8s.io")
    made = {"spec": {"audiences": [audience], "expirationSeconds": 600}}
    asked = request(made, who, kind=kind, name="trainer", subresource="token")
    return await decide(cluster, engine, asked)


async def test_a_token_that_opens_weights_needs_a_grant(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """It is worth what a Pod of the account is worth; one for the API server is not."""
    cluster = world(folder, *approved(grant())).cluster()
    entra = "api://AzureADTokenExchange"
    assert rules(await token_request(cluster, engine, entra, BOB)) == GRANT
    assert not rules(await token_request(cluster, engine, entra, ALICE))
    assert not rules(await token_request(cluster, engine, "https://kubernetes.default", BOB))
