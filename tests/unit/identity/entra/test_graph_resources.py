"""What is asked of Graph: ids, levels, states, times and types; and nowhere else."""

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.entra.graph_requests import (
    Resource,
    is_ours,
    url_of_all,
    url_of_applications,
    url_of_changes,
)

SITE = "https://graph.example:8443"
USERS = f"{SITE}/v1.0/identityProtection/riskyUsers"
ALLOWED = {
    *("id", "isDeleted", "riskLevel", "riskState", "riskLastUpdatedDateTime", "appId"),
    *("riskEventType", "activityDateTime", "detectedDateTime", "userId", "servicePrincipalId"),
    *("servicePrincipalType", "appOwnerOrganizationId"),
}


@pytest.mark.parametrize("resource", Resource)
def test_no_name_mail_or_address_is_ever_asked_for(resource: Resource) -> None:
    """Each request says which fields it wants, and only these are among them."""
    url = urlsplit(url_of_all(SITE, resource))
    query = parse_qs(url.query)
    assert set(query["$select"][0].split(",")) <= ALLOWED
    assert query["$top"] == ["500"]
    assert url.path == resource.path


def test_what_changed_is_asked_for_by_graphs_own_time() -> None:
    """The filter names the field of the resource, and survives being read back."""
    url = url_of_changes(SITE, Resource.USERS, "2026-11-22T08:00:00Z")
    query = parse_qs(urlsplit(url).query)
    assert query["$filter"] == ["riskLastUpdatedDateTime ge 2026-11-22T08:00:00Z"]


def test_applications_are_asked_for_by_id() -> None:
    """Several in one request."""
    url = url_of_applications(SITE, ["a", "b"], "appId")
    assert parse_qs(urlsplit(url).query)["$filter"] == ["appId in ('a','b')"]


@pytest.mark.parametrize(
    "link",
    [
        f"{USERS}?$skiptoken=abc",
        f"{USERS}?$select=id&$skiptoken=a%2Fb",
        "https://GRAPH.example:8443/v1.0/identityprotection/riskyusers?$skiptoken=abc",
    ],
)
def test_the_next_page_of_the_same_resource_is_ours(link: str) -> None:
    """As Graph sends it."""
    assert is_ours(link, SITE, Resource.USERS)


@pytest.mark.parametrize(
    "link",
    [
        "https://evil.example/v1.0/identityProtection/riskyUsers?$skiptoken=abc",
        "http://graph.example:8443/v1.0/identityProtection/riskyUsers",
        "https://graph.example/v1.0/identityProtection/riskyUsers",
        "https://graph.example:8444/v1.0/identityProtection/riskyUsers",
        "https://graph.example:8443@evil.example/v1.0/identityProtection/riskyUsers",
        "https://user:pass@graph.example:8443/v1.0/identityProtection/riskyUsers",
        "https://graph.example:8443.evil.example/v1.0/identityProtection/riskyUsers",
        "https://graph.example:port/v1.0/identityProtection/riskyUsers",
        f"{SITE}/v1.0/users?$skiptoken=abc",
        f"{SITE}/v1.0/identityProtection/riskyUsers/../../users",
        f"{SITE}/beta/identityProtection/riskyUsers",
        f"{SITE}\\@evil.example/v1.0/identityProtection/riskyUsers",
        f"{USERS}#@evil.example",
        f"{USERS}?$skiptoken=\nabc",
        f"{USERS}?$skiptoken=" + "a" * 20_000,
        "//evil.example/v1.0/identityProtection/riskyUsers",
        "https://[::1/v1.0/identityProtection/riskyUsers",
        "ｈttps://graph.example:8443/v1.0/identityProtection/riskyUsers",
        "",
    ],
)
def test_next_page_on_another_host_is_not_followed(link: str) -> None:
    """The token would go with the request."""
    assert not is_ours(link, SITE, Resource.USERS)


@given(st.text(max_size=80))
def test_no_text_of_any_kind_leads_to_another_host(text: str) -> None:
    """Whatever stands between scheme and path."""
    link = f"https://{text}/v1.0/identityProtection/riskyUsers"
    if is_ours(link, SITE, Resource.USERS):
        assert urlsplit(link).netloc.casefold() == "graph.example:8443"
