# METADATA
# scope: package
# title: No ports of nodes
# description: A Service of the type NodePort opens a port on every node.
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: medium
#   message: opens a port of every node
#   remedy: Take the type ClusterIP, and an Ingress for what is reached from outside.
#   kinds: [Service]
#   fields: [spec.type]
package sallyport.rules.acme.ports

deny contains {"path": "spec.type", "value": "NodePort"} if input.fields.spec.type == "NodePort"
