# METADATA
# scope: package
# title: Windows HostProcess container
# description: >-
#   A HostProcess container runs directly on the Windows node, with the node's file system,
#   network and accounts. Forbidden by Pod Security baseline.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_windowsHostProcess.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: critical
#   since: 1
#   risk: 60
#   privileges:
#   - "host/process"
#   message: runs directly on the Windows node (HostProcess)
#   remedy: >-
#     Remove securityContext.windowsOptions.hostProcess from the Pod and its containers, or set
#     it to false.
package sallyport.privileges.host.process

needs contains {
	"privilege": "host/process",
	"path": "spec.securityContext.windowsOptions.hostProcess",
} if {
	input.securityContext.windowsOptions.hostProcess
}

needs contains entry if {
	some container in input.containers
	container.securityContext.windowsOptions.hostProcess
	entry := {
		"privilege": "host/process",
		"path": concat("", [container.path, ".securityContext.windowsOptions.hostProcess"]),
		"container": container.name,
	}
}
