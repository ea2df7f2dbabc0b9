# METADATA
# scope: package
# title: Annotation that older kubelets honour
# description: >-
#   Before they were fields, some settings were annotations, and a node that is older than the API
#   server still reads them: seccomp profiles up to Kubernetes 1.26
#   (seccomp.security.alpha.kubernetes.io/pod,
#   container.seccomp.security.alpha.kubernetes.io/<name>), kernel parameters up to 1.10
#   (security.alpha.kubernetes.io/sysctls and unsafe-sysctls), protection from eviction up to 1.15
#   (scheduler.alpha.kubernetes.io/critical-pod). Seccomp profiles other than unconfined are let
#   be. The annotation of AppArmor belongs to the rule apparmor/profile.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/labels-annotations-taints/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.26.0/pkg/kubelet/kuberuntime/helpers.go
#   description: The last kubelet that read the seccomp annotations
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.10.0/pkg/apis/core/annotation_key_constants.go
#   description: The annotations of 1.10
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   risk: 20
#   privileges:
#   - "annotation/*"
#   message: has an annotation that older nodes obey ({value})
#   remedy: >-
#     Remove the annotation; set spec.securityContext.seccompProfile, spec.securityContext.sysctls
#     or spec.priorityClassName instead.
package sallyport.privileges.annotation.deprecated

import data.sallyport.lib

needs contains entry if {
	some name, value in input.annotations
	meaning := setting(name, value)
	entry := {
		"privilege": concat("", ["annotation/", lib.segment(meaning)]),
		"path": concat("", ["metadata.annotations['", name, "']"]),
	}
}

setting(name, value) := "seccomp" if {
	is_seccomp(name)
	not is_filter(value)
}

setting(name, _) := trim_prefix(name, "security.alpha.kubernetes.io/") if {
	startswith(name, "security.alpha.kubernetes.io/")
}

setting("scheduler.alpha.kubernetes.io/critical-pod", _) := "critical-pod"

is_seccomp(name) if startswith(name, "seccomp.security.alpha.kubernetes.io/")

is_seccomp(name) if startswith(name, "container.seccomp.security.alpha.kubernetes.io/")

is_filter("runtime/default")

is_filter("docker/default")

is_filter(value) if startswith(value, "localhost/")
