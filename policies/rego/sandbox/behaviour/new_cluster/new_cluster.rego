# METADATA
# scope: package
# title: First time in the cluster
# description: >-
#   Whoever asks, or submitted the workload, did nothing in this cluster before the last day. An
#   identity that was made for an attack, or woken for it, is new; so is everybody on their
#   first day.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1136/
#   description: MITRE ATT&CK T1136, Create Account
# - ref: https://attack.mitre.org/techniques/T1078/
#   description: MITRE ATT&CK T1078, Valid Accounts
# schemas:
# - input: schema.judge
# custom:
#   since: 1
#   points: 15
#   message: is of somebody who is new in the cluster
#   remedy: >-
#     Nothing needs to be mended: it counts for a day. Ask your security team if it was not
#     you.
package sallyport.sandbox.behaviour.new_cluster

signals contains {"path": "", "value": ""} if {
	"new-cluster" in input.context.behaviour
}
