# METADATA
# scope: package
# title: Command run in a container
# description: >-
#   kubectl exec names a command. The privilege holds its name: command[0] as it is where it has no
#   slash, its last part where it lies in a directory of the system (/bin, /sbin and those below
#   /usr and /usr/local), and else the whole path as one segment. The name says which file is asked
#   for, not what the file does: whoever can write in the container, or chose its image, can give
#   any program any name. So a narrow list is worth something where images are pinned and root file
#   systems read-only, and exec/command/* means any code.
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
#   - "exec/command/*"
#   message: runs {rest} in a container of the Pod
#   remedy: >-
#     Run a command that your profile lists, by its plain name, or ask for a profile that covers
#     this one.
package sallyport.privileges.exec.command

import data.sallyport.lib

needs contains entry if {
	input.object.kind == "PodExecOptions"
	name := lib.segment(object.get(input.object, "command", ""))
	entry := {"privilege": concat("", ["exec/command/", name]), "path": "command[0]"}
}
