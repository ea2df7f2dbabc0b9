"""Heads that witnesses cosigned, as anchors of a log (https://c2sp.org/tlog-cosignature).

A witness cosigns only what continues what it saw before, so its word is that of an anchor without
marks.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from audit.ledger.log.anchor_check import AnchorReading
from audit.ledger.log.anchors import FORMAT, AnchorLine
from audit.ledger.log.checkpoints import ORIGIN, cosigned_at, parse_checkpoint
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.signed_notes import Note, NoteError, VerifierKey


class CosignedHeads(AnchorReading):
    """What one witness cosigned of a log."""

    def __init__(self, witness: str, heads: Iterable[TreeHead]) -> None:
        """Take heads in any order."""
        super().__init__(f"of what {witness} cosigned", ())
        self._heads = sorted(heads, key=lambda head: head.size)

    def __iter__(self) -> Iterator[AnchorLine]:
        """Yield each as the line of an anchor without marks."""
        for head in self._heads:
            yield AnchorLine(format=FORMAT, before="", first=head.size, head=head)


def read_cosigned(notes: Iterable[Note], keys: Sequence[VerifierKey]) -> list[CosignedHeads]:
    """Return what each of these witnesses cosigned; of others nothing is believed.

    Raises:
        NoteError: a note is no checkpoint of a ledger, or none of the witnesses cosigned it, or a
            cosignature of one of them is wrong.
    """
    found: dict[str, list[TreeHead]] = defaultdict(list)
    for note in notes:
        checkpoint = parse_checkpoint(note.text)
        log = checkpoint.origin.removeprefix(ORIGIN)
        if not checkpoint.origin.startswith(ORIGIN) or not log:
            raise NoteError(f"it is of {checkpoint.origin[:100]!r}, which is no ledger's origin")
        root = checkpoint.root.hex()
        head = TreeHead(format=1, log=log, size=checkpoint.size, root=root, time="", key="")
        for name in _cosigners(note, keys):
            found[name].append(head)
    return [CosignedHeads(name, heads) for name, heads in found.items()]


def _cosigners(note: Note, keys: Sequence[VerifierKey]) -> list[str]:
    """Return the names of the witnesses that cosigned a note."""
    names = []
    for key in keys:
        if (signature := key.signed(note)) is not None:
            cosigned_at(note.text, signature, key)
            names.append(key.name)
    if not names:
        raise NoteError("none of your witnesses cosigned it (--witness-key)")
    return names
