# METADATA
# scope: package
# title: First time in a namespace
# description: >-
#   Whoever asks, or submitted the workload, did something in this cluster for a while, and in
#   some namespace for the first time within the last hours. Whoever uses what they stole looks
#   around; so does everybody who joins another project, which in a year of 2,000 people is some
#   fifty a day: few points.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1613/
#   description: MITRE ATT&CK T1613, Container and Resource Discovery
# - ref: https://attack.mitre.org/techniques/T1021/
#   description: 'MITRE ATT&CK T1021, Remote Services: moving on'
# schemas:
# - input: schema.judge
# custom:
#   since: 1
#   points: 10
#   message: is of somebody who is new in a namespace
#   remedy: >-
#     Nothing needs to be mended: it counts for half a day. Ask your security team if it was
#     not you.
package sallyport.sandbox.behaviour.new_namespace

signals contains {"path": "", "value": ""} if {
	"new-namespace" in input.context.behaviour
}
