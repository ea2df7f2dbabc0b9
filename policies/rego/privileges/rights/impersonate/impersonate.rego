# METADATA
# scope: package
# title: Impersonation
# description: >-
#   Whoever may impersonate is whom they say they are, for kube-apiserver and for every
#   webhook: only the impersonated user arrives there, with the groups and extra fields (an
#   Entra object id among them) that the impersonator chose. So the right is guarded where it
#   is given. Users, groups, extra fields and uids lie in no namespace; service accounts do.
#   The verbs that begin with impersonate: are those of constrained impersonation. A user whom a
#   rule names, and who is not the cluster's own (system:…) and no object id of Entra, goes by a
#   pseudonym, user: and the first 16 hex digits of the name's SHA-256; so do the other names of
#   that rule.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
#   description: Kubernetes documentation
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/
#   description: Constrained impersonation
# schemas:
# - input: schema.projection
# custom:
#   severity: critical
#   since: 3
#   privileges:
#   - "rights/impersonate/*/*"
#   message: lets its holders pass for others ({rest})
#   remedy: >-
#     Leave out the verb impersonate; whoever tests rights can use kubectl auth can-i in a
#     cluster of their own.
package sallyport.privileges.rights.impersonate

import data.sallyport.lib
import data.sallyport.lib.rights

needs contains entry if {
	rights.everywhere
	some kind in ["users", "groups", "uids", "nodes", "serviceaccounts"]
	some rule in rights.impersonating(kind)
	some name in rights.names(rule)
	entry := {
		"privilege": concat("/", ["rights/impersonate", kind, name]),
		"path": rule.path,
	}
}

needs contains entry if {
	not rights.everywhere
	some rule in rights.impersonating("serviceaccounts")
	some name in rights.names(rule)
	entry := {
		"privilege": concat("/", ["rights/impersonate/serviceaccounts", name]),
		"path": rule.path,
	}
}

# Extra fields are subresources: userextras/oid.
needs contains entry if {
	rights.everywhere
	some rule in rights.impersonators
	some resource in rule.resources
	some key in extra_keys(resource)
	entry := {
		"privilege": concat("/", ["rights/impersonate/userextras", lib.segment(key)]),
		"path": rule.path,
	}
}

extra_keys(resource) := {"*"} if {
	resource in {"*", "*/*", "userextras", "userextras/*"}
} else := {substring(resource, 2, -1)} if {
	startswith(resource, "*/")
} else := {substring(resource, 11, -1)} if {
	startswith(resource, "userextras/")
} else := set()
