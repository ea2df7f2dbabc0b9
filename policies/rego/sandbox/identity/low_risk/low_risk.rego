# METADATA
# scope: package
# title: Identity at low risk
# description: >-
#   The same at low risk, which most people have now and then (a new device, a journey): a hint
#   beside others, and no more.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1078/004/
#   description: MITRE ATT&CK T1078.004, Cloud Accounts
# - ref: https://learn.microsoft.com/entra/id-protection/concept-identity-protection-risks
#   description: Microsoft Entra ID Protection, What are risk detections
# schemas:
# - input: schema.judge
# custom:
#   since: 1
#   points: 15
#   message: "is of an identity at risk: {value}"
#   remedy: >-
#     Sign in again as Entra ID asks, or have your security team look at the event and dismiss it.
package sallyport.sandbox.identity.low_risk

signals contains {"path": "", "value": concat("", [standing, " (", role, ")"])} if {
	some role, standing in input.context.risk
	standing == "low"
}
