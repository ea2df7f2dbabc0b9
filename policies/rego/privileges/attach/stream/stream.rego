# METADATA
# scope: package
# title: Attached to a container
# description: >-
#   kubectl attach with standard input or a terminal types into the program that the container
#   runs, which may be a shell or a notebook's kernel; without, it reads what the program prints
#   from then on, past the logs.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/kubectl/generated/kubectl_attach/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/api/blob/v0.36.3/core/v1/types.go
#   description: PodExecOptions, PodAttachOptions, PodPortForwardOptions, PodProxyOptions
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "attach/interactive"
#   - "attach/output"
#   message: attaches to a container of the Pod ({value})
#   remedy: >-
#     Read the output with kubectl logs; or ask for a profile that covers attach/output, or
#     attach/interactive to type as well.
package sallyport.privileges.attach.stream

needs contains {"privilege": "attach/interactive", "path": "tty"} if {
	input.object.kind == "PodAttachOptions"
	input.object.tty
}

needs contains {"privilege": "attach/interactive", "path": "stdin"} if {
	input.object.kind == "PodAttachOptions"
	input.object.stdin
}

needs contains {"privilege": "attach/output", "path": ""} if {
	input.object.kind == "PodAttachOptions"
	not input.object.tty
	not input.object.stdin
}
