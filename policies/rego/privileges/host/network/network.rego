# METADATA
# scope: package
# title: Network of the node
# description: >-
#   A Pod with hostNetwork: true shares the node's network: it sees the node's traffic, reaches
#   what listens on the node's loopback address, and no NetworkPolicy applies to it. Forbidden
#   by Pod Security baseline.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_hostNamespaces.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 1
#   risk: 40
#   privileges:
#   - "host/network"
#   message: shares the network of the node
#   remedy: >-
#     Remove spec.hostNetwork or set it to false.
package sallyport.privileges.host.network

needs contains {"privilege": "host/network", "path": "spec.hostNetwork"} if input.hostNetwork
