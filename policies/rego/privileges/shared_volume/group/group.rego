# METADATA
# scope: package
# title: Group on a shared file system
# description: >-
#   Files of a file system that other workloads mount too belong to groups by their numbers, and the
#   server believes the numbers that a Pod says. Groups below 1000 are those of the system (0 is
#   root's, 100 is users on Debian and in Jupyter's images), which files of many people belong to
#   (Debian policy 9.2.2, systemd's UIDS-GIDS): runAsGroup, fsGroup and each of
#   supplementalGroups that is one needs shared-volume/group/<number> where a container mounts such
#   a file system. In a namespace with the annotation sallyport.dev/supplemental-groups (or
#   uid-range) so does each group outside of it, and shared-volume/group/any whoever names no
#   runAsGroup (then it is the image's, or 0) or no supplementalGroupsPolicy Strict (else the image's
#   /etc/group adds groups). Without such an annotation the groups of the image are not seen. A
#   container that sees the processes of one that mounts it counts as mounting it.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#supplementalgroupspolicy
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/3619-supplemental-groups-policy
#   description: Groups that an image adds, KEP-3619
# - ref: https://www.debian.org/doc/debian-policy/ch-opersys.html#uid-and-gid-classes
#   description: Which numbers are the system's
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 4
#   risk: 20
#   privileges:
#   - "shared-volume/group/*"
#   message: "mounts a file system of many workloads, where its group can be {rest}"
#   remedy: >-
#     Take the group away, or name one that is yours there: of the namespace's annotation
#     sallyport.dev/supplemental-groups, where it has one, else from 1000 on. With the annotation
#     also set securityContext.runAsGroup and supplementalGroupsPolicy Strict.
package sallyport.privileges.shared_volume.group

import data.sallyport.lib

# The container's own.
needs contains entry if {
	some container in input.containers
	container.shares
	id := container.securityContext.runAsGroup
	not allowed(id)
	entry := {
		"privilege": privilege(id),
		"path": concat("", [container.path, ".securityContext.runAsGroup"]),
		"container": container.name,
	}
}

# The Pod's, for a container that names none.
needs contains {"privilege": privilege(id), "path": "spec.securityContext.runAsGroup"} if {
	some container in input.containers
	container.shares
	not names_group(container)
	id := input.securityContext.runAsGroup
	not allowed(id)
}

# The image's, or 0.
needs contains {
	"privilege": "shared-volume/group/any",
	"path": "spec.securityContext.runAsGroup",
} if {
	demanded
	not input.idsFilled
	some container in input.containers
	container.shares
	not names_group(container)
	not names_group(input)
}

needs contains {"privilege": privilege(id), "path": "spec.securityContext.fsGroup"} if {
	shared
	id := input.securityContext.fsGroup
	not allowed(id)
}

needs contains {"privilege": privilege(id), "path": path} if {
	shared
	some index, id in input.securityContext.supplementalGroups
	path := lib.indexed("spec.securityContext.supplementalGroups", index)
	not allowed(id)
}

# Those of the image's /etc/group.
needs contains {
	"privilege": "shared-volume/group/any",
	"path": "spec.securityContext.supplementalGroupsPolicy",
} if {
	demanded
	shared
	not adds_none
}

shared if {
	some container in input.containers
	container.shares
}

privilege(id) := concat("/", ["shared-volume/group", format_int(id, 10)])

allowed(id) if {
	not input.ids.groups
	id >= 1000
}

allowed(id) if {
	some block in input.ids.groups
	id >= block.first
	id <= block.last
}

names_group(context) if is_number(context.securityContext.runAsGroup)

# Windows has no such groups.
demanded if {
	input.ids.groups
	not input.os == "windows"
}

adds_none if input.securityContext.supplementalGroupsPolicy == "Strict"

adds_none if {
	input.idsFilled
	not input.securityContext.supplementalGroupsPolicy
}
