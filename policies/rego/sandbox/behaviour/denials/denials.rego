# METADATA
# scope: package
# title: Many denials in a row
# description: >-
#   Whoever asks, or submitted the workload, was refused many different things within minutes,
#   far more than while a manifest is mended. Whoever does not know what an identity may do
#   finds it out by trying.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1069/
#   description: MITRE ATT&CK T1069, Permission Groups Discovery
# - ref: https://attack.mitre.org/techniques/T1613/
#   description: MITRE ATT&CK T1613, Container and Resource Discovery
# schemas:
# - input: schema.judge
# custom:
#   since: 1
#   points: 25
#   message: is of somebody who was refused many things
#   remedy: >-
#     Ask before sending: sallyport review FILE says what would be refused. It counts for four
#     hours.
package sallyport.sandbox.behaviour.denials

signals contains {"path": "", "value": ""} if {
	"denials" in input.context.behaviour
}
