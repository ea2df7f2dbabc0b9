# METADATA
# scope: package
# title: Identity in Active Directory
# description: >-
#   A group managed service account (GMSA) is an identity of the network: a Windows container that has
#   one signs in to file servers and databases of the domain as it. kube-apiserver looks at the form of
#   gmsaCredentialSpecName and of the inline gmsaCredentialSpec alone; who may use which is checked by
#   a webhook of its own that many clusters do not have, and the inline one names no object at all.
#   That webhook fills the inline one in: then both are needed.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/configure-pod-container/configure-gmsa/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes-sigs/windows-gmsa
#   description: The webhook that checks who may use which
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 4
#   privileges:
#   - "identity/gmsa/*"
#   - "identity/gmsa-inline"
#   message: signs in to Active Directory ({rest})
#   remedy: >-
#     Remove gmsaCredentialSpecName and gmsaCredentialSpec from securityContext.windowsOptions of the
#     Pod and its containers, or have the owner of the account allow it in a profile.
package sallyport.privileges.identity.gmsa

import data.sallyport.lib

needs contains entry if {
	some context in contexts
	name := context.options.gmsaCredentialSpecName
	name != ""
	entry := object.union(
		{
			"privilege": concat("", ["identity/gmsa/", lib.segment(name)]),
			"path": concat("", [context.path, ".gmsaCredentialSpecName"]),
		},
		context.of,
	)
}

needs contains entry if {
	some context in contexts
	context.options.gmsaCredentialSpec != ""
	entry := object.union(
		{
			"privilege": "identity/gmsa-inline",
			"path": concat("", [context.path, ".gmsaCredentialSpec"]),
		},
		context.of,
	)
}

contexts contains {
	"options": input.securityContext.windowsOptions,
	"path": "spec.securityContext.windowsOptions",
	"of": {},
}

contexts contains context if {
	some container in input.containers
	context := {
		"options": container.securityContext.windowsOptions,
		"path": concat("", [container.path, ".securityContext.windowsOptions"]),
		"of": {"container": container.name},
	}
}
