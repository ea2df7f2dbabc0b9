"""Settings of egress that a network cannot keep are refused, and say what to set instead."""

from typing import Any

import pytest
from pydantic import ValidationError

from app.settings.egress import EgressSection, target_of
from core.base.errors import SettingsError

LOCAL_DNS = {"addresses": ["169.254.10.10/32"]}


def _section(**egress: Any) -> EgressSection:
    return EgressSection.model_validate(egress)


def test_names_by_cilium_and_dns_on_the_node_are_refused() -> None:
    """The message names the setting, the reason and what works."""
    with pytest.raises(SettingsError, match=r"egress\.engine: cilium-aks .* to cilium-aks-basic"):
        target_of(_section(engine="cilium-aks", dns=LOCAL_DNS))
    for engine in ("cilium", "cilium-aks-basic", "networkpolicy"):
        assert target_of(_section(engine=engine, dns=LOCAL_DNS)).dns.is_on_node


@pytest.mark.parametrize(
    "wide", ["169.254.0.0/16", "169.254.169.0/24", "10.0.0.0/8", "fd20:ce::200/120"]
)
def test_networks_that_are_no_servers_are_refused(wide: str) -> None:
    """No guard denies the addresses of DNS: metadata's must not be among them."""
    with pytest.raises(SettingsError, match=r"egress\.dns\.addresses: .* name the servers"):
        target_of(_section(dns={"addresses": [wide]}))


def test_aks_appends_its_own_search_domain() -> None:
    """Unless the operator says which."""
    assert target_of(_section(engine="cilium-aks")).dns.search == ("*.*.internal.cloudapp.net",)
    named = _section(engine="cilium-aks", dns={"search": ["reddog.microsoft.com"]})
    assert target_of(named).dns.search == ("reddog.microsoft.com",)
    assert target_of(_section(engine="cilium")).dns.search == ()


def test_more_than_one_set_of_pods_may_answer() -> None:
    """CoreDNS first, then those that the operator names."""
    others = [{"namespace": "dns", "labels": {"app": "cache"}}]
    pods = target_of(_section(dns={"others": others})).dns.pods
    assert [each.namespace for each in pods] == ["kube-system", "dns"]
    assert all(each.requirements for each in pods)


@pytest.mark.parametrize(
    "egress",
    [
        {"dns": {"search": ["a..b"]}},
        {"dns": {"search": ["internal.*"]}},
        {"dns": {"others": [{"namespace": "dns", "labels": {}}]}},
        {"ip_families": []},
        {"ip_families": ["IPv5"]},
    ],
)
def test_what_is_no_setting_is_refused(egress: dict[str, Any]) -> None:
    """A selector without labels would open DNS to every Pod of a namespace."""
    with pytest.raises(ValidationError):
        _section(**egress)
