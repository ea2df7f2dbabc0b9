# METADATA
# scope: package
# title: Open to the outside
# description: >-
#   A Service lets in from outside of the cluster what the Pod serves: whoever finds a fault in it
#   is in the container. Told by the labels that the Service selects, at the time of the review; an
#   Ingress or a gateway in front of it is not seen. Not enough by itself, since to serve is what
#   many Pods are for: code that is pinned and one's own stays below the threshold, whereas a
#   public image that can change, with a token and no limits, reaches it.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1190/
#   description: MITRE ATT&CK T1190, Exploit Public-Facing Application
# - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#   description: NSA and CISA, Kubernetes Hardening Guide 1.2
# - ref: https://kubernetes.io/docs/concepts/services-networking/service/
#   description: Kubernetes documentation, Service
# schemas:
# - input: schema.judge
# custom:
#   since: 1
#   points: 15
#   message: is reached from outside of the cluster (Service {value})
#   remedy: >-
#     Let the Service be of type ClusterIP, or select other Pods with it.
package sallyport.sandbox.exposure.service

signals contains {"path": "metadata.labels", "value": name} if some name in input.context.services
