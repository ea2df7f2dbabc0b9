"""A folder as a policy author has it: one rule, its tests, its cases."""

from tests.unit.policies.authoring.conftest import rego

POD = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}"
RULE = rego(
    "labels.team",
    "import data.sallyport.parameters.labels.team as wanted\n\n"
    'deny contains {"path": "metadata.labels", "value": name} if {\n'
    "\tsome name in wanted.names\n"
    "\tnot input.fields.metadata.labels[name]\n}\n",
    more="#   parameters:\n#     names:\n#       type: array\n#       default: [team]\n",
)
TEST = """\
package sallyport.rules.labels.team_test

import data.sallyport.rules.labels.team

test_refused if {
	team.deny == {{"path": "metadata.labels", "value": "team"}} with input as {"fields": {}}
}

test_admitted if {
	team.deny == set() with input as {"fields": {"metadata": {"labels": {"team": "a"}}}}
}
"""
REFUSED = f"""\
name: a Pod without its team is refused
why: Every Pod says whose it is.
object: {POD}
expect: deny
findings:
- rule: labels/team
  path: metadata.labels
  message: has team
"""
ADMITTED = f"""\
name: a Pod with its team is admitted
why: It says whose it is.
object: {POD.replace("name: a}, spec", "name: a, labels: {team: b}}, spec")}
expect: allow
"""
FILES = {
    "team.rego": RULE,
    "team_test.rego": TEST,
    "cases/refused.yaml": REFUSED,
    "cases/admitted.yaml": ADMITTED,
}
