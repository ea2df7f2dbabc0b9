# METADATA
# scope: package
# title: First use of a profile
# description: >-
#   Whoever asks, or submitted the workload, was given a profile that they did not use before.
#   It is one that they may use; whoever took over an identity tries what it may do. New kinds
#   of work need new profiles too, which is frequent: few points.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1610/
#   description: MITRE ATT&CK T1610, Deploy Container
# - ref: https://attack.mitre.org/techniques/T1611/
#   description: MITRE ATT&CK T1611, Escape to Host
# schemas:
# - input: schema.judge
# custom:
#   since: 1
#   points: 10
#   message: is of somebody who uses a profile for the first time
#   remedy: >-
#     Use the profile of your other workloads if it suffices, or wait half a day.
package sallyport.sandbox.behaviour.new_profile

signals contains {"path": "", "value": ""} if {
	"new-profile" in input.context.behaviour
}
