"""Settings of egress that a network cannot keep are refused, and say what to set instead."""

from typing import Any

import pytest
from pydantic import ValidationError

from app.settings.egress import EgressSection, dns_log_of, target_of
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


DNS_LOG = {"server_name": "kube-dns.example", "ca": "/c/ca", "cert": "/c/crt", "key": "/c/key"}


def test_logs_of_dns_are_off_until_they_are_named() -> None:
    """Then by all of their files."""
    assert dns_log_of(_section()) is None
    found = dns_log_of(_section(dns_log=DNS_LOG))
    assert found is not None
    assert (found.server_name, found.port) == ("kube-dns.example", 6053)
    assert [*map(str, (found.authority, found.certificate, found.key))] == [
        "/c/ca",
        "/c/crt",
        "/c/key",
    ]


@pytest.mark.parametrize(
    ("egress", "says"),
    [
        ({"dns_log": {**DNS_LOG, "server_name": ""}}, r"dns_log\.server_name: missing, though ca"),
        ({"dns_log": {**DNS_LOG, "ca": None}}, r"egress\.dns_log\.ca: missing"),
        ({"dns_log": {**DNS_LOG, "cert": None}}, r"egress\.dns_log\.cert: missing"),
        ({"dns_log": {**DNS_LOG, "key": None}}, r"egress\.dns_log\.key: missing"),
        ({"dns_log": DNS_LOG, "resolver": {"pods": False}}, r"set egress\.resolver\.pods to true"),
        ({"dns_log": DNS_LOG, "engine": "cilium"}, "cilium learns names by itself"),
        ({"dns_log": DNS_LOG, "engine": "cilium-aks"}, "cilium-aks learns names by itself"),
    ],
)
def test_logs_of_dns_that_cannot_be_read_are_refused(egress: dict[str, Any], says: str) -> None:
    """The message names the setting, and what to set instead."""
    with pytest.raises(SettingsError, match=says):
        dns_log_of(_section(**egress))


def test_an_engine_that_matches_addresses_may_have_logs() -> None:
    """Cilium without names too."""
    assert dns_log_of(_section(dns_log=DNS_LOG, engine="cilium-aks-basic")) is not None


@pytest.mark.parametrize("name", ["https://a", "a..b", "*.example", "10.0.0.1:53", "a" * 254])
def test_a_server_name_is_a_host_name(name: str) -> None:
    """It is compared with a certificate's."""
    with pytest.raises(ValidationError, match="server_name"):
        _section(dns_log={**DNS_LOG, "server_name": name})
