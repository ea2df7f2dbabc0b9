"""Public test data of github.com/transparency-dev/witness (witness/witness_test.go)."""

import base64
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.ledger.log.checkpoints import Checkpoint
from audit.ledger.log.signed_notes import Note, sign_note

MONKEYS: Final = "monkeys+db4d9f7e+AULaJMvTtDLHPUcUrjdDad9vDlh/PTfC2VV60JUtCfWT"
BANANAS: Final = "bananas+cf639f13+AaPjhFnPCQnid/Ql32KWhmh+uk72FVRfK+2DLmO3BI3M"
FIRST: Final = (
    "monkeys\n5\n41smjBUiAU70EtKlT6lIOIYtRTYxYXsDB+XHfcvu/BE=\n\n"
    "— monkeys 202fftzGl3LVoqjXfwCFZZXs8I+5G22+Ek2K0AOyBuSJ/8/CZawNF+6fNlTKOCd622pbzJNkkJFWuw9"
    "DbicZCkEx9AY=\n"
).encode()
NEXT: Final = (
    "monkeys\n8\nV8K9aklZ4EPB+RMOk1/8VsJUdFZR77GDtZUQq84vSbo=\n\n"
    "— monkeys 202ffoUEboiQYpHzICeaFmoy3RNviHTpAxYrq/eO4QQVQMvu9UebKBMX2MJC76NLthZaKsnKbCA8Gxr"
    "jePZhvDCH7Ag=\n"
).encode()
PROOF: Final = tuple(
    map(
        bytes.fromhex,
        (
            "b9e1d62618f7fee8034e4c5010f727ab24d8e4705cb296c374bf2025a87a10d2",
            "aac66cd7a79ce4012d80762fe8eec3a77f22d1ca4145c3f4cee022e7efcd599d",
            "89d0f753f66a290c483b39cd5e9eafb12021293395fad3d4a2ad053cfbcfdc9e",
            "29e40bb79c966f4c6fe96aff6f30acfce5f3e8d84c02215175d6e018a5dee833",
        ),
    )
)
_SECRET: Final = base64.b64decode("ATWIAF3yVBG+Hv1rZFQoNt/BaURkLPtOFMAM2HrEeIr6")
MONKEYS_KEY: Final = Ed25519PrivateKey.from_private_bytes(_SECRET[1:])


def body(old: int, note: bytes, proof: tuple[bytes, ...] = ()) -> bytes:
    """Return the body of a request."""
    hashes = "".join(f"{base64.b64encode(each).decode()}\n" for each in proof)
    return f"old {old}\n{hashes}\n".encode() + note


def checkpoint(size: int, root: bytes, origin: str = "monkeys") -> bytes:
    """Return a checkpoint that the log's key signs."""
    text = Checkpoint(origin, size, root).text
    return Note(text, (sign_note(text, "monkeys", MONKEYS_KEY),)).content
