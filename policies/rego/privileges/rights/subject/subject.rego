# METADATA
# scope: package
# title: Rights for those whom nobody chose
# description: >-
#   A binding to everyone who signs in, to whoever does not, to all service accounts, to nodes
#   or to one of Kubernetes' own users reaches people and programs that its author does not
#   know. The service account default is that of every Pod that names none.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/
#   description: Kubernetes documentation
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings
#   description: Kubernetes' own users and groups
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "rights/subject/*"
#   message: gives rights to {rest}
#   remedy: >-
#     Name a group of your own, the people, or a service account made for the purpose.
package sallyport.privileges.rights.subject

import data.sallyport.lib
import data.sallyport.lib.rights

needs contains entry if {
	some subject in rights.subjects
	subject.kind != "ServiceAccount"
	startswith(subject.name, "system:")
	entry := {"privilege": concat("/", ["rights/subject", lib.segment(subject.name)]), "path": subject.path}
}

needs contains entry if {
	some subject in rights.subjects
	subject.kind != "ServiceAccount"
	subject.name == "*"
	entry := {"privilege": "rights/subject/%2A", "path": subject.path}
}

needs contains entry if {
	some subject in rights.subjects
	subject.kind == "ServiceAccount"
	subject.name == "default"
	entry := {"privilege": "rights/subject/default", "path": subject.path}
}
