"""The Rego of a new signal: the namespace has a label."""

from typing import Final

LABEL: Final = "example.com/{name}"

_SIGNAL: Final = """\
# METADATA
# scope: package
# title: {title}
# description: >-
#   Say here what makes such a Pod riskier, and why it should run in a sandbox.
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# custom:
#   points: 25
#   message: works on {{value}}
#   remedy: Run it in a namespace without the label {label}.
package sallyport.sandbox.{family}.{name}

signals contains {{"path": "", "value": value}} if {{
	value := input.context.namespaceLabels["{label}"]
}}
"""

_TEST: Final = """\
package sallyport.sandbox.{family}.{name}_test

import data.sallyport.sandbox.{family}.{name}

labelled := {{"context": {{"namespaceLabels": {{"{label}": "example"}}}}}}

test_counts_with_the_label if {{
	{name}.signals == {{{{"path": "", "value": "example"}}}} with input as labelled
}}

test_nothing_counts_without if {{
	{name}.signals == set() with input as {{"context": {{"namespaceLabels": {{}}}}}}
}}
"""


def label_of(name: str) -> str:
    """Give the label that the signal looks for."""
    return LABEL.format(name=name.replace("_", "-"))


def rego_of(family: str, name: str) -> str:
    """Give the file of a signal."""
    title = f"{name.replace('_', ' ').capitalize()} ({family})"
    return _SIGNAL.format(title=title, family=family, name=name, label=label_of(name))


def test_of(family: str, name: str) -> str:
    """Give the file of a signal's Rego tests."""
    return _TEST.format(family=family, name=name, label=label_of(name))
