# METADATA
# scope: package
# title: Inter-process communication of the node
# description: >-
#   A Pod with hostIPC: true shares the node's System V IPC objects and POSIX message queues
#   with all that runs there, so it can read and change other workloads' shared memory.
#   Forbidden by Pod Security baseline.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_hostNamespaces.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 1
#   risk: 40
#   privileges:
#   - "host/ipc"
#   message: shares the inter-process communication of the node
#   remedy: >-
#     Remove spec.hostIPC or set it to false. For more shared memory between processes of one
#     Pod, mount an emptyDir with medium: Memory at /dev/shm.
package sallyport.privileges.host.ipc

needs contains {"privilege": "host/ipc", "path": "spec.hostIPC"} if input.hostIPC
