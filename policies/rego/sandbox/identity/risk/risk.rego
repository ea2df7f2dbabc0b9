# METADATA
# scope: package
# title: Identity at risk
# description: >-
#   Entra ID says of who asks, of who submitted the workload, or of what the Pod signs in as, that
#   its risk is medium or high, that it is compromised, or something that this release does not
#   know: what it runs may not be what that person would run. It does not suffice alone, since what
#   risk does by itself is the risk table's to say; together with a terminal, a notebook or a
#   careless default it does. What is only not known (stale, hidden, guests, managed identities)
#   adds nothing: it would add to every Pod alike.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1078/004/
#   description: MITRE ATT&CK T1078.004, Cloud Accounts
# - ref: https://learn.microsoft.com/entra/id-protection/concept-identity-protection-risks
#   description: Microsoft Entra ID Protection, What are risk detections
# schemas:
# - input: schema.judge
# custom:
#   since: 1
#   points: 40
#   message: "is of an identity at risk: {value}"
#   remedy: >-
#     Sign in again as Entra ID asks, or have your security team look at the event and dismiss it.
package sallyport.sandbox.identity.risk

signals contains {"path": "", "value": concat("", [standing, " (", role, ")"])} if {
	some role, standing in input.context.risk
	standing in {"medium", "high", "confirmed-compromised", "unknown"}
}
