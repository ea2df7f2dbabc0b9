# METADATA
# scope: package
# title: No user namespace
# description: >-
#   Without hostUsers: false a container's root is the node's root, and what it breaks out of, it
#   leaves as root; several escapes of recent years (CVE-2024-21626, CVE-2022-0492) do nothing in
#   a user namespace. By default since Kubernetes 1.33; it needs Linux 6.3 and a runtime that
#   knows it. A Pod in the node's network, process or IPC namespace cannot have one. Not asked on
#   Windows.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/workloads/pods/user-namespaces/
#   description: Kubernetes documentation
# - ref: https://github.com/opencontainers/runc/security/advisories/GHSA-xr7r-f8xq-vfvv
#   description: CVE-2024-21626
# - ref: https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/127-user-namespaces
#   description: User namespaces, KEP-127
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   privileges:
#   - "run-as/host-users"
#   message: has no user namespace of its own
#   remedy: >-
#     Set spec.hostUsers: false.
package sallyport.privileges.run_as.host_users

needs contains {"privilege": "run-as/host-users", "path": "spec.hostUsers"} if {
	input.containers[0]
	not input.os == "windows"
	not input.hostUsers == false
}
