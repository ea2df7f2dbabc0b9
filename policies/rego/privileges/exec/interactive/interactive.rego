# METADATA
# scope: package
# title: Session in a container
# description: >-
#   kubectl exec with standard input or a terminal opens a session: what is done in it is typed
#   later, where no admission sees it. It holds all that the container holds: its data, its service
#   account's token, its network.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/debug/debug-application/get-shell-running-container/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/api/blob/v0.36.3/core/v1/types.go
#   description: PodExecOptions, PodAttachOptions, PodPortForwardOptions, PodProxyOptions
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "exec/interactive"
#   message: opens a session in a container of the Pod
#   remedy: >-
#     Leave out -i and -t and name the command, if a profile of yours allows that; read what the
#     container writes with kubectl logs; or ask for a profile that covers exec/interactive.
package sallyport.privileges.exec.interactive

needs contains {"privilege": "exec/interactive", "path": "tty"} if {
	input.object.kind == "PodExecOptions"
	input.object.tty
}

needs contains {"privilege": "exec/interactive", "path": "stdin"} if {
	input.object.kind == "PodExecOptions"
	input.object.stdin
}
