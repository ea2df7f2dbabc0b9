# METADATA
# scope: package
# title: Burst of workloads
# description: >-
#   Whoever asks, or submitted the workload, submits many more workloads within minutes than
#   they ever do in a day's busiest minutes. Miners of coins do; so does everybody who searches
#   parameters with one Job for each. The Pods of one Job count as the one workload that they
#   are.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1496/
#   description: MITRE ATT&CK T1496, Resource Hijacking
# - ref: https://attack.mitre.org/techniques/T1610/
#   description: MITRE ATT&CK T1610, Deploy Container
# schemas:
# - input: schema.judge
# custom:
#   since: 1
#   points: 15
#   message: is of somebody who submits far more than usual
#   remedy: >-
#     Submit a search as one workload with many Pods (an indexed Job), or wait two hours.
package sallyport.sandbox.behaviour.create_burst

signals contains {"path": "", "value": ""} if {
	"create-burst" in input.context.behaviour
}
