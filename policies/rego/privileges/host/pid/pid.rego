# METADATA
# scope: package
# title: Processes of the node
# description: >-
#   A Pod with hostPID: true sees every process of the node, can signal those it has the rights
#   for, and may read their environment and open files under /proc. Forbidden by Pod Security
#   baseline.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_hostNamespaces.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: critical
#   since: 1
#   risk: 40
#   privileges:
#   - "host/pid"
#   message: sees the processes of the node
#   remedy: >-
#     Remove spec.hostPID or set it to false.
package sallyport.privileges.host.pid

needs contains {"privilege": "host/pid", "path": "spec.hostPID"} if input.hostPID
