# METADATA
# scope: package
# title: Writable root filesystem
# description: >-
#   With a writable root filesystem an intruder can replace the container's programs and leave
#   tools behind. Volumes stay writable. Not asked on Windows, which cannot run so.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/
#   description: Kubernetes documentation
# - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#   description: Kubernetes Hardening Guide, NSA and CISA
# schemas:
# - input: schema.projection
# custom:
#   severity: low
#   since: 2
#   risk: 5
#   privileges:
#   - "container/writable-root"
#   message: can write to its root filesystem
#   remedy: >-
#     Set securityContext.readOnlyRootFilesystem: true on the container and mount an emptyDir
#     where it writes, for example at /tmp.
package sallyport.privileges.container.root_filesystem

needs contains entry if {
	not input.os == "windows"
	some container in input.containers
	not container.securityContext.readOnlyRootFilesystem == true
	entry := {
		"privilege": "container/writable-root",
		"path": concat("", [container.path, ".securityContext.readOnlyRootFilesystem"]),
		"container": container.name,
	}
}
