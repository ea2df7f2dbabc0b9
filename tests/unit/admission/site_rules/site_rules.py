"""Rules of a site for tests: one of labels, one that shows what it sees, one that is endless."""

from pathlib import Path

from policies import BUILT_IN_REGO
from policies.build.builder import build
from policies.site.choices import read_choices
from tests.tools.provide import provide

_HEAD = """# METADATA
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

_LABELS = (
    _HEAD
    + """#   kinds: [Pod, Service, networking.k8s.io/Ingress]
#   fields: [metadata.labels, spec.type]
#   parameters:
#     labels: {type: array, items: {type: string}}
package sallyport.rules.acme.labels

import data.sallyport.parameters.acme.labels as wanted

deny contains {"path": "metadata.labels", "value": label} if {
	some label in wanted.labels
	not input.fields.metadata.labels[label]
}

warn contains {"path": "spec.type", "value": "x", "message": "is open to the outside"} if {
	input.fields.spec.type == "LoadBalancer"
}
"""
)

_SHOWN = (
    _HEAD
    + """#   fields: ["spec.containers[]", metadata.annotations]
package sallyport.rules.acme.shown

deny contains {"path": "metadata", "value": "x", "message": substring(shown, n * 400, 400)} if {
	input.fields.metadata.annotations["example.com/show"]
	shown := json.marshal(input.fields)
	some n in numbers.range(0, floor(count(shown) / 400))
}
"""
)

_ENDLESS = (
    _HEAD
    + """#   fields: [metadata.annotations]
package sallyport.rules.acme.endless

deny contains {"path": "", "value": "x"} if {
	input.fields.metadata.annotations["example.com/endless"]
	some x in numbers.range(1, 20000)
	some y in numbers.range(1, 20000)
	x * y == -1
}
"""
)

_CHOICES = """
rules:
  acme/labels:
    namespaces: [train, team-*]
    excludedNamespaces: [team-free]
    parameters: {labels: [team]}
  acme/shown: {action: warn}
"""


def make_bundle_of_rules(folder: Path) -> Path:
    """Build the bundle of the rules above in a folder."""
    rego = folder / "acme"
    rego.mkdir()
    for name, text in {"labels": _LABELS, "shown": _SHOWN, "endless": _ENDLESS}.items():
        (rego / f"{name}.rego").write_text(text)
    (folder / "rules.yaml").write_text(_CHOICES)
    bundle = folder / "b.tar.gz"
    choices = read_choices(folder / "rules.yaml")
    build(provide("opa"), BUILT_IN_REGO, bundle, [rego], choices)
    return bundle
