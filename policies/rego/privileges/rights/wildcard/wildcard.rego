# METADATA
# scope: package
# title: Wildcards in a role
# description: >-
#   A rule with * gives what its author did not list, and what is added to the cluster later:
#   every verb (escalate, bind, impersonate, use among them), every resource with its
#   subresources, every API group, every path of the API server. What a wildcard gives of what
#   other rules guard is found by them as well.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/rbac/v1/evaluation_helpers.go
#   description: What a rule matches
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "rights/wildcard/*"
#   message: gives rights with a wildcard ({rest})
#   remedy: >-
#     List the verbs, resources and API groups that are really used.
package sallyport.privileges.rights.wildcard

import data.sallyport.lib.rights

needs contains {"privilege": "rights/wildcard/verbs", "path": rule.path} if {
	some rule in rights.rules
	"*" in rule.verbs
}

# A * in a part of resource/subresource as well, though RBAC takes only */subresource for one.
needs contains {"privilege": "rights/wildcard/resources", "path": rule.path} if {
	some rule in rights.rules
	some resource in rule.resources
	contains(resource, "*")
}

needs contains {"privilege": "rights/wildcard/api-groups", "path": rule.path} if {
	some rule in rights.rules
	"*" in rule.apiGroups
}

needs contains {"privilege": "rights/wildcard/urls", "path": rule.path} if {
	rights.everywhere
	some rule in rights.rules
	some url in rule.urls
	url in {"*", "/*"}
}
