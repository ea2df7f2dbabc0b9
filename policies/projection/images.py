"""Where an image comes from and whether its content is fixed, read as container runtimes read it.

Grammar and normalisation: https://github.com/distribution/reference v0.6.0, regexp.go and
normalize.go, the strictest of what runtimes accept. Read here and not in Rego, where it took half
of an evaluation (80 of 150 µs for five containers).
"""

import re
import urllib.parse
from typing import Final, NamedTuple

from core.base.short_text_cache import cache_short_text

NOWHERE: Final = "%00"
"""The host of what cannot be read: no pattern that names a registry covers it."""

_DIGITS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}
"""The algorithms of opencontainers/go-digest, and how many hexadecimal digits they have."""

_PART: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST: Final = rf"{_PART}(?:\.{_PART})*|\[[0-9a-fA-F:]+\]"
_COMPONENT: Final = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REFERENCE: Final = re.compile(
    rf"""(?: (?P<host>(?:{_HOST})(?::[0-9]+)?) / )?
    (?P<path>{_COMPONENT}(?:/{_COMPONENT})*)
    (?: :(?P<tag>[a-zA-Z0-9_][a-zA-Z0-9_.-]{{0,127}}) )?
    (?: @(?P<algorithm>[a-z0-9]+):(?P<number>[0-9a-f]+) )?""",
    re.VERBOSE,
)

_IS_ID: Final = re.compile("[0-9a-f]{7,64}")
"""Git and Docker abbreviate ids to seven digits or more; nobody calls an image so."""

_HUB: Final = "docker.io"

_OFFICIAL: Final = f"{_HUB}/library/"
"""Docker Official Images: built from sources that Docker reviews."""

_PUBLIC: Final = frozenset(
    {
        _HUB,
        "codeberg.org",
        "docker.pkg.github.com",
        "ghcr.io",
        "public.ecr.aws",
        "quay.io",
        "registry-1.docker.io",
        "registry.gitlab.com",
        "registry.hf.space",
        "registry.hub.docker.com",
        "ttl.sh",
        NOWHERE,
    }
)
"""Hosts where anyone may publish an image under a name of their choice. Not among them are those
where one maker alone publishes (mcr.microsoft.com, nvcr.io, registry.k8s.io)."""

_MOST_REMEMBERED: Final = 4096
_LONGEST_REMEMBERED: Final = 512
"""Characters of a reference: a host, a repository, a tag and a digest have some 460 at most."""


class Origin(NamedTuple):
    """Where an image comes from."""

    source: str
    """The registry's host with its port, and the repository's components: segments of a privilege.
    `%00` and the reference where it cannot be read."""
    pinned: bool
    """Whether a digest names its content."""
    public: bool
    """Whether anyone may publish there, or nobody knows where it comes from."""


@cache_short_text(_MOST_REMEMBERED, _LONGEST_REMEMBERED)
def origin(reference: str) -> Origin:
    """Read a reference. Short names are Docker Hub's: `python:3` is docker.io/library/python.

    >>> origin("registry.example:443/team/trainer:1")
    Origin(source='registry.example:443/team/trainer', pinned=False, public=False)
    """
    found = _REFERENCE.fullmatch(reference)
    if found is not None and _is_sound(found):
        host, path = _complete(found["host"] or "", found["path"])
        if host != NOWHERE:
            source = f"{segment(host)}/{path}"
            public = _is_public(host) and not source.startswith(_OFFICIAL)
            return Origin(source, pinned=found["number"] is not None, public=public)
    return Origin(f"{NOWHERE}/{segment(reference)}", pinned=False, public=True)


def segment(text: str) -> str:
    """Return text as one segment of a privilege, as `segment` in policies/rego/lib does."""
    if not text:
        return NOWHERE
    if text in {".", ".."}:
        return text.replace(".", "%2E")
    return urllib.parse.quote(text, safe=":", errors="replace").replace("~", "%7E")


def _is_public(host: str) -> bool:
    """Return whether anyone may publish at a host, however it is spelled.

    With a port, in capitals.
    """
    return host.partition(":")[0].lower() in _PUBLIC


def _is_sound(found: re.Match[str]) -> bool:
    number = found["number"]
    if number is not None and len(number) != _DIGITS.get(found["algorithm"]):
        return False
    # As the name of a repository an algorithm is none: containerd looks up "sha256:…" among the
    # images that the node has, whoever pulled them.
    # The same of a name that may be the beginning of an image's id.
    alone = not found["host"] and "/" not in found["path"]
    return not (alone and (found["path"] in _DIGITS or _IS_ID.fullmatch(found["path"])))


def _complete(host: str, path: str) -> tuple[str, str]:
    """Put in what a reference may leave out, as normalize.go's splitDockerDomain does.

    The host is NOWHERE where the first component stands for one and cannot be.
    """
    if host and not _names_host(host):
        host, path = "", f"{host}/{path}"
    first, _, rest = path.partition("/")
    if not host and rest and _names_host(first):
        return NOWHERE, path  # It would be the host, and cannot be one.
    if host in {"", _HUB, f"index.{_HUB}"}:
        return _HUB, path if "/" in path else f"library/{path}"
    return host, path


def _names_host(text: str) -> bool:
    """Return whether a first component is a host: no repository has capital letters."""
    return "." in text or ":" in text or text == "localhost" or text.lower() != text
