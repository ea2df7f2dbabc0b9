# METADATA
# scope: package
# title: Host of a probe or lifecycle handler
# description: >-
#   The kubelet opens the connections of httpGet and tcpSocket handlers from the node's network.
#   With a host field they go to any address that the node reaches, for example a metadata
#   service, and their outcome can be read from the Pod's status. Forbidden by Pod Security
#   baseline since Kubernetes 1.34.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_hostProbesAndhostLifecycle.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 1
#   risk: 10
#   privileges:
#   - "host/probe/*"
#   message: lets the kubelet connect to a host of its choice ({rest})
#   remedy: >-
#     Remove host from the httpGet or tcpSocket of the probe or lifecycle handler: the kubelet
#     then connects to the Pod itself.
package sallyport.privileges.host.probe

import data.sallyport.lib

needs contains entry if {
	some container in input.containers
	some handler in container.handlerHosts
	handler.host != ""
	entry := {
		"privilege": concat("", ["host/probe/", lib.segment(handler.host)]),
		"path": handler.path,
		"container": container.name,
	}
}
