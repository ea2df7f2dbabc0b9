"""Makes examples/siem: each detection as KQL and as Sigma, from audit/siem.

python -m docs.generate.siem [--check]

With `--check` nothing is written, and the exit code is 1 if a file is stale, missing or of no
detection.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from audit.access.detections.catalogue import DETECTIONS
from audit.siem.catalogue import RULES
from audit.siem.kql import render_kql
from audit.siem.sigma import render_sigma

FOLDER: Final = Path(__file__).parents[2] / "examples" / "siem"


def main() -> int:
    """Write the files, or check them. Gives the exit code."""
    files = dict(_files())
    there = {path.name for pattern in ("*.kql", "*.yml") for path in FOLDER.glob(pattern)}
    stale = sorted(there - files.keys())
    stale += [name for name, text in files.items() if not _is_there(name, text)]
    if "--check" in sys.argv:
        for name in stale:
            print(f"siem/{name} is stale; run: python -m docs.generate.siem", file=sys.stderr)
        return int(bool(stale))
    FOLDER.mkdir(exist_ok=True)
    for name in there - files.keys():
        (FOLDER / name).unlink()
    for name, text in files.items():
        (FOLDER / name).write_text(text)
    return 0


def _files() -> Iterator[tuple[str, str]]:
    detections = {each.id: each for each in DETECTIONS}
    for rule in RULES:
        if rule.queries:
            yield f"{rule.detection}.kql", render_kql(rule, detections[rule.detection])
            if text := render_sigma(rule, detections[rule.detection]):
                yield f"{rule.detection}.yml", text


def _is_there(name: str, text: str) -> bool:
    path = FOLDER / name
    return path.is_file() and path.read_text() == text


if __name__ == "__main__":
    sys.exit(main())
