# METADATA
# scope: package
# title: Identity outside the cluster
# description: >-
#   The Pod can sign in as somebody elsewhere: it has a token for another audience (a cloud, a
#   vault), or the label azure.workload.identity/use: "true", by which Azure's webhook gives it
#   one. What that identity may read, weights above all, is not known here; a site whose
#   identities reach weights should weigh this rule higher.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1078/004/
#   description: MITRE ATT&CK T1078.004, Cloud Accounts
# - ref: https://attack.mitre.org/techniques/T1528/
#   description: MITRE ATT&CK T1528, Steal Application Access Token
# - ref: https://azure.github.io/azure-workload-identity/docs/topics/service-account-labels-and-annotations.html
#   description: 'Azure Workload Identity: labels'
# schemas:
# - input: schema.projection
# custom:
#   since: 1
#   points: 15
#   message: can sign in outside the cluster ({value})
#   remedy: >-
#     Give the identity to a Pod that runs reviewed code only, and let this one read through it.
package sallyport.sandbox.identity.workload_identity

import data.sallyport.lib

signals contains lib.hinted(hint) if {
	some hint in input.hints
	hint.kind == "workload-identity"
}

signals contains entry if {
	some volume in input.volumes
	some token in volume.tokens
	token.audience != ""
	entry := {"path": token.path, "value": token.audience}
}
