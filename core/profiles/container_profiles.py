"""ContainerProfiles: lists of privileges that RBAC lets a subject use."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

import msgspec

from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_error
from core.kubernetes.names import SUBDOMAIN
from core.kubernetes.object_meta import NameMeta
from core.profiles.defaults import NO_DEFAULTS, Defaults, normalize_defaults, validate_defaults
from core.profiles.privileges import PatternIndex, PatternSet, validate_pattern
from core.sandbox.decision import SandboxMode

CATALOGUE = 4
"""The newest version of the catalogue of privileges that the built-in rules speak."""

MAX_RANK = 1000

MAX_NAME = 253

MAX_PATTERN = 1024
"""Characters of one pattern."""

MAX_PATTERNS = 512
"""In `spec.privileges`."""

MAX_DESCRIPTION = 1024

Version = tuple[int, int]
"""A Kubernetes version, (major, minor)."""

_VERSION: Final = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})(?:\+|\.[0-9A-Za-z.+-]{0,64})?")

# Bounds, so that no profile costs every review dear. The CRD says the same (a test proves it).
_Pattern = Annotated[str, msgspec.Meta(max_length=MAX_PATTERN)]
_Patterns = Annotated[list[_Pattern], msgspec.Meta(max_length=MAX_PATTERNS)]
_FewPatterns = Annotated[list[_Pattern], msgspec.Meta(max_length=32)]
_Name = Annotated[str, msgspec.Meta(max_length=MAX_NAME)]


class Relaxation(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Privileges that a profile covers only on clusters of at least `minimum_version`."""

    minimum_version: str
    privileges: _FewPatterns


class ProfileSpec(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`spec` of a ContainerProfile; the CRD says what each field means."""

    privileges: _Patterns
    rank: int
    catalogue: int
    description: Annotated[str, msgspec.Meta(max_length=MAX_DESCRIPTION)] = ""
    includes: Annotated[list[_Name], msgspec.Meta(max_length=32)] = []
    relaxations: Annotated[list[Relaxation], msgspec.Meta(max_length=16)] = []
    defaults: Defaults | None = None
    sandbox: Literal["by-risk", "required"] | None = None


class ContainerProfile(msgspec.Struct, frozen=True):
    """A ContainerProfile as its author wrote it, checked."""

    name: str
    spec: ProfileSpec


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile as it is in force: its own patterns and those of all it includes."""

    name: str
    rank: int
    patterns: PatternSet
    catalogue: int = CATALOGUE
    """The version that its own author wrote it for, whatever it includes."""
    defaults: Defaults | None = None
    """Its own, whatever it includes; None where there is nothing to fill in."""
    sandbox: SandboxMode = SandboxMode.NEVER
    """When what runs under it is sandboxed: its own, whatever it includes."""

    def covers(self, privilege: str) -> bool:
        """Return whether the profile covers one privilege."""
        return self.patterns.covers(privilege)


@dataclass(frozen=True, eq=False)
class ProfileSet:
    """All profiles of a cluster at one moment, in the order in which they are tried.

    Two are equal only where they are one: what is worked out of one is remembered by it.
    """

    revision: str
    ordered: tuple[Profile, ...]
    """By rank, then by name: the first that covers and may be used is taken."""
    problems: tuple[str, ...] = ()
    """What is wrong with objects that were left out, or used only in part. Never empty silently."""
    by_name: Mapping[str, Profile] = field(init=False, repr=False, compare=False)
    index: PatternIndex = field(init=False, repr=False, compare=False)
    """The patterns of all, each profile's bit being its place in `ordered`."""
    sandboxes: bool = field(init=False, repr=False, compare=False)
    """Whether any of them asks for a sandbox."""
    _bits: Mapping[str, int] = field(init=False, repr=False, compare=False)
    _demanding: Mapping[int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        bits = {profile.name: 1 << place for place, profile in enumerate(self.ordered)}
        demanding = {
            since: sum(bits[p.name] for p in self.ordered if p.catalogue >= since)
            for since in range(1, CATALOGUE + 1)
        }
        object.__setattr__(self, "by_name", {p.name: p for p in self.ordered})
        object.__setattr__(self, "index", PatternIndex(p.patterns for p in self.ordered))
        sandboxes = any(p.sandbox is not SandboxMode.NEVER for p in self.ordered)
        object.__setattr__(self, "sandboxes", sandboxes)
        object.__setattr__(self, "_bits", bits)
        object.__setattr__(self, "_demanding", demanding)

    def bits(self, names: Iterable[str] | None) -> int:
        """Return the bits of the profiles of these names that exist; of all without names."""
        if names is None:
            return (1 << len(self.ordered)) - 1
        return sum(self._bits.get(name, 0) for name in set(names))

    def bit(self, name: str) -> int:
        """Return the bit of one profile; 0 where there is none of this name."""
        return self._bits.get(name, 0)

    def demanding(self, since: int) -> int:
        """Return the bits of the profiles whose catalogue has privileges of version `since`."""
        return self._demanding.get(max(since, 1), 0)


def is_profile_name(text: str) -> bool:
    """Return whether a ContainerProfile can have this name (RFC 1123 subdomain)."""
    return len(text) <= MAX_NAME and SUBDOMAIN.fullmatch(text) is not None


def parse_version(text: str, *, field: str, what: str) -> Version:
    """Read `1.36`, `v1.36.3` or `1.36+`. Raises InvalidObjectError naming `field`."""
    if match := _VERSION.fullmatch(text):
        return int(match[1]), int(match[2])
    raise InvalidObjectError(what, field, f'{text!r} is no version such as "1.36"')


def parse_profile(raw: bytes | msgspec.Raw) -> ContainerProfile:
    """Read a ContainerProfile from its JSON.

    Raises:
        InvalidObjectError: with the field's path and what it must be. The CRD's schema and CEL
            rules refuse the same objects (a test proves it).
    """
    try:
        envelope = msgspec.convert(_normal(msgspec.json.decode(raw)), _Envelope)
    except msgspec.DecodeError as error:
        raise decode_error(_name_object(raw), error, kind=_Envelope) from error
    what = f"ContainerProfile {envelope.metadata.name}"
    if envelope.api_version != names.API_VERSION:
        message = f"{envelope.api_version!r} must be {names.API_VERSION}"
        raise InvalidObjectError(what, "apiVersion", message)
    if envelope.kind != "ContainerProfile":
        message = f"{envelope.kind!r} must be ContainerProfile"
        raise InvalidObjectError(what, "kind", message)
    _validate(envelope.spec, what)
    return ContainerProfile(envelope.metadata.name, envelope.spec)


def parse_newer_profile(raw: bytes | msgspec.Raw) -> ContainerProfile | None:
    """Read a ContainerProfile of the next release's catalogue as far as this release knows it.

    While gates are replaced, those of the release before must go on: what such a profile covers
    beyond this catalogue is asked for by no rule of theirs, and defaults that they do not know are
    not filled in. None where it is of no such catalogue.

    Raises:
        InvalidObjectError: it has another field that is not known, or is broken.
    """
    try:
        item = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return None
    spec = item.get("spec") if isinstance(item, dict) else None
    if not isinstance(spec, dict) or spec.get("catalogue") != CATALOGUE + 1:
        return None
    known = {**spec, "catalogue": CATALOGUE}
    if isinstance(defaults := spec.get("defaults"), dict):
        fields = set(Defaults.__struct_encode_fields__)
        known["defaults"] = {key: value for key, value in defaults.items() if key in fields}
    return parse_profile(msgspec.json.encode({**item, "spec": known}))


class _Named(msgspec.Struct):
    metadata: NameMeta


class _Envelope(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    api_version: str
    kind: str
    metadata: NameMeta
    spec: ProfileSpec


def _normal(item: Any) -> Any:
    """Write an object as kube-apiserver stores it: no null in an optional field, 5 for 5.0."""
    spec = item.get("spec") if isinstance(item, dict) else None
    if not isinstance(spec, dict):
        return item
    optional = ("description", "includes", "relaxations", "defaults", "sandbox")
    kept = {key: value for key, value in spec.items() if key not in optional or value is not None}
    for key in ("rank", "catalogue"):
        if isinstance(number := kept.get(key), float) and number.is_integer():
            kept[key] = int(number)
    if "defaults" in kept:
        kept["defaults"] = normalize_defaults(kept["defaults"])
    return {**item, "spec": kept}


def _name_object(raw: bytes | msgspec.Raw) -> str:
    """Name an object that could not be read whole, if its name at least can be."""
    try:
        return f"ContainerProfile {msgspec.json.decode(raw, type=_Named).metadata.name}"
    except msgspec.DecodeError:
        return "ContainerProfile"


def _validate(spec: ProfileSpec, what: str) -> None:
    if not 0 <= spec.rank <= MAX_RANK:
        raise InvalidObjectError(what, "spec.rank", f"{spec.rank} must be 0 to {MAX_RANK}")
    if not 1 <= spec.catalogue <= CATALOGUE:
        raise InvalidObjectError(
            what, "spec.catalogue", f"{spec.catalogue} must be 1 to {CATALOGUE} in this release"
        )
    for index, name in enumerate(spec.includes):
        if not is_profile_name(name):
            message = f"{name!r} cannot be the name of a ContainerProfile"
            raise InvalidObjectError(what, f"spec.includes[{index}]", message)
    for index, pattern in enumerate(spec.privileges):
        validate_pattern(pattern, field=f"spec.privileges[{index}]", what=what)
    for index, relaxation in enumerate(spec.relaxations):
        path = f"spec.relaxations[{index}]"
        parse_version(relaxation.minimum_version, field=f"{path}.minimumVersion", what=what)
        for position, pattern in enumerate(relaxation.privileges):
            validate_pattern(pattern, field=f"{path}.privileges[{position}]", what=what)
    if spec.defaults is not None:
        validate_defaults(spec.defaults, what)


def build_profile_set(
    profiles: Iterable[ContainerProfile],
    cluster_version: Version,
    problems: Iterable[str] = (),
) -> ProfileSet:
    """Put profiles in force for a cluster of `cluster_version`.

    An include that does not exist adds nothing and is a problem of the set: a profile never
    covers more than can be read of it. Includes that lead back to themselves are harmless.
    """
    specs = {profile.name: profile.spec for profile in profiles}
    found = list(problems)
    digest = hashlib.sha256(repr(cluster_version).encode())
    ready = []
    for name in sorted(specs):
        digest.update(name.encode() + msgspec.json.encode(specs[name]))
        patterns = _patterns(name, specs, cluster_version, found)
        spec = specs[name]
        defaults = None if spec.defaults == NO_DEFAULTS else spec.defaults
        mode = SandboxMode(spec.sandbox) if spec.sandbox else SandboxMode.NEVER
        known = PatternSet(patterns)
        ready.append(Profile(name, spec.rank, known, spec.catalogue, defaults, mode))
    ready.sort(key=lambda profile: (profile.rank, profile.name))
    return ProfileSet(digest.hexdigest()[:12], tuple(ready), tuple(found))


def _patterns(
    name: str, specs: Mapping[str, ProfileSpec], cluster_version: Version, problems: list[str]
) -> set[str]:
    patterns: set[str] = set()
    seen: set[str] = set()
    pending = [name]
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        spec = specs.get(current)
        if spec is None:
            problems.append(f"ContainerProfile {name}: spec.includes: there is no {current!r}")
            continue
        patterns.update(spec.privileges)
        for relaxation in spec.relaxations:
            minimum = relaxation.minimum_version
            if parse_version(minimum, field="minimumVersion", what=current) <= cluster_version:
                patterns.update(relaxation.privileges)
        pending.extend(spec.includes)
    return patterns
