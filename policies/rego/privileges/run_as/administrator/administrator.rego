# METADATA
# scope: package
# title: Administrator of a Windows container
# description: >-
#   runAsUserName ContainerAdministrator, Administrator or SYSTEM runs a Windows container as the
#   equal of root: it may change everything in it, and reach for the node's kernel with more. The
#   kubelet refuses ContainerAdministrator beside runAsNonRoot, and no other of them; Pod Security
#   does not look at the name.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/configure-pod-container/configure-runasusername/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/kuberuntime/security_context_windows.go
#   description: What the kubelet refuses
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 4
#   privileges:
#   - "run-as/container-administrator"
#   message: runs as the administrator of a Windows container
#   remedy: >-
#     Set securityContext.windowsOptions.runAsUserName to ContainerUser, or remove it where the image
#     names a user that is no administrator.
package sallyport.privileges.run_as.administrator

needs contains {
	"privilege": "run-as/container-administrator",
	"path": "spec.securityContext.windowsOptions.runAsUserName",
} if {
	administers(input.securityContext.windowsOptions.runAsUserName)
}

needs contains entry if {
	some container in input.containers
	administers(container.securityContext.windowsOptions.runAsUserName)
	entry := {
		"privilege": "run-as/container-administrator",
		"path": concat("", [container.path, ".securityContext.windowsOptions.runAsUserName"]),
		"container": container.name,
	}
}

# With or without a domain: NT AUTHORITY\SYSTEM.
administers(name) if {
	parts := split(lower(name), "\\")
	trim_space(parts[count(parts) - 1]) in {"administrator", "containeradministrator", "system"}
}
