"""What is known of each field of the kinds that are judged, and what an object has besides."""

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent

TABLE: Final = FOLDER / "table.json"
"""Made of `rows.yaml` and Kubernetes' OpenAPI by `python -m tests.tools.field_table`."""

MINORS: Final = FOLDER / "minors.json"
"""Which fields of the table a minor lacks; made by the same command."""
