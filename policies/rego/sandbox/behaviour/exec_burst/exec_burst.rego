# METADATA
# scope: package
# title: Burst of entering
# description: >-
#   Whoever asks, or submitted the workload, enters Pods (exec, attach, copying files, which is
#   exec) many more times within minutes than is usual for them and for others. That is how
#   files are copied out one by one, and how a job's Pods are looked through.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1609/
#   description: MITRE ATT&CK T1609, Container Administration Command
# - ref: https://attack.mitre.org/techniques/T1119/
#   description: MITRE ATT&CK T1119, Automated Collection
# schemas:
# - input: schema.judge
# custom:
#   since: 1
#   points: 25
#   message: is of somebody who enters far more Pods than usual
#   remedy: >-
#     Have what is to be looked at written to the log or to storage, or wait four hours.
package sallyport.sandbox.behaviour.exec_burst

signals contains {"path": "", "value": ""} if {
	"exec-burst" in input.context.behaviour
}
