"""Azure's service tags, from the file that the operator gives: `ServiceTags_Public_*.json`.

Microsoft publishes one a week for each cloud; `az network list-service-tags` gives the same shape
(https://learn.microsoft.com/azure/virtual-network/service-tags-overview). A tag's prefixes are read
as networks only once somebody asks for the tag.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_network
from typing import Annotated, Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_error, decode_json
from core.base.networks import Network, collapse, parse_network
from egress.limits.shared_destinations import OwnedAddresses, is_shared_tag, tag_sharing_warning

MAX_BYTES: Final = 64 * 1024 * 1024
"""Of a file; in 2026, Azure's own has about 4 MiB."""

_MOST_SUGGESTED: Final = 3
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_WHAT: Final = "service tags"

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=253)]


class ServiceTag(msgspec.Struct, frozen=True):
    """One tag, its prefixes as they are written."""

    name: str
    index: int
    """Its place in `values`."""
    prefixes: tuple[str, ...]

    @property
    def field(self) -> str:
        """Where its prefixes stand in the file."""
        return f"values[{self.index}].properties.addressPrefixes"


class _Properties(msgspec.Struct, rename="camel"):
    address_prefixes: tuple[str, ...] | None


class _Value(msgspec.Struct):
    name: _Name
    properties: _Properties


class _File(msgspec.Struct, rename="camel"):
    cloud: str
    change_number: int | str
    values: list[msgspec.Raw]


_FILE: Final = msgspec.json.Decoder(_File)
_VALUE: Final = msgspec.json.Decoder(_Value)


@dataclass(frozen=True)
class ServiceTags:
    """All tags of a file (an `egress.model.facts.TagSource`).

    Capitals make no difference: Azure takes `AzureCloud.westeurope` and `AzureCloud.WestEurope` for
    the same in most places and not in all, its file has the one and its pages have the other. No
    two tags of a file differ in nothing else.
    """

    cloud: str
    """`Public`, `AzureGovernment` …"""
    change_number: str
    """Grows with each file of the cloud."""
    tags: Mapping[str, ServiceTag]
    """By name in small letters."""
    _networks: dict[str, tuple[Network, ...] | str] = field(default_factory=dict, compare=False)

    @property
    def source(self) -> str:
        """The file, as messages name it."""
        return f"{_WHAT} of cloud {self.cloud}, change {self.change_number}"

    def find(self, tag: str) -> ServiceTag:
        """Return a tag.

        Raises:
            InvalidObjectError: there is none of that name; with those that come near.
        """
        if (found := self.tags.get(tag.lower())) is not None:
            return found
        near = _near(tag.lower(), self.tags)
        meant = ", ".join(self.tags[each].name for each in near)
        hint = f"did you mean {meant}?" if near else "Azure's list of service tags has their names"
        raise InvalidObjectError(self.source, "", f"has no tag {tag!r}: {hint}")

    def networks(self, tag: str) -> tuple[Network, ...] | str:
        """Return a tag's networks, collapsed; or why there are none, for a person.

        Worked out once for each tag. One prefix that is wrong closes its whole tag.
        """
        key = tag.lower()
        if key not in self._networks:
            try:
                self._networks[key] = self._read(self.find(tag))
            except InvalidObjectError as error:
                if key not in self.tags:
                    return str(error)
                self._networks[key] = str(error)
        return self._networks[key]

    def warning(self, tag: str) -> str:
        """Return a warning for those who open a tag; empty where there is none."""
        return tag_sharing_warning(tag)

    def shared_by(self, network: Network) -> str:
        """Return a tag of all tenants that has addresses in a network; empty where none has."""
        return self._shared.owner_in(network)

    @cached_property
    def _shared(self) -> OwnedAddresses:
        """Return what all tenants share, by tag."""
        shared = (each.name for each in self.tags.values() if is_shared_tag(each.name))
        return OwnedAddresses((each, self._networks_or_none(each)) for each in shared)

    def _networks_or_none(self, tag: str) -> tuple[Network, ...]:
        found = self.networks(tag)
        return () if isinstance(found, str) else found

    def _read(self, tag: ServiceTag) -> tuple[Network, ...]:
        if not tag.prefixes:
            message = f"{tag.name} has no prefixes: it opens nothing"
            raise InvalidObjectError(self.source, tag.field, message)
        return collapse(
            _prefix(text, f"{tag.field}[{index}]", self.source)
            for index, text in enumerate(tag.prefixes)
        )


def parse_service_tags(raw: bytes) -> ServiceTags:
    """Read a file of service tags, of any week and cloud; unknown fields are passed over.

    Raises:
        InvalidObjectError: with the field's path and what it must be; also where two tags have one
            name.
    """
    if len(raw) > MAX_BYTES:
        raise InvalidObjectError(_WHAT, "", f"over {MAX_BYTES // 2**20} MiB: no file of Azure's")
    file = decode_json(_FILE, raw.removeprefix(_BYTE_ORDER_MARK), _WHAT)
    tags: dict[str, ServiceTag] = {}
    for index, value in enumerate(file.values):
        tag = _tag(index, value)
        before = tags.setdefault(tag.name.lower(), tag)
        if before is not tag:
            message = f"{tag.name!r} is the name of values[{before.index}] too: remove one of them"
            raise InvalidObjectError(_WHAT, f"values[{index}].name", message)
    return ServiceTags(file.cloud, str(file.change_number), tags)


def _near(tag: str, tags: Iterable[str]) -> list[str]:
    """Return names that may have been meant: of the services that come near, then of their tags.

    Comparing with every name would take a tenth of a second, and anybody may ask for 64 of them.
    """
    names = list(tags)
    services = {name.partition(".")[0] for name in names}
    close = set(difflib.get_close_matches(tag.partition(".")[0], services, 1, 0.5))
    of_those = [name for name in names if name.partition(".")[0] in close]
    return difflib.get_close_matches(tag, of_those, _MOST_SUGGESTED)


def _tag(index: int, raw: msgspec.Raw) -> ServiceTag:
    try:
        value = _VALUE.decode(raw)
    except DECODE_ERRORS as error:
        under = f"values[{index}]"
        refused = decode_error(_WHAT, error, under)
        raise InvalidObjectError(_WHAT, _with_place(refused.field, raw), refused.problem) from error
    return ServiceTag(value.name, index, value.properties.address_prefixes or ())


def _with_place(path: str, raw: msgspec.Raw) -> str:
    """Say which of the prefixes is meant: msgspec writes `[...]` for any."""
    if not path.endswith("[...]"):
        return path
    prefixes: Sequence[object] = msgspec.json.decode(raw)["properties"]["addressPrefixes"]
    place = next(index for index, each in enumerate(prefixes) if not isinstance(each, str))
    return f"{path.removesuffix('[...]')}[{place}]"


def _prefix(text: str, path: str, what: str) -> Network:
    """Read a prefix; unlike in intents, any spelling of it will do, and one address has no length.

    Raises:
        InvalidObjectError: it is none, or every address.
    """
    try:
        plain = str(ip_network(text))
    except ValueError:
        plain = text
    network = parse_network(plain, field=path, what=what)
    if network.prefixlen == 0:
        raise InvalidObjectError(what, path, f"{text!r} is every address: no tag means that")
    return network
