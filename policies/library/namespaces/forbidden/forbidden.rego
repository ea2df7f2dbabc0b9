# METADATA
# scope: package
# title: Namespaces that nothing is put into
# description: >-
#   `default` and other namespaces that belong to nobody stay empty: quotas, egress and rights are
#   given by namespace. Of a workload, Pod means its Pod templates.
# related_resources:
# - ref: https://github.com/kyverno/policies/tree/main/best-practices/disallow-default-namespace
#   description: Kyverno's twin, disallow-default-namespace
# - ref: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# custom:
#   severity: low
#   message: is put into the namespace {value}
#   remedy: Name the namespace of your team in metadata.namespace.
#   kinds:
#   - Pod
#   - PersistentVolumeClaim
#   - Service
#   - networking.k8s.io/Ingress
#   parameters:
#     namespaces:
#       description: The namespaces.
#       type: array
#       minItems: 1
#       items: {type: string, minLength: 1}
#       default: [default]
package sallyport.rules.namespaces.forbidden

deny contains {"path": "metadata.namespace", "value": input.context.namespace} if {
	input.context.namespace in data.sallyport.parameters.namespaces.forbidden.namespaces
}
