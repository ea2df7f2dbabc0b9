"""By which ways a store is reached, and what is none."""

from typing import Any

import msgspec
import pytest

from core.approvals.store_narrowing import find_narrowings, store_digest
from core.kubernetes.blob_volumes import BlobMount
from core.weights.access_paths import HIDDEN_CLIENT, WeightStoreSet
from core.weights.stores import WeightStore, parse_store

Spec = dict[str, Any]

CLIENT = "11111111-2222-3333-4444-555555555555"
OTHER = "99999999-2222-3333-4444-555555555555"
SPEC: Spec = {
    "account": "llamaweights",
    "containers": [{"name": "prod", "prefixes": ["llama-4/", "llama-5/"]}, {"name": "base"}],
    "owner": "weights-team",
    "privateEndpoints": ["10.1.0.5/32"],
    "identities": [{"clientId": CLIENT, "rights": ["read", "write"]}],
    "checkpointSize": "100Gi",
}


def store(**spec: Any) -> WeightStore:
    """Return a store; None takes a field away."""
    whole = {key: value for key, value in (SPEC | spec).items() if value is not None}
    meta = {"name": "llama", "uid": "u"}
    return parse_store(msgspec.json.encode({"metadata": meta, "spec": whole}))


def test_an_identity_reaches_the_stores_that_it_opens() -> None:
    """With its rights; one that is hidden may be any; another opens nothing."""
    stores = WeightStoreSet([store()])
    assert [way.rights for way in stores.signing_in(CLIENT, "p")] == [{"read", "write"}]
    assert [way.shown for way in stores.signing_in(HIDDEN_CLIENT, "p")] == [""]
    assert not list(stores.signing_in(OTHER, "p"))
    assert not list(WeightStoreSet([store(identities=None)]).signing_in(HIDDEN_CLIENT, "p"))


@pytest.mark.parametrize(
    ("mount", "reaches"),
    [
        (BlobMount(account="llamaweights", container="prod"), True),
        (BlobMount(account="llamaweights"), True),
        (BlobMount(account="llamaweights", container="scratch"), False),
        (BlobMount(account="other", container="prod"), False),
        (BlobMount(container="prod"), True),
        (BlobMount(container="scratch"), False),
        (BlobMount(), True),
        (BlobMount(container="prod", certain=False), False),
        (BlobMount(account="export", container="prod", server="10.1.0.5", certain=False), True),
        (BlobMount(account="export", container="prod", server="10.1.0.6", certain=False), False),
    ],
)
def test_a_volume_reaches_by_account_or_address(mount: BlobMount, *, reaches: bool) -> None:
    """A hidden account may be any; another container of the account holds no weights."""
    assert bool(list(WeightStoreSet([store()]).mounting([mount]))) is reaches


@pytest.mark.parametrize(
    ("server", "around"),
    [
        ("", ""),
        ("10.1.0.5", ""),
        ("llamaweights.blob.core.windows.net", ""),
        ("llamaweights.privatelink.blob.core.windows.net", ""),
        ("20.60.1.1", "20.60.1.1"),
        ("llamaweights-secondary.blob.core.windows.net",) * 2,
        ("proxy.example",) * 2,
    ],
)
def test_a_route_past_the_private_endpoint_is_told(server: str, around: str) -> None:
    """Its addresses and the account's own names are no way around; every other host is."""
    mount = BlobMount(account="llamaweights", container="prod", server=server)
    assert [way.public for way in WeightStoreSet([store()]).mounting([mount])] == [around]
    open_to_all = store(privateEndpoints=None)
    assert [way.public for way in WeightStoreSet([open_to_all]).mounting([mount])] == [""]


@pytest.mark.parametrize(
    ("change", "narrower"),
    [
        ({}, False),
        ({"owner": "others"}, False),
        ({"containers": [*SPEC["containers"], {"name": "new"}]}, False),
        ({"containers": [{"name": "prod"}, {"name": "base"}]}, False),
        ({"containers": [{"name": "prod", "prefixes": ["llama-"]}, {"name": "base"}]}, False),
        ({"containers": [{"name": "prod", "prefixes": ["llama-4/"]}, {"name": "base"}]}, True),
        ({"containers": [{"name": "prod", "prefixes": ["llama-4/", "llama-5/"]}]}, True),
        ({"containers": [*SPEC["containers"][:1], {"name": "base", "prefixes": ["a"]}]}, True),
        ({"account": "otheraccount"}, True),
        ({"endpointSuffix": "core.chinacloudapi.cn"}, True),
        ({"identities": None}, True),
        ({"identities": [{"clientId": CLIENT, "rights": ["read"]}]}, True),
        ({"identities": [{"clientId": OTHER, "rights": ["read", "write"]}]}, True),
        ({"identities": [{"clientId": CLIENT, "rights": ["delete", "write", "read"]}]}, False),
        ({"privateEndpoints": ["10.1.0.6/32"]}, True),
        ({"privateEndpoints": ["10.1.0.4/31"]}, False),
        ({"privateEndpoints": None}, True),
        ({"checkpointSize": "50Gi"}, False),
        ({"checkpointSize": "200Gi"}, True),
        ({"checkpointSize": None}, True),
    ],
)
def test_what_guards_less_is_told_from_what_guards_more(change: Spec, *, narrower: bool) -> None:
    """Whoever may write the kind may let it guard more."""
    assert bool(find_narrowings(store(), store(**change))) is narrower


def test_removing_a_store_is_narrowing_and_has_a_digest_of_its_own() -> None:
    """What is approved is that it goes: never taken for an approval of a change."""
    assert find_narrowings(store(), None)
    assert store_digest("llama", None) != store_digest("llama", store())
    assert store_digest("llama", None) != store_digest("other", None)
