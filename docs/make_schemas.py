"""Makes docs/reference/decision.schema.json from core/document.py.

python docs/make_schemas.py [--check]
"""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from core.document import FORMAT, DecisionDocument

FILE = Path(__file__).parent / "reference" / "decision.schema.json"


def schema() -> dict[str, Any]:
    """Give the JSON Schema (2020-12) of a decision document."""
    (reference,), definitions = msgspec.json.schema_components(
        [DecisionDocument], ref_template="#/$defs/{name}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://sallyport.dev/schemas/decision-{FORMAT}.json",
        "title": f"Sallyport decision document, format {FORMAT}",
        **reference,
        "$defs": definitions,
    }


def main() -> int:
    """Write the file, or with --check say whether it is stale."""
    text = json.dumps(schema(), indent=2) + "\n"
    if "--check" not in sys.argv[1:]:
        FILE.write_text(text)
        return 0
    if FILE.exists() and FILE.read_text() == text:
        return 0
    print(f"{FILE} is stale: make docs")
    return 1


if __name__ == "__main__":
    sys.exit(main())
