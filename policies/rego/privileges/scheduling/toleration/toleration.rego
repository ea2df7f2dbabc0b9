# METADATA
# scope: package
# title: Toleration of control-plane taints, or of everything
# description: >-
#   Taints keep workloads off the nodes that run the cluster itself. A toleration of those taints,
#   or one with the operator Exists and no key, which tolerates every taint, brings the Pod beside
#   etcd, the API server's certificates and system add-ons, and onto nodes that are cordoned or
#   quarantined. AKS system pools have the taint CriticalAddonsOnly;
#   node-role.kubernetes.io/master is the name of before Kubernetes 1.24, controlplane and etcd
#   those of RKE.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
#   description: Kubernetes documentation
# - ref: https://learn.microsoft.com/en-us/azure/aks/use-system-pools
#   description: System pools of AKS
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubeadm/app/constants/constants.go
#   description: kubeadm's taint
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   privileges:
#   - "scheduling/tolerate/*"
#   message: tolerates taints of nodes that are not for workloads ({rest})
#   remedy: >-
#     Remove the toleration from spec.tolerations, or name the taints of the node pool that the
#     workload is for, with key and value.
package sallyport.privileges.scheduling.toleration

import data.sallyport.lib

needs contains entry if {
	some toleration in input.tolerations
	key := object.get(toleration, "key", "")
	key in reserved
	entry := {
		"privilege": concat("", ["scheduling/tolerate/", lib.segment(key)]),
		"path": toleration.path,
	}
}

# The API accepts no key with no operator but Exists.
needs contains {"privilege": "scheduling/tolerate/everything", "path": toleration.path} if {
	some toleration in input.tolerations
	object.get(toleration, "key", "") == ""
}

# Taints of the nodes that run the cluster.
reserved := {
	"CriticalAddonsOnly",
	"node-role.kubernetes.io/control-plane",
	"node-role.kubernetes.io/controlplane",
	"node-role.kubernetes.io/etcd",
	"node-role.kubernetes.io/master",
}
