"""What is taken and may not be meant is told in one short line."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from core.base.networks import Network, network_of
from core.decision.decision import Action, Verdict
from core.egress.enrolment import Enrolment
from egress.limits.settings import IntentSettings
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.egress.allowlist_requests import (
    GROUND,
    Object,
    found,
    intent,
    shared,
    stored,
    written,
)
from tests.unit.admission.world import Folder

World = Callable[..., Watched]
WHOLE = [{"protocol": "TCP", "port": 1, "endPort": 65535}]


@pytest.fixture
def world(folder: Folder) -> World:
    """A cluster with the namespace, and more objects."""
    base = list(folder.documents)

    def make(*items: dict[str, Any], **labels: str) -> Watched:
        marks = {f"sallyport.dev/{key}": value for key, value in labels.items()}
        metadata = {"name": "train", "labels": marks}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        folder.documents[:] = [*base, namespace, *items]
        folder.grant(
            "ServiceAccount:train/trainer", namespace="train", resource="egressdestinations"
        )
        return Watched(folder.cluster())

    return make


class Tags:
    """A file of one large tag."""

    def networks(self, tag: str) -> tuple[Network, ...] | str:
        """Return its networks."""
        return (network_of("20.0.0.0/12"),) if tag == "Large" else f"{tag} is not in the file"

    def shared_by(self, network: Network) -> str:
        """Say that nobody shares it."""
        del network
        return ""

    def warning(self, tag: str) -> str:
        """Say nothing."""
        del tag
        return ""


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"cidr": "10.0.0.0/8"}, ("broad", "spec.to", "10.0.0.0/8 is broader than /16")),
        ({"serviceTag": "AzureCloud"}, ("broad", "spec.to", "service tag AzureCloud")),
        ({"serviceTag": "Large"}, ("broad", "spec.to", "20.0.0.0/12 is broader than /16")),
        ({"dnsName": "*"}, ("broad", "spec.to", "every DNS name (*)")),
        ({"dnsName": "*.com"}, ("broad", "spec.to", "*.com: fewer than 2 labels")),
        (
            {"dnsName": "*.example.com"},
            ("wildcard", "spec.to[0].dnsName", "stays closed: the engine here knows no patterns"),
        ),
        (
            {"serviceTag": "Storage.WestEurope"},
            (
                "many-tenants",
                "spec.to[0].serviceTag",
                "Storage.WestEurope covers the accounts of every tenant",
            ),
        ),
        (
            {"dnsName": "*.blob.core.windows.net"},
            ("shared", "spec.to[0].dnsName", "every customer's Azure Storage: data can leave"),
        ),
        (
            {"dnsName": "weights.blob.core.windows.net"},
            ("shared", "spec.to[0].dnsName", "Azure Storage shares addresses among customers"),
        ),
        (
            {"dnsName": "d111111abcdef8.cloudfront.net"},
            (
                "shared",
                "spec.to[0].dnsName",
                "Amazon CloudFront serves many customers by the same addresses",
            ),
        ),
        (
            {"dnsName": "xn--80ak6aa92e.com"},
            (
                "punycode",
                "spec.to[0].dnsName",
                "is read as '\\u0430\\u0440\\u0440\\u04cf\\u0435.com'",
            ),
        ),
        (
            {"cidr": "169.254.169.254/32"},
            (
                "reserved",
                "spec.to[0].cidr",
                "169.254.169.254/32 is reserved (metadata, the node itself): this opens it",
            ),
        ),
        (
            {"cidr": "10.240.3.0/24"},
            (
                "reserved",
                "spec.to[0].cidr",
                "10.240.3.0/24 is the cluster's own (Pods, Services, nodes): this opens it",
            ),
        ),
        (
            {"dnsName": "a.example", "ports": WHOLE},
            ("broad", "spec.to", "every port of TCP"),
        ),
    ],
)
async def test_what_may_not_be_meant_is_told(
    engine: EmbeddedEngine, world: World, entry: Object, told: tuple[str, str, str]
) -> None:
    """It is taken; the line names the field, and is short; of a set too."""
    rule, path, words = told
    settings = replace(GROUND, tags=Tags(), ranges=(network_of("10.240.0.0/16"),))
    for item in (intent(entry), shared(entry)):
        decision = await written(world(), engine, item, settings=settings)
        assert (decision.verdict, decision.allowed) == (Verdict.WARN, True)
        (finding,) = found(decision, rule)
        assert (finding.action, finding.path) == (Action.WARN, path)
        assert words in finding.message
        assert any(words[:40] in line for line in decision.warnings)
        assert all(len(line) <= 120 for line in decision.warnings)


@pytest.mark.parametrize(
    "entry",
    [
        {"dnsName": "weights.blob.core.windows.net", "within": ["10.8.0.0/24"]},
        {"dnsName": "notcloudfront.net"},
        {"dnsName": "packages.example.org"},
        {"cidr": "20.0.0.0/16"},
        {"serviceTag": "Unknown"},
        {"service": {"name": "db", "namespace": "eval"}},
        {"dnsName": "a.example", "ports": [{"protocol": "TCP", "port": 8000, "endPort": 9000}]},
    ],
)
async def test_private_endpoint_gives_no_warning(
    engine: EmbeddedEngine, world: World, entry: Object
) -> None:
    """A private endpoint of a shared service is what the warning asks for."""
    assert (await written(world(), engine, intent(entry))).warnings == []


async def test_a_broad_one_names_the_command(engine: EmbeddedEngine, world: World) -> None:
    """Whoever wrote it can send the line to those who approve."""
    decision = await written(world(), engine, intent({"cidr": "10.0.0.0/8"}))
    command = "sallyport approve eal packages -n train"
    assert f"it opens nothing until two others approve it: {command}" in decision.warnings
    decision = await written(world(), engine, shared({"cidr": "10.0.0.0/8"}))
    assert any(line.endswith("sallyport approve eds registry") for line in decision.warnings)
    long = stored(intent({"cidr": "10.0.0.0/8"}, name="a" * 200))
    lines = (await written(world(), engine, long)).warnings
    assert "it opens nothing until two others approve it: sallyport approve" in lines


async def test_an_engine_that_knows_names_knows_patterns(
    engine: EmbeddedEngine, world: World
) -> None:
    """Then a wildcard of enough labels is ordinary."""
    item = intent({"dnsName": "*.example.com"})
    settings = replace(GROUND, knows_names=True)
    assert (await written(world(), engine, item, settings=settings)).warnings == []


async def test_a_long_time_is_told(engine: EmbeddedEngine, world: World) -> None:
    """From more than 180 days on; an end is for coming back to it."""
    for expires, told in (("2026-11-28T00:00:00Z", False), ("2026-11-29T00:00:00Z", True)):
        decision = await written(world(), engine, intent({"pods": {}}, expiresAt=expires))
        assert bool(found(decision, "lasting")) is told


@pytest.mark.parametrize(
    ("label", "default", "told"),
    [
        ({}, False, True),
        ({}, True, False),
        ({"egress": "open"}, True, True),
        ({"egress": "deny"}, False, False),
        ({"egress": "anything"}, False, False),
    ],
)
async def test_where_it_has_no_effect_is_told(
    engine: EmbeddedEngine, world: World, label: dict[str, str], *, default: bool, told: bool
) -> None:
    """A namespace that is not enrolled, by its label or by the setting."""
    cluster, settings = world(**label), IntentSettings(enrolment=Enrolment(default=default))
    decision = await written(cluster, engine, intent({"pods": {}}), settings=settings)
    assert bool(found(decision, "not-enrolled")) is told


async def test_a_set_that_is_not_there_is_told(engine: EmbeddedEngine, world: World) -> None:
    """It may be made later: files are applied in any order."""
    item = intent({"pods": {}}, {"destinations": {"name": "registry"}})
    (finding,) = found(await written(world(), engine, item), "no-set")
    assert finding.path == "spec.to[1].destinations"
    there = stored(shared({"dnsName": "packages.example.org"}))
    assert (await written(world(there), engine, item)).warnings == []


async def test_an_account_that_is_not_there_is_told(
    engine: EmbeddedEngine, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the watch of accounts; where it is lost nobody is warned, and nothing is refused."""
    cluster = world()
    known = {"trainer": 0.0}
    monkeypatch.setattr(cluster, "service_account_made", lambda _, name: known.get(name))
    item = intent({"pods": {}}, serviceAccounts=["trainer", "typo"])
    (finding,) = found(await written(cluster, engine, item), "account")
    assert finding.path == "spec.serviceAccounts[1]"
    monkeypatch.undo()
    cluster.lost = "service-accounts"
    assert (await written(cluster, engine, item)).warnings == []


async def test_an_update_that_changes_nothing_tells_nothing(
    engine: EmbeddedEngine, world: World
) -> None:
    """Controllers write labels and annotations again and again."""
    item = stored(intent({"cidr": "10.0.0.0/8"}))
    decision = await written(world(), engine, item, item)
    assert (decision.verdict, decision.warnings) == (Verdict.ALLOW, [])
