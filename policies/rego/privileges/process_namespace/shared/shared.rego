# METADATA
# scope: package
# title: Shared process namespace
# description: >-
#   With shareProcessNamespace every container of the Pod sees the others' processes, their
#   environment and files under /proc/<pid>/root, and may signal them: a sidecar then reads the
#   secrets of the program beside it.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/configure-pod-container/share-process-namespace/
#   description: Kubernetes documentation
# - ref: https://man7.org/linux/man-pages/man7/pid_namespaces.7.html
#   description: pid_namespaces(7)
# schemas:
# - input: schema.projection
# custom:
#   severity: low
#   since: 2
#   risk: 10
#   privileges:
#   - "process-namespace/shared"
#   message: lets its containers see each other's processes
#   remedy: >-
#     Remove spec.shareProcessNamespace; let containers talk over a shared emptyDir or localhost.
package sallyport.privileges.process_namespace.shared

needs contains {"privilege": "process-namespace/shared", "path": "spec.shareProcessNamespace"} if {
	input.shareProcessNamespace
}
