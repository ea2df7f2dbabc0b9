# METADATA
# scope: package
# title: Binding of a role that is not there
# description: >-
#   A binding may name a role that does not exist: it gives nothing until somebody makes the
#   role, and then at once what that one holds, to subjects that its author may never have
#   seen.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#rolebinding-and-clusterrolebinding
#   description: Kubernetes documentation
# - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/
#   description: Kubernetes documentation
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 3
#   privileges:
#   - rights/unknown-role
#   message: gives a role that does not exist, whatever it will hold
#   remedy: >-
#     Make the role first, then the binding.
package sallyport.privileges.rights.unknown_role

import data.sallyport.lib.rights

needs contains {"privilege": "rights/unknown-role", "path": "roleRef.name"} if rights.unknown
