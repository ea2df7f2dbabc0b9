"""Bundles of a site that differ: what is in force, and what somebody would put in force."""

from pathlib import Path
from typing import Final

from policies import BUILT_IN_REGO
from policies.build.builder import build
from policies.site.choices import read_choices
from tests.tools.provide import provide

_HEAD: Final = """# METADATA
# scope: package
# title: A rule
# description: Of a site.
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: has no label {value}
#   remedy: Add the label.
"""

_LABELS: Final = (
    _HEAD
    + """#   kinds: [Pod, Deployment, Service]
#   fields: [metadata.labels]
#   parameters:
#     labels: {type: array, items: {type: string}}
package sallyport.rules.acme.labels

import data.sallyport.parameters.acme.labels as wanted

deny contains {"path": "metadata.labels", "value": label} if {
	some label in wanted.labels
	not input.fields.metadata.labels[label]
}
"""
).replace("Deployment", "apps/Deployment")

_OPEN: Final = (
    _HEAD
    + """#   kinds: [Service]
#   fields: [spec.type]
package sallyport.rules.acme.open

warn contains {"path": "spec.type", "value": "x", "message": "is open to the outside"} if {
	input.fields.spec.type == "LoadBalancer"
}
"""
)

_HOST: Final = (
    _HEAD.replace("# - input.fields: schema.fields\n", "")
    + """package sallyport.rules.acme.host

deny contains {"path": "", "value": "x", "message": "researchers may not use host namespaces"} if {
	"researchers" in input.context.groups
	some need in input.needs
	startswith(need.privilege, "host/")
}
"""
)

_NAMES: Final = (
    _HEAD
    + """#   fields: [metadata.name]
package sallyport.rules.acme.names

deny contains {"path": "metadata.name", "value": "x", "message": "is not a good name"} if {
	not startswith(input.fields.metadata.name, "p-1")
}
"""
)

_BASE: Final = """rules:
  acme/labels: {namespaces: [train, lab], parameters: {labels: [team]}}
  acme/open: {}
"""

_CANDIDATE: Final = """rules:
  acme/labels: {namespaces: [train, web, lab], parameters: {labels: [owner]}}
  acme/host: {}
"""


def make_bundles(folder: Path, *, unread: bool = False) -> tuple[Path, Path]:
    """Make the bundle in force and the candidate; `unread`: it reads what was not recorded."""
    site = folder / "acme"
    site.mkdir()
    texts = {"labels": _LABELS, "open": _OPEN, "host": _HOST, "names": _NAMES}
    rules = ((_BASE, ("labels", "open")), (_CANDIDATE, ("labels", "host")))
    made = []
    for name, (choices, used) in zip(("base", "candidate"), rules, strict=True):
        kept = [*used, *(["names"] if unread and name == "candidate" else [])]
        rego = site / name
        rego.mkdir()
        for each in kept:
            (rego / f"{each}.rego").write_text(texts[each])
        chosen = folder / f"{name}.yaml"
        more = "  acme/names: {}\n" if "names" in kept else ""
        chosen.write_text(choices + more)
        bundle = folder / f"{name}.tar.gz"
        build(provide("opa"), BUILT_IN_REGO, bundle, [rego], read_choices(chosen))
        made.append(bundle)
    return made[0], made[1]
