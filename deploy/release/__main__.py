"""`python -m deploy.release`: make a release."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from deploy.image.build import inputs_of
from deploy.release.build import make_release
from deploy.release.signatures import read_key
from tests.tools.provide import CannotProvideError, cache_folder

ROOT: Final = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; 1 if it cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m deploy.release", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "dist" / "release", help="folder")
    parser.add_argument("--key", type=Path, help="sign with this key: ECDSA on P-256, PEM")
    asked = parser.parse_args(arguments)
    try:
        key = read_key(asked.key) if asked.key else None
        made = make_release(inputs_of(ROOT), asked.output, key, cache_folder() / "image-layers")
    except CannotProvideError as error:
        sys.stderr.write(f"release: {error}\n")
        return 1
    for name in made.files:
        sys.stderr.write(f"{made.folder / name}\n")
    if not made.signed:
        sys.stderr.write("release: nothing is signed: give KEY=FILE\n")
    sys.stdout.write(f"{made.digest}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
