"""Proofs in a file: that a record is in the log, or that one head continues another (RFC 9162)."""

from collections.abc import Iterable
from typing import Final

import msgspec

from audit.ledger.log.export import LeafLine
from audit.ledger.log.heads import TreeHead, encode_head
from audit.ledger.log.heads import decode_head as _decode_head
from audit.ledger.log.keys import LogKeys
from audit.ledger.log.leaves import Leaf, payload_digest
from audit.ledger.log.merkle import proves_consistency, proves_inclusion
from core.base.document_part import require_format

FORMAT: Final = 1
"""Version of a proof. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""


class _Part(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    tag_field="proves",
    forbid_unknown_fields=True,
):
    """Frozen, camelCase, defaults left out."""


class InclusionProof(_Part, frozen=True, kw_only=True, tag="inclusion"):
    """A record is in the log, as it was at a head."""

    format: int
    leaf: LeafLine
    head: TreeHead
    path: list[str]
    """Hex, as RFC 9162, section 2.1.3.1 orders them."""
    keys: list[str] = []
    """Base64 of raw public keys, as the ledger says."""


class ConsistencyProof(_Part, frozen=True, kw_only=True, tag="consistency"):
    """All that one head covers stands unchanged at the beginning of what another covers."""

    format: int
    first: TreeHead
    second: TreeHead
    path: list[str]
    keys: list[str] = []


Proof = InclusionProof | ConsistencyProof

_DECODER: Final[msgspec.json.Decoder[Proof]] = msgspec.json.Decoder(Proof)


def decode_proof(content: bytes) -> Proof:
    """Read a proof; whether it proves anything is asked of `find_fault`.

    Raises:
        ValueError: it is none; the message names the field.
    """
    proof = _DECODER.decode(content)
    require_format(proof.format, FORMAT)
    for head in heads_of(proof):
        _decode_head(encode_head(head))
    return proof


def heads_of(proof: Proof) -> list[TreeHead]:
    """Return the heads that a proof rests on."""
    return [proof.head] if isinstance(proof, InclusionProof) else [proof.first, proof.second]


def find_fault(proof: Proof, keys: LogKeys, anchored: Iterable[TreeHead] | None) -> list[str]:
    """Say what is wrong with a proof; with anchored heads, the last of its heads must be there.

    Raises:
        ValueError: the record in it is none.
    """
    heads = heads_of(proof)
    said = [says for head in heads if (says := keys.judge(head))]
    if len({head.log for head in heads}) > 1:
        said.append("its heads are of two logs")
    if not _holds(proof):
        said.append("its path does not lead to the root of its head")
    if anchored is not None:
        last = heads[-1]
        found = {(each.size, each.root) for each in anchored if each.log in {"", last.log}}
        if (last.size, last.root) not in found:
            said.append(f"no anchor has its head of {last.size:,} records: it may be a fork's")
    return said


def _holds(proof: Proof) -> bool:
    path = [bytes.fromhex(each) for each in proof.path]
    if isinstance(proof, ConsistencyProof):
        first, second = proof.first, proof.second
        roots = (bytes.fromhex(first.root), bytes.fromhex(second.root))
        return proves_consistency(first.size, second.size, *roots, path)
    head, line = proof.head, proof.leaf
    leaf = Leaf(line.kind, line.cluster, bytes.fromhex(line.id), _digest(line))
    return proves_inclusion(leaf.hash, line.at, head.size, path, bytes.fromhex(head.root))


def _digest(line: LeafLine) -> bytes:
    content = line.content
    return bytes.fromhex(line.digest or "") if content is None else payload_digest(content)
