"""Inputs to begin with, from what defines each format: never from what we write ourselves.

Recorded by kube-apiserver, or published with the format's definition; and what fuzzers made of
them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.harness.evidence import ROOT

CORPUS: Final = ROOT / "tests" / "fuzz" / "corpus"
_MOST: Final = 16 * 1024


def seeds_of(target: str) -> Iterator[bytes]:
    """Yield the inputs that are kept for a target."""
    for file in sorted((CORPUS / target).glob("*")):
        yield file.read_bytes()


def write_seed(target: str, name: str, content: bytes) -> Path:
    """Keep an input for a target."""
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_bytes(content[:_MOST])
    return file
