"""The document of a Pod's life, which `control` records besides decisions.

From these it is known later, also of last month, which Pods of a service account lived when and
where. Nothing here names a person.
"""

import enum
from typing import Final

import msgspec

from core.base.document_part import DocumentPart, require_format

FORMAT: Final = 1
"""Version of the document. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""


class LifeEvent(enum.Enum):
    """What became known of a Pod."""

    SEEN = "seen"
    """It is there; what is known of it so far."""
    ADDRESSED = "addressed"
    """It has a node and addresses now."""
    ENDED = "ended"
    """It succeeded, failed, or is gone; `ended` says when, or by when."""


class PodLife(DocumentPart, frozen=True, kw_only=True):
    """What is known of a Pod's life at one moment. The last one of a Pod says all."""

    format: int
    id: str
    """UUIDv7 of `time`; the same event of the same Pod always has the same
    (`core.base.ids.stable_id` of cluster, uid and event)."""
    time: str
    """RFC 3339: when the event was, by kube-apiserver's clock where the Pod says so."""
    cluster: str
    event: LifeEvent
    uid: str
    namespace: str
    name: str
    service_account: str
    node: str = ""
    host_network: bool = False
    addresses: list[str] = []
    """The Pod's; with the host's network they are its node's."""
    node_addresses: list[str] = []
    began: str = ""
    """RFC 3339: `status.startTime`, or the creation."""
    ended: str = ""
    """RFC 3339; empty while it lives."""
    sure: bool = True
    """Whether its containers are known to have stopped then. Else nobody saw it go, and it is the
    last moment at which it can have lived; or it was deleted by force, and they may run on."""
    client_ids: list[str] = []
    """Whom its containers and service account can sign in as at Entra ID, lower case."""
    volumes: list[str] = []
    """`account/container` of blobs that CSI volumes or fuse sidecars mount, lower case; what is
    hidden (a Secret says it) is left out: `/container`."""
    owner: str = ""
    """UID of its controller."""
    requester: str = ""
    """`Subject.label` of who created it, as the gate noted it on a Pod without an owner; of its
    first event alone, as `digest`."""
    digest: str = ""
    """Of its `spec` (`core.kubernetes.spec_digest`); empty where that was no more as it was created
    when it was seen first."""
    decision: str = ""
    """Id of the decision that admitted it, where the Pod was matched with it."""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(PodLife)


def encode_life(life: PodLife) -> bytes:
    """Return the document as JSON."""
    return _ENCODER.encode(life)


def decode_life(content: bytes) -> PodLife:
    """Read a document of this format, the one before or the one after.

    Raises:
        ValueError: it is none; the message names the field.
    """
    life = _DECODER.decode(content)
    require_format(life.format, FORMAT)
    return life
