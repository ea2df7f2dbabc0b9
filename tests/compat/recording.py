"""Record what this code stores and shows as the golden files of a release.

    python -m tests.compat.recording [RELEASE]

Without a name, of the next one. Do it when a test says that something has changed, and is meant to:
look at what `git diff` says of `stored/` and `public/`, for each line is a promise. With a
release's name, when it is released. Refused where an earlier release would not be understood.
"""

import json
import sys
from pathlib import Path

from tests.compat.contracts import keep_contracts
from tests.compat.documents import WITH_KEYS, understood, write
from tests.compat.releases import GOLDEN, NEXT
from tests.compat.shapes import broken, shapes


def record(release: str) -> None:
    """Write the documents, what they are understood as, and their shapes.

    Raises:
        SystemExit: an earlier release would not be understood.
    """
    now = shapes()
    for path in sorted(GOLDEN.glob("*/shapes.json")):
        problems = broken(json.loads(path.read_text()), now) if path.parent.name != NEXT else []
        if problems:
            raise SystemExit(
                f"{path.parent.name}: {'; '.join(problems)}: read both, and raise FORMAT"
            )
    keep(GOLDEN / release, json.dumps(now, indent=1, sort_keys=True))
    keep_contracts(GOLDEN / release)


def keep(folder: Path, shown: str) -> None:
    """Write what is kept of a release."""
    write(folder)
    for name in WITH_KEYS:
        (folder / name).unlink()
    (folder / "understood.json").write_text(json.dumps(understood(folder), indent=1) + "\n")
    (folder / "shapes.json").write_text(f"{shown.strip()}\n")


if __name__ == "__main__":
    record(sys.argv[1] if len(sys.argv) > 1 else NEXT)
