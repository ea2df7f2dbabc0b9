# METADATA
# scope: package
# title: Debug container
# description: >-
#   An ephemeral container lies in the Pod (kubectl debug): tools and commands that were not part of
#   what was reviewed. Who may add one is a privilege (debug); this says that one is there, and it
#   stays until the Pod ends. Below the threshold with a terminal and an image that is pinned and
#   the site's own, where the Pod holds no token.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1609/
#   description: MITRE ATT&CK T1609, Container Administration Command
# - ref: https://kubernetes.io/docs/concepts/workloads/pods/ephemeral-containers/
#   description: Kubernetes documentation, Ephemeral Containers
# schemas:
# - input: schema.projection
# custom:
#   since: 1
#   points: 15
#   message: has a debug container ({value})
#   remedy: >-
#     Debug a copy of the Pod (kubectl debug --copy-to), and delete it afterwards.
package sallyport.sandbox.actor.debug

signals contains entry if {
	some container in input.containers
	container.kind == "ephemeral"
	entry := {"path": container.path, "value": container.name, "container": container.name}
}
