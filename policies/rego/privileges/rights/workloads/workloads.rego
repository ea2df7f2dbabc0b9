# METADATA
# scope: package
# title: Running and entering Pods everywhere
# description: >-
#   Rights in all namespaces reach those that webhooks leave out, kube-system among them, where
#   nobody judges what is run: a Pod there may run as any of Kubernetes' own controllers. So a
#   ClusterRole that creates or changes Pods or Kubernetes' own workloads, or that enters Pods,
#   needs more than a Role that does.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/#workload-creation
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/rbac/v1/evaluation_helpers.go
#   description: What a rule matches
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "rights/workloads/*"
#   message: reaches Pods in all namespaces, also where nobody judges them ({rest})
#   remedy: >-
#     Use a Role in each namespace where Pods are to be run or entered.
package sallyport.privileges.rights.workloads

import data.sallyport.lib.rights

changing := {"create", "update", "patch"}

run := {
	"pods": "",
	"replicationcontrollers": "",
	"daemonsets": "apps",
	"deployments": "apps",
	"replicasets": "apps",
	"statefulsets": "apps",
	"cronjobs": "batch",
	"jobs": "batch",
}

enter := ["pods/attach", "pods/ephemeralcontainers", "pods/exec", "pods/portforward", "pods/proxy"]

needs contains {"privilege": "rights/workloads/run", "path": rule.path} if {
	rights.everywhere
	some resource, group in run
	some rule in rights.giving(changing, group, resource)
}

needs contains {"privilege": "rights/workloads/enter", "path": rule.path} if {
	rights.everywhere
	some resource in enter
	some rule in rights.giving(changing | {"get"}, "", resource)
}
