# METADATA
# scope: package
# title: AppArmor profile
# description: >-
#   On nodes with AppArmor the container runtime's default profile keeps a container from
#   writing below /proc and /sys and from mounting. Unconfined takes it away. Pod Security
#   baseline allows RuntimeDefault and Localhost, in the field and in the older annotation.
# related_resources:
# - ref: https://kubernetes.io/docs/tutorials/security/apparmor/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_appArmorProfile.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 1
#   risk: 20
#   privileges:
#   - "apparmor/unconfined"
#   - "apparmor/other/*"
#   message: replaces the runtime's AppArmor profile ({value})
#   remedy: >-
#     Set securityContext.appArmorProfile.type: RuntimeDefault there, or remove the field;
#     remove the annotation container.apparmor.security.beta.kubernetes.io/<container>.
package sallyport.privileges.apparmor.profile

import data.sallyport.lib

needs contains entry if {
	profile := input.securityContext.appArmorProfile
	not confined(profile)
	entry := {
		"privilege": privilege(object.get(profile, "type", "")),
		"path": "spec.securityContext.appArmorProfile.type",
	}
}

needs contains entry if {
	some container in input.containers
	profile := container.securityContext.appArmorProfile
	not confined(profile)
	entry := {
		"privilege": privilege(object.get(profile, "type", "")),
		"path": concat("", [container.path, ".securityContext.appArmorProfile.type"]),
		"container": container.name,
	}
}

needs contains entry if {
	some key, value in input.annotations
	startswith(key, "container.apparmor.security.beta.kubernetes.io/")
	not harmless(value)
	entry := {
		"privilege": privilege(value),
		"path": concat("", ["metadata.annotations['", key, "']"]),
	}
}

confined(profile) if profile.type == "RuntimeDefault"

confined(profile) if profile.type == "Localhost"

harmless("")

harmless("runtime/default")

harmless(value) if startswith(value, "localhost/")

privilege(value) := "apparmor/unconfined" if {
	value in {"Unconfined", "unconfined"}
} else := concat("", ["apparmor/other/", lib.segment(value)])
