"""`python -m deploy.image`: make the image and its bill of materials, or pin Debian's packages."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from deploy.image import debian
from deploy.image.build import NAME, inputs_of, make
from tests.tools.provide import CannotProvideError, cache_folder

ROOT: Final = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; 1 if it cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m deploy.image", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder (dist)")
    parser.add_argument("--name", default=NAME, help="the image's repository")
    parser.add_argument("--lock", action="store_true", help="pin the newest of Debian's packages")
    asked = parser.parse_args(arguments)
    try:
        if asked.lock:
            debian.LOCK.write_text(debian.lock(each.name for each in debian.read_lock()))
            return 0
        layers = cache_folder() / "image-layers"
        written = make(inputs_of(ROOT), asked.output, asked.name, layers)
    except CannotProvideError as error:
        sys.stderr.write(f"image: {error}\n")
        return 1
    sizes = f"{written.size / 1e6:.0f} MB, unpacked {written.unpacked / 1e6:.0f} MB"
    sys.stderr.write(f"{asked.output}: {asked.name}, {sizes}\n")
    sys.stdout.write(f"{written.digest}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
