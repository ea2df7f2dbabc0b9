# METADATA
# scope: package
# title: Deprecated API versions
# description: >-
#   An object is written in a version of its API that will stay. Files are read as they are written
#   (`sallyport review` in a pipeline is where this rule finds most). In a cluster kube-apiserver
#   converts an object to a version that a webhook asks for: list the old version too under
#   apiVersions of the chart's webhooks.kinds, or the gate never sees it. The default list has what
#   Kubernetes 1.16 to 1.32 stopped serving; versions that it serves still, such as betas of your
#   operators, are for the site to add.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/verifydeprecatedapi
#   description: Gatekeeper's twin, VerifyDeprecatedAPI
# - ref: https://github.com/kyverno/policies/tree/main/best-practices/check-deprecated-apis
#   description: Kyverno's twin, check-deprecated-apis
# - ref: https://kubernetes.io/docs/reference/using-api/deprecation-guide/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: is written in a deprecated version of its API (use {value})
#   remedy: Write it in the version that the message names, and look up what has changed in it.
#   kinds:
#   - apps/DaemonSet
#   - apps/Deployment
#   - apps/ReplicaSet
#   - apps/StatefulSet
#   - autoscaling/HorizontalPodAutoscaler
#   - batch/CronJob
#   - batch/Job
#   - extensions/DaemonSet
#   - extensions/Deployment
#   - extensions/Ingress
#   - extensions/NetworkPolicy
#   - extensions/ReplicaSet
#   - flowcontrol.apiserver.k8s.io/FlowSchema
#   - flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration
#   - networking.k8s.io/Ingress
#   - networking.k8s.io/IngressClass
#   - policy/PodDisruptionBudget
#   - resource.k8s.io/DeviceClass
#   - resource.k8s.io/ResourceClaim
#   - resource.k8s.io/ResourceClaimTemplate
#   - scheduling.k8s.io/PriorityClass
#   - storage.k8s.io/StorageClass
#   fields: [apiVersion]
#   parameters:
#     versions:
#       description: >-
#         The version to use in place of a deprecated one, which is written as apiVersion, for all
#         kinds of it, or as apiVersion/Kind.
#       type: object
#       additionalProperties: {type: string, minLength: 1}
#       default:
#         apps/v1beta1: apps/v1
#         apps/v1beta2: apps/v1
#         autoscaling/v2beta1: autoscaling/v2
#         autoscaling/v2beta2: autoscaling/v2
#         batch/v1beta1: batch/v1
#         extensions/v1beta1: apps/v1
#         extensions/v1beta1/Ingress: networking.k8s.io/v1
#         extensions/v1beta1/NetworkPolicy: networking.k8s.io/v1
#         flowcontrol.apiserver.k8s.io/v1beta1: flowcontrol.apiserver.k8s.io/v1
#         flowcontrol.apiserver.k8s.io/v1beta2: flowcontrol.apiserver.k8s.io/v1
#         flowcontrol.apiserver.k8s.io/v1beta3: flowcontrol.apiserver.k8s.io/v1
#         networking.k8s.io/v1beta1/Ingress: networking.k8s.io/v1
#         networking.k8s.io/v1beta1/IngressClass: networking.k8s.io/v1
#         policy/v1beta1: policy/v1
#         scheduling.k8s.io/v1beta1: scheduling.k8s.io/v1
#         storage.k8s.io/v1beta1/StorageClass: storage.k8s.io/v1
package sallyport.rules.api.deprecated

import data.sallyport.parameters.api.deprecated as parameters

deny contains {"path": "apiVersion", "value": instead} if instead

instead := parameters.versions[exact]

instead := parameters.versions[input.fields.apiVersion] if not parameters.versions[exact]

exact := concat("/", [input.fields.apiVersion, kind])

kind := steps[count(steps) - 1] if steps := split(input.kind, "/")
