"""Says which fields of the table an OpenAPI of a version of Kubernetes must have.

The table holds the fields of all its minors and API versions together. `minors.json` says, by minor
and type, which of them the minor lacks, or has in some API versions alone, of which a cluster may
serve the others.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

import msgspec

from core.kubernetes.field_rows import FieldRows
from policies.fields import MINORS

Lacks = Mapping[str, Mapping[str, list[str]]]
"""By minor and type."""

_MINOR: Final = re.compile(r"v?(\d+\.\d+)(?!\d)")
_LACKS: Final = msgspec.json.Decoder(dict[str, dict[str, list[str]]])


@cache
def built_in_lacks() -> Lacks:
    """Return what each minor of this release's table lacks."""
    return _LACKS.decode(MINORS.read_bytes())


def expected_fields(rows: FieldRows, lacks: Lacks, version: str) -> dict[str, list[str]]:
    """Return, by type, the fields of the table that an OpenAPI of this version must have.

    Of a version that is not among the minors, or not said (`unversioned`): what all minors have.
    """
    found = _MINOR.match(version)
    minors = [found[1]] if found and found[1] in lacks else [*lacks]
    expected = {
        of: [
            name for name in fields if not any(name in lacks[minor].get(of, ()) for minor in minors)
        ]
        for of, fields in rows.types.items()
    }
    return {of: fields for of, fields in expected.items() if fields}
