"""SARIF's own JSON schema (OASIS, errata 01), out of a Go module that carries it.

go-sarif validates its reports by it: pkg/report/v210/sarif/schema.go, in the public domain
(Unlicense); tests/tools/sarif pins version and sum.
"""

import json
import re
from typing import Any, Final

from tests.harness.published.go_modules import module_folder

_MODULE: Final = "github.com/owenrumney/go-sarif/v3"
_ID: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def sarif_schema() -> dict[str, Any]:
    """Return the schema; without Go or the module see `skip_or_fail`."""
    folder = module_folder("sarif", _MODULE, "SARIF's schema and others")
    source = (folder / "pkg" / "report" / "v210" / "sarif" / "schema.go").read_text()
    text = re.search(r"const schema = `(.*?)`", source, re.DOTALL)
    assert text is not None, "the module has no schema where it was"
    schema: dict[str, Any] = json.loads(text[1])
    assert schema["id"] == _ID
    return schema
