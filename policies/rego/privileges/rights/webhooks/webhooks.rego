# METADATA
# scope: package
# title: Writing admission
# description: >-
#   Whoever writes webhook configurations can switch the gate off, or have a webhook of their
#   own see and change every object that is created, Secrets and Pods included. The same holds
#   for ValidatingAdmissionPolicies, MutatingAdmissionPolicies and their bindings. None of them
#   is shown to webhooks, so the right is guarded where it is given.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/#control-admission-webhooks
#   description: Kubernetes documentation
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
#   description: What webhooks are not shown
# schemas:
# - input: schema.projection
# custom:
#   severity: critical
#   since: 3
#   privileges:
#   - "rights/webhooks/*/*"
#   message: lets its holders change how requests are admitted ({rest})
#   remedy: >-
#     Name in resourceNames the one configuration that is to be kept, with get, update and
#     patch.
package sallyport.privileges.rights.webhooks

import data.sallyport.lib.rights

guarded := [
	"validatingwebhookconfigurations",
	"mutatingwebhookconfigurations",
	"validatingadmissionpolicies",
	"validatingadmissionpolicybindings",
	"mutatingadmissionpolicies",
	"mutatingadmissionpolicybindings",
]

needs contains entry if {
	rights.everywhere
	some resource in guarded
	some rule in rights.giving(rights.writing, "admissionregistration.k8s.io", resource)
	some name in rights.names(rule)
	segments := ["rights/webhooks", rights.resource(rule, resource), name]
	entry := {"privilege": concat("/", segments), "path": rule.path}
}
