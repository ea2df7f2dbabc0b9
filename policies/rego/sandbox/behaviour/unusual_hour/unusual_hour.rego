# METADATA
# scope: package
# title: Unusual hour
# description: >-
#   Whoever asks, or submitted the workload, does something at an hour at which they hardly ever
#   did. A stolen session is used when its owner sleeps or where somebody else's day is; so work
#   those who are called at night, and those who travel.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1078/
#   description: MITRE ATT&CK T1078, Valid Accounts
# - ref: https://attack.mitre.org/techniques/T1550/
#   description: MITRE ATT&CK T1550, Use Alternate Authentication Material
# schemas:
# - input: schema.judge
# custom:
#   since: 1
#   points: 15
#   message: is of somebody at an unusual hour
#   remedy: >-
#     Nothing needs to be mended: it counts for two hours, and an hour that comes again is
#     soon usual. Ask your security team if it was not you.
package sallyport.sandbox.behaviour.unusual_hour

signals contains {"path": "", "value": ""} if {
	"unusual-hour" in input.context.behaviour
}
