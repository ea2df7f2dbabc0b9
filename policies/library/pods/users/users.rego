# METADATA
# scope: package
# title: Users and groups by number
# description: >-
#   Containers run as users, and with groups, whose numbers the site has set aside: a file server that
#   trusts numbers (NFS with sys, a hostPath) gives whoever picks a number that number's files. Judged
#   are runAsUser, runAsGroup, fsGroup and supplementalGroups, of a container first, else of the Pod;
#   what nobody sets, the image says, and that is denied unless parameters allow it. Groups are judged
#   where parameters name some; what the image's /etc/group adds is not seen, unless
#   supplementalGroupsPolicy is Strict. Init and ephemeral containers count. That a container may run as
#   root is a privilege besides (run-as/root, docs/rules/run_as/root.md).
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/pod-security-policy/users
#   description: Gatekeeper's twins, K8sPSPAllowedUsers and K8sPSPFSGroup
# - ref: https://github.com/kyverno/policies/tree/main/other/restrict-usergroup-fsgroup-id
#   description: Kyverno's twin, restrict-usergroup-fsgroup-id
# - ref: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: high
#   message: sets {value}, outside of the site's numbers
#   remedy: Set your team's number in securityContext of the Pod.
#   fields:
#   - spec.securityContext.runAsUser
#   - spec.securityContext.runAsGroup
#   - spec.securityContext.fsGroup
#   - spec.securityContext.supplementalGroups
#   - spec.containers[].name
#   - spec.containers[].securityContext.runAsUser
#   - spec.containers[].securityContext.runAsGroup
#   - spec.initContainers[].name
#   - spec.initContainers[].securityContext.runAsUser
#   - spec.initContainers[].securityContext.runAsGroup
#   - spec.ephemeralContainers[].name
#   - spec.ephemeralContainers[].securityContext.runAsUser
#   - spec.ephemeralContainers[].securityContext.runAsGroup
#   parameters:
#     users:
#       description: The ranges of users, ends included.
#       type: array
#       minItems: 1
#       items: &range
#         type: object
#         properties:
#           from: {type: integer, minimum: 0}
#           to: {type: integer, minimum: 0}
#         required: [from, to]
#         additionalProperties: false
#     groups:
#       description: The ranges of groups; with none, any.
#       type: array
#       items: *range
#       default: []
#     unset:
#       description: Whether it may be left to the image which user and group a container has.
#       type: boolean
#       default: false
package sallyport.rules.pods.users

import data.sallyport.lib
import data.sallyport.parameters.pods.users as parameters

deny contains object.union(holder.entry, {"path": path, "value": value(field, number)}) if {
	some holder in holders
	some field, ranges in bounded
	number := holder.context[field]
	not within(number, ranges)
	path := concat(".", [holder.path, field])
}

deny contains {"path": "spec.securityContext.fsGroup", "value": value("fsGroup", number)} if {
	number := input.fields.spec.securityContext.fsGroup
	not within(number, bounded.runAsGroup)
}

deny contains {"path": path, "value": value("supplementalGroups", groups)} if {
	path := "spec.securityContext.supplementalGroups"
	groups := input.fields.spec.securityContext.supplementalGroups
	bounded.runAsGroup
	not all_within(groups)
}

deny contains object.union(holder.entry, {"path": path, "value": field, "message": message}) if {
	not parameters.unset
	some holder in holders
	holder.entry.container
	some field, _ in bounded
	not stated(holder.context, field)
	not stated(object.get(input.fields, ["spec", "securityContext"], {}), field)
	path := concat(".", [holder.path, field])
	message := concat("", ["leaves ", field, " to its image"])
}

bounded := {"runAsUser": parameters.users, "runAsGroup": parameters.groups} if count(parameters.groups) > 0

bounded := {"runAsUser": parameters.users} if count(parameters.groups) == 0

holders contains {"path": "spec.securityContext", "context": context, "entry": {}} if {
	context := input.fields.spec.securityContext
}

holders contains holder if {
	some list in ["containers", "initContainers", "ephemeralContainers"]
	some index, each in input.fields.spec[list]
	holder := {
		"path": concat("", ["spec.", lib.indexed(list, index), ".securityContext"]),
		"context": object.get(each, "securityContext", {}),
		"entry": {"container": object.get(each, "name", "")},
	}
}

stated(context, field) if object.get(context, field, null) != null

within(number, ranges) if {
	is_number(number)
	some range in ranges
	number >= range.from
	number <= range.to
}

all_within(groups) if {
	is_array(groups)
	every group in groups {
		within(group, bounded.runAsGroup)
	}
}

value(field, number) := concat("", [field, "=", json.marshal(number)])
