# METADATA
# scope: package
# title: A sidecar that rewrites the Pod's network for its Entra identity
# description: >-
#   Where the annotation azure.workload.identity/inject-proxy-sidecar is there, with whatever value,
#   the webhook of azure-workload-identity adds an init container that is root, privileged and has
#   NET_ADMIN: whoever may create a Pod would get one that no profile of theirs covers, made by
#   another's hand. It was meant for moving away from pod-managed identities, which are retired.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/
#   description: Other webhooks change a Pod after its author
# - ref: https://azure.github.io/azure-workload-identity/docs/topics/service-account-labels-and-annotations.html
#   description: Labels and annotations of azure-workload-identity
# - ref: https://github.com/Azure/azure-workload-identity/blob/main/pkg/webhook/webhook.go
#   description: What the webhook adds
# schemas:
# - input: schema.projection
# custom:
#   severity: critical
#   since: 3
#   message: asks for a privileged sidecar by the annotation {value}
#   remedy: >-
#     Remove the annotation, and let the program sign in with the projected token: Azure's client
#     libraries do by themselves (WorkloadIdentityCredential).
package sallyport.rules.identity.proxy_sidecar

deny contains {"path": concat("", ["metadata.annotations['", name, "']"]), "value": name} if {
	some name, _ in input.annotations
	name == "azure.workload.identity/inject-proxy-sidecar"
}
