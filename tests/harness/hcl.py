"""Reads files of OpenTofu and Terraform by HashiCorp's own parser (tests/tools/hcl-blocks)."""

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.harness.evidence import ROOT
from tests.harness.programs.availability import require

MODULE: Final = ROOT / "deploy" / "terraform"


class Block(msgspec.Struct, frozen=True):
    """A block: attributes as they are written, and the keys of the objects in them."""

    type: str
    labels: list[str]
    line: int
    attributes: dict[str, str]
    keys: dict[str, dict[str, Any]]
    blocks: list["Block"]

    def below(self, kind: str, *labels: str) -> Iterator["Block"]:
        """Yield the blocks of a type directly within, with such first labels."""
        for one in self.blocks:
            if one.type == kind and tuple(one.labels[: len(labels)]) == labels:
                yield one

    def deep(self) -> Iterator["Block"]:
        """Yield the block and all within it."""
        yield self
        for one in self.blocks:
            yield from one.deep()


class File(msgspec.Struct, frozen=True):
    """A file, and whether it is laid out as `tofu fmt` does."""

    formatted: bool
    body: Block


def read_files(paths: Sequence[Path]) -> dict[str, File]:
    """Read files, by path; without the program that reads them see `require`.

    Raises:
        AssertionError: a file is no HCL; the message says where.
    """
    done = subprocess.run(
        [require("hcl-blocks"), *paths],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode(done.stdout, type=dict[str, File])
