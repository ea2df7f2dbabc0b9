"""Azure's service tags: files of any week are read, and what is wrong has its place."""

import json
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_network
from typing import Any

import pytest

from core.base.errors import InvalidObjectError
from egress.service_tags import ServiceTags, parse_service_tags
from tests.harness.worlds import service_tags
from tests.harness.worlds.service_tags import CLOUD_V4, CLOUD_V6, COUNTS

Content = dict[str, Any]


@pytest.fixture(scope="module")
def whole() -> Content:
    """The content of a file of full size."""
    return service_tags.service_tags()


@pytest.fixture(scope="module")
def azure(whole: Content) -> ServiceTags:
    """All tags of a file of full size."""
    return parse_service_tags(service_tags.encoded(whole))


def tag(name: str, *prefixes: object, **properties: object) -> Content:
    """Return an entry of `values`."""
    return {
        "name": name,
        "id": name,
        "properties": {"addressPrefixes": list(prefixes), "systemService": "", **properties},
    }


def file(*values: object, **fields: object) -> bytes:
    """Return a file."""
    return json.dumps({"changeNumber": 7, "cloud": "Public", "values": values, **fields}).encode()


def networks(tags: ServiceTags, name: str) -> tuple[str, ...]:
    """Return a tag's networks as text."""
    found = tags.networks(name)
    assert not isinstance(found, str), found
    return tuple(map(str, found))


def test_the_made_up_file_has_the_real_ones_size(whole: Content) -> None:
    """Over 3,000 tags; those whose size is known have as many prefixes of each family."""
    assert len(whole["values"]) > 3_000
    for name, (four, six) in COUNTS.items():
        prefixes = [ip_network(text) for text in service_tags.prefixes(whole, name)]
        assert [each.version for each in prefixes].count(4) == four, name
        assert [each.version for each in prefixes].count(6) == six, name


def test_the_made_up_file_is_the_same_by_its_seed(whole: Content) -> None:
    """One seed gives one file; another gives another."""
    assert service_tags.service_tags() == whole
    assert service_tags.service_tags(2) != whole


def test_the_whole_cloud_collapses(azure: ServiceTags) -> None:
    """AzureCloud comes out as the fewest networks: as many as the facts say of the real one."""
    found = azure.networks("AzureCloud")
    assert not isinstance(found, str)
    versions = [each.version for each in found]
    assert (versions.count(4), versions.count(6)) == (CLOUD_V4[1], CLOUD_V6[1])


def test_collapsing_keeps_the_addresses(whole: Content, azure: ServiceTags) -> None:
    """What a tag opens is what its prefixes hold: no address more, none less."""
    for name in COUNTS:
        prefixes = [ip_network(text) for text in service_tags.prefixes(whole, name)]
        found = azure.networks(name)
        assert not isinstance(found, str)
        for version in (4, 6):
            assert spans([each for each in found if each.version == version]) == spans(
                [each for each in prefixes if each.version == version]
            )


def spans(of: Sequence[Any]) -> list[tuple[int, int]]:
    """Return first and last addresses, those that touch put together."""
    joined: list[tuple[int, int]] = []
    for one in sorted(of, key=lambda each: int(each.network_address)):
        first, last = int(one.network_address), int(one.broadcast_address)
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def test_tags_that_nobody_asks_for_are_not_read() -> None:
    """A file is taken though a tag in it is wrong, and the others work; that one says where."""
    tags = parse_service_tags(file(tag("Good", "192.0.2.0/24"), tag("Bad", "192.0.2.0/24", "x/1")))
    assert networks(tags, "Good") == ("192.0.2.0/24",)
    assert tags.networks("Bad") == (
        "service tags of cloud Public, change 7: values[1].properties.addressPrefixes[1]: "
        "'x/1' must be a network in CIDR notation, such as 10.0.0.0/8 or 2001:db8::/32"
    )


def test_a_tag_is_read_once() -> None:
    """Asked again, in whatever capitals, it is the same object."""
    tags = parse_service_tags(file(tag("Some.Tag", "192.0.2.0/24")))
    assert tags.networks("Some.Tag") is tags.networks("some.tag")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "must be a network in CIDR notation"),
        ("192.0.2.1/24", "is not in its canonical form: write 192.0.2.0/24"),
        ("192.0.2.0/33", "must be a network in CIDR notation"),
        ("::ffff:192.0.2.0/120", "IPv4-mapped"),
        ("0.0.0.0/0", "is every address"),
        ("::/0", "is every address"),
        ("storage.example.org", "must be a network in CIDR notation"),
    ],
)
def test_a_bad_prefix_closes_its_tag(text: str, problem: str) -> None:
    """No tag is opened in part: one prefix that is wrong is told, and nothing of the tag opens."""
    found = parse_service_tags(file(tag("T", "192.0.2.0/24", text))).networks("T")
    assert isinstance(found, str)
    assert "values[0].properties.addressPrefixes[1]: " in found
    assert problem in found


def test_prefixes_may_be_spelled_in_any_way() -> None:
    """A file may write IPv6 in full, and single addresses without a length."""
    tags = parse_service_tags(file(tag("T", "2603:1000:0004::/48", "192.0.2.7", "2603:1000:4:1::")))
    assert networks(tags, "T") == ("192.0.2.7/32", "2603:1000:4::/48")


@pytest.mark.parametrize("name", ["Storage.WestEurope", "storage.westeurope", "STORAGE.WESTEUROPE"])
def test_capitals_make_no_difference(azure: ServiceTags, name: str) -> None:
    """Azure's file writes AzureCloud's regions small, its pages do not: both find the tag."""
    assert azure.find(name).name == "Storage.WestEurope"


def test_a_name_that_is_none_has_suggestions(azure: ServiceTags) -> None:
    """The error says which tags come near, and which file it was; or where the names are."""
    near = azure.networks("Storge.WestEurope")
    assert isinstance(near, str)
    assert near.startswith("service tags of cloud Public, change 401: has no tag 'Storge.West")
    assert "did you mean Storage.WestEurope" in near
    undotted = azure.networks("StorageWestEurope")
    assert isinstance(undotted, str)
    assert "did you mean Storage.WestEurope" in undotted
    far = azure.networks("zzzzzz")
    assert isinstance(far, str)
    assert far.endswith("Azure's list of service tags has their names")


def test_a_tag_without_prefixes_is_told() -> None:
    """An empty list, or null, opens nothing and says so; the file is taken."""
    null = {"name": "Null", "properties": {"addressPrefixes": None}}
    tags = parse_service_tags(file(tag("Empty"), null))
    for index, name in enumerate(("Empty", "Null")):
        assert tags.networks(name) == (
            f"service tags of cloud Public, change 7: values[{index}].properties.addressPrefixes: "
            f"{name} has no prefixes: it opens nothing"
        )


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.update(newField={"deep": [1]}),
        lambda file: file["values"][0].update(etag="x"),
        lambda file: file["values"][0]["properties"].update(region="marsnorth", regionId=991),
        lambda file: file["values"][0]["properties"].update(networkFeatures=None),
        lambda file: file["values"][0]["properties"].update(state="GA", systemService=""),
        lambda file: file.update(changeNumber="401", cloud="AzureChinaCloud"),
        lambda file: file["values"].reverse(),
    ],
)
def test_any_weeks_file_is_taken(whole: Content, change: Callable[[Content], None]) -> None:
    """Unknown fields, new regions and platforms, empty services, the API's number in quotes."""
    changed = {**whole, "values": json.loads(json.dumps(whole["values"][:40]))}
    change(changed)
    tags = parse_service_tags(service_tags.encoded(changed))
    assert len(tags.tags) == 40
    assert (tags.cloud, tags.change_number) == (changed["cloud"], str(changed["changeNumber"]))
    assert not any(isinstance(tags.networks(name), str) for name in tags.tags)


def test_a_byte_order_mark_is_passed_over() -> None:
    """Windows' PowerShell writes one in front of what it saves."""
    assert parse_service_tags(b"\xef\xbb\xbf" + file(tag("T", "192.0.2.0/24"))).find("T").index == 0


@pytest.mark.parametrize(
    ("raw", "field", "problem"),
    [
        (b"", "", "truncated"),
        (b"<html>", "", "malformed"),
        (b"[]", "", "Expected `object`"),
        (b'{"cloud": "Public", "changeNumber": 1}', "", "missing required field `values`"),
        (file(1), "values[0]", "Expected `object`"),
        (
            file(tag("A"), {"properties": {"addressPrefixes": []}}),
            "values[1]",
            "required field `name`",
        ),
        (file(tag("A"), {"name": "B"}), "values[1]", "required field `properties`"),
        (
            file(tag("A"), {"name": "B", "properties": {}}),
            "values[1].properties",
            "required field `addressPrefixes`",
        ),
        (
            file(tag("A"), tag("B", "192.0.2.0/24", "192.0.3.0/24", 7)),
            "values[1].properties.addressPrefixes[2]",
            "Expected `str`",
        ),
        (
            file({"name": "B", "properties": {"addressPrefixes": "192.0.2.0/24"}}),
            "values[0].properties.addressPrefixes",
            "Expected `array | null`",
        ),
        (file(tag("")), "values[0].name", "length >= 1"),
        (file(tag("A"), tag("B"), tag("A")), "values[2].name", "name of values[0] too"),
        (file(tag("A"), tag("a")), "values[1].name", "name of values[0] too"),
    ],
)
def test_what_is_no_such_file_has_its_place(raw: bytes, field: str, problem: str) -> None:
    """An error names the field, by its index, and what is wrong with it."""
    with pytest.raises(InvalidObjectError) as refused:
        parse_service_tags(raw)
    assert refused.value.field == field
    assert problem in refused.value.problem


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Storage", "accounts of every tenant"),
        ("Storage.WestEurope", "accounts of every tenant"),
        ("storage.westeurope", "accounts of every tenant"),
        ("AzureCloud", "public addresses of every tenant"),
        ("AzureCloud.westeurope", "public addresses of every tenant"),
        ("AzureContainerRegistry.WestEurope", "registries of every tenant"),
        ("AzureKeyVault", "vaults of every tenant"),
        ("AzureFrontDoor.Frontend", "sites of every tenant"),
        ("Sql.WestEurope", "databases of every tenant"),
    ],
)
def test_ways_out_are_warned_of(azure: ServiceTags, name: str, words: str) -> None:
    """A tag behind which strangers can be says so, and points to private endpoints."""
    warning = azure.warning(name)
    assert words in warning
    assert "private endpoint" in warning


@pytest.mark.parametrize("name", ["GatewayManager", "StorageSyncService", "AzureActiveDirectory"])
def test_other_tags_are_not_warned_of(azure: ServiceTags, name: str) -> None:
    """A name that only begins like a shared one is another service."""
    assert not azure.warning(name)


def test_an_error_is_of_the_file_that_is_asked() -> None:
    """Files of several clouds are told apart in messages."""
    tags: Mapping[str, ServiceTags] = {
        cloud: parse_service_tags(file(cloud=cloud)) for cloud in ("Public", "AzureGovernment")
    }
    for cloud, each in tags.items():
        assert f"of cloud {cloud}, change 7" in str(each.networks("Storage"))


def test_addresses_of_shared_tags_are_found() -> None:
    """By any network that has one of them; a tag that one customer owns alone is none."""
    values = [
        ("Storage.WestEurope", ["20.60.0.0/24", "2603:1020:206::/48"]),
        ("AzureKeyVault", ["20.61.0.0/24"]),
        ("Sql.NorthEurope", ["20.60.0.128/25", "20.60.1.0/25"]),
        ("AzureMonitorAgent", ["20.70.0.0/24"]),
    ]
    tags = parse_service_tags(
        json.dumps(
            {
                "cloud": "Public",
                "changeNumber": 1,
                "values": [
                    {"name": name, "properties": {"addressPrefixes": prefixes}}
                    for name, prefixes in values
                ],
            }
        ).encode()
    )
    said = {
        text: tags.shared_by(ip_network(text))
        for text in (
            *("20.60.0.0/16", "20.60.0.7/32", "20.60.1.127/32", "20.60.1.128/32", "20.61.0.0/23"),
            *("20.70.0.0/24", "0.0.0.0/0", "2603:1020:206:1::/64", "2603:1020:207::/48"),
        )
    }
    assert said == {
        "20.60.0.0/16": "Sql.NorthEurope",
        "20.60.0.7/32": "Storage.WestEurope",
        "20.60.1.127/32": "Sql.NorthEurope",
        "20.60.1.128/32": "",
        "20.61.0.0/23": "AzureKeyVault",
        "20.70.0.0/24": "",
        "0.0.0.0/0": "AzureKeyVault",
        "2603:1020:206:1::/64": "Storage.WestEurope",
        "2603:1020:207::/48": "",
    }
