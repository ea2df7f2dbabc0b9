"""Policy bundles of a cluster: published ones, the one in force, and what gates have loaded.

Three kinds of ConfigMaps in Sallyport's namespace: the head, which names the bundles and says which
is wanted and which is active; their parts; and one in which each gate says what it has loaded.
"""

from typing import Annotated, Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_json
from core.base.times import LATEST_S

HEAD_NAME: Final = "sallyport-bundles"
"""The ConfigMap that says which bundle is wanted, and which is active."""

HEAD_KEY: Final = "bundles.json"

GATES_NAME: Final = "sallyport-gates"
"""The ConfigMap in which each gate writes what it has loaded, under its own name."""

CONTROL: Final = "control"
"""In that ConfigMap, what the leading `control` has loaded: its sweeps judge by it too."""

GONE_S: Final = 75.0
"""A gate that has announced nothing for so long is gone: it writes every 20 s."""

PART_KEY: Final = "part"
"""In `binaryData` of each part."""

FORMAT: Final = 1

BASE: Final = "base"
"""In place of a revision: the bundle of each gate's own settings, or else the built-in one."""

SLOTS: Final = 4
"""Bundles that are kept: the active one, the one before, the wanted one, and one to spare."""

MOST_PARTS: Final = 8
PART_BYTES: Final = 900 * 1024
"""Of one ConfigMap, which holds at most 1 MiB in all."""

UnixSeconds = Annotated[int, msgspec.Meta(ge=0, le=LATEST_S)]


class PublishedBundle(msgspec.Struct, frozen=True):
    """A bundle that is published."""

    revision: str
    digest: str
    """SHA-256 of the file, in hex."""
    slot: int
    parts: int
    at: str = ""
    """RFC 3339: when it was published."""
    source: str = ""
    """Where it came from, for people: a file's name, an image's reference."""
    built: UnixSeconds = 0
    """Unix seconds: when it says that it was built; 0 where it does not."""

    def names(self) -> list[str]:
        """Name the ConfigMaps of its parts, in order."""
        return [part_name(self.slot, number) for number in range(self.parts)]


class BundleHead(msgspec.Struct, frozen=True):
    """What the head says."""

    format: int = FORMAT
    turn: int = 0
    """Counts what was wanted so far: what a gate refused is tried again in the next."""
    wanted: str = BASE
    """A revision, or BASE."""
    active: str = BASE
    """What gates put in force once they have it."""
    previous: str = BASE
    """What was active before: what `policy rollback` wants."""
    changed: str = ""
    """RFC 3339: when `active` was last changed."""
    bundles: tuple[PublishedBundle, ...] = ()
    claim: PublishedBundle | None = None
    """What somebody is writing into its slot now, not to be fetched yet; left where it failed."""
    taken: str = ""
    """Digest of the image that `control` has taken last from the registry that it follows."""
    not_before: UnixSeconds = 0
    """Unix seconds: what was built before, `control` takes by itself no more from there. It is when
    the last that it took, or that somebody activated, was built; 0 where none has said so."""

    def of(self, revision: str) -> PublishedBundle | None:
        """Return a published bundle by its revision."""
        return next((each for each in self.bundles if each.revision == revision), None)


class GateAnnouncement(msgspec.Struct, frozen=True):
    """What a gate says of itself."""

    in_force: str
    """BASE or a revision."""
    revision: str
    """Of what is in force."""
    loaded: tuple[str, ...] = ()
    """What it could put in force at once; what is in force among it."""
    refused: dict[str, str] = {}
    """Why it does not load what is wanted or active."""
    turn: int = 0
    """The head's, as it last saw it."""
    beat: int = 0
    """Grows with each time that it writes: one whose beat stands still is gone."""
    at: str = ""
    """RFC 3339: when it wrote this, by its own clock; for people."""
    problem: str = ""
    """What keeps it from loading what is wanted or active, and is tried again; empty: nothing."""
    source: str = ""
    """Of `control`: the image in a registry that it follows; empty where it follows none."""
    source_problem: str = ""
    """Why it does not take what is there; empty where nothing is wrong."""
    foreign: int = 0
    """Files of built-in policies in what is in force that are another release's than its own."""


_HEADS: Final = msgspec.json.Decoder(BundleHead)
_ANNOUNCEMENTS: Final = msgspec.json.Decoder(GateAnnouncement)


def part_name(slot: int, number: int) -> str:
    """Name the ConfigMap of a part."""
    return f"sallyport-bundle-{slot}-{number}"


def decode_head(text: str) -> BundleHead:
    """Read a head.

    Raises:
        InvalidObjectError: it is none, or of a later format.
    """
    what = f"ConfigMap {HEAD_NAME}"
    head = decode_json(_HEADS, text, what)
    if head.format != FORMAT:
        message = f"is {head.format}; this release reads {FORMAT}"
        raise InvalidObjectError(what, "format", message)
    for stored in (*head.bundles, *([head.claim] if head.claim else [])):
        if not (0 <= stored.slot < SLOTS and 0 < stored.parts <= MOST_PARTS):
            message = f"{stored.revision}: has no such slot and parts"
            raise InvalidObjectError(what, "bundles", message)
    return head


def decode_announcement(text: str) -> GateAnnouncement | None:
    """Read what a gate says; None where it cannot be read: it has loaded nothing, then."""
    try:
        return _ANNOUNCEMENTS.decode(text)
    except DECODE_ERRORS:
        return None
