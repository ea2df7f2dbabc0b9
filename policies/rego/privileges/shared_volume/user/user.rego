# METADATA
# scope: package
# title: User on a shared file system
# description: >-
#   A server of NFS or Lustre, and a node that mounts blobs for all, believe the number of the user
#   that a Pod says: user 0 owns what root owns there, and whoever takes a colleague's number has
#   their files. So a container that mounts a file system which other workloads mount too needs
#   shared-volume/user/0 for user 0, also in a user namespace (mounts are mapped back to 0), and
#   shared-volume/user/any where the image decides and may be root. In a namespace with
#   the annotation sallyport.dev/uid-range every other user needs shared-volume/user/<number>, and
#   shared-volume/user/any whoever names none. A file system counts by its type or driver, else by
#   access modes of many nodes; so does a claim that is not bound while such a volume is nobody's.
#   A container that sees the processes of one that mounts it (shareProcessNamespace,
#   targetContainerName) counts as mounting it: /proc/PID/root shows what the other one mounts.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#set-the-security-context-for-a-pod
#   description: Kubernetes documentation
# - ref: https://datatracker.ietf.org/doc/html/rfc5531#section-14
#   description: Why AUTH_SYS, by which NFS knows users, proves nothing
# - ref: https://docs.okd.io/latest/authentication/managing-security-context-constraints.html
#   description: Ranges of a namespace in OpenShift's security context constraints
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 4
#   risk: 20
#   privileges:
#   - "shared-volume/user/*"
#   message: "mounts a file system of many workloads, where its user can be {rest}"
#   remedy: >-
#     Set securityContext.runAsUser to the number that is yours there: one of the namespace's
#     annotation sallyport.dev/uid-range, where it has one, else one other than 0.
package sallyport.privileges.shared_volume.user

# The container's own.
needs contains entry if {
	some container in input.containers
	container.shares
	id := container.securityContext.runAsUser
	not allowed(id)
	entry := {
		"privilege": privilege(id),
		"path": concat("", [container.path, ".securityContext.runAsUser"]),
		"container": container.name,
	}
}

# The Pod's, for a container that names none.
needs contains {"privilege": privilege(id), "path": "spec.securityContext.runAsUser"} if {
	some container in input.containers
	container.shares
	not names_user(container)
	id := input.securityContext.runAsUser
	not allowed(id)
}

# The image's.
needs contains {
	"privilege": "shared-volume/user/any",
	"path": "spec.securityContext.runAsUser",
} if {
	some container in input.containers
	container.shares
	not names_user(container)
	not names_user(input)
	not may_leave_out(container)
}

privilege(id) := concat("/", ["shared-volume/user", format_int(id, 10)])

allowed(id) if {
	not input.ids.users
	id > 0
}

allowed(id) if {
	some block in input.ids.users
	id >= block.first
	id <= block.last
}

names_user(context) if is_number(context.securityContext.runAsUser)

# There files belong to nobody by a number.
may_leave_out(_) if input.os == "windows"

may_leave_out(_) if {
	input.ids.users
	input.idsFilled
}

may_leave_out(container) if {
	not input.ids.users
	is_non_root(container)
}

is_non_root(container) if container.securityContext.runAsNonRoot == true

is_non_root(container) if {
	not container.securityContext.runAsNonRoot == false
	input.securityContext.runAsNonRoot == true
}
