# METADATA
# scope: package
# title: Anti-affinity that keeps others away
# description: >-
#   A required anti-affinity works both ways: the scheduler also keeps Pods that come later away
#   from the Pod that has it. With a topologyKey beyond kubernetes.io/hostname one Pod keeps a
#   zone, or all of a cluster, free of the Pods that it selects; with namespaces or a
#   namespaceSelector these are Pods of others, and on as many nodes as it has replicas. Pods of
#   its own namespace on its own node are its author's affair. What selects Pods of gangs alone
#   is not counted: JobSet and LeaderWorkerSet write it for whoever annotates one with
#   exclusive-topology. Kubernetes' plugin LimitPodHardAntiAffinityTopology refuses other keys
#   than the node's, is off by default, and looks at no namespaces.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/plugin/pkg/admission/antiaffinity/doc.go
#   description: Kubernetes' plugin, off by default
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 4
#   privileges:
#   - "scheduling/anti-affinity/*"
#   - "scheduling/anti-affinity-elsewhere/*"
#   message: keeps other Pods off the nodes that share a label ({rest})
#   remedy: >-
#     Take the term into preferredDuringSchedulingIgnoredDuringExecution, use
#     spec.topologySpreadConstraints, or name topologyKey kubernetes.io/hostname and leave namespaces
#     and namespaceSelector out, which means the Pod's own namespace.
package sallyport.privileges.scheduling.anti_affinity

import data.sallyport.lib

needs contains entry if {
	some term in input.antiAffinity
	not term.elsewhere
	entry := {
		"privilege": concat("", ["scheduling/anti-affinity/", lib.segment(term.key)]),
		"path": term.path,
	}
}

needs contains entry if {
	some term in input.antiAffinity
	term.elsewhere
	entry := {
		"privilege": concat("", ["scheduling/anti-affinity-elsewhere/", lib.segment(term.key)]),
		"path": term.path,
	}
}
