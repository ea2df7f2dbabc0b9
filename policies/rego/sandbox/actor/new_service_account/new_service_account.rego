# METADATA
# scope: package
# title: Account made lately
# description: >-
#   The Pod's service account was made a short while ago: whoever got in makes an account of their
#   own to come back with, and what was installed a moment ago nobody has watched yet. Few points,
#   since every workload has a first day: together with an image that can change and that anyone
#   may have published, a token and no limits it reaches the threshold; one careful default less,
#   and it does not.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1136/
#   description: MITRE ATT&CK T1136, Create Account
# - ref: https://attack.mitre.org/techniques/T1098/006/
#   description: MITRE ATT&CK T1098.006, Additional Container Cluster Roles
# - ref: https://kubernetes.io/docs/concepts/security/service-accounts/
#   description: Kubernetes documentation, Service Accounts
# schemas:
# - input: schema.judge
# custom:
#   since: 1
#   points: 15
#   message: runs as a service account that was made lately
#   remedy: >-
#     Use a service account that the namespace has had for a while, or start it anew later.
package sallyport.sandbox.actor.new_service_account

signals contains {"path": "spec.serviceAccountName", "value": ""} if {
	input.context.newServiceAccount
}
