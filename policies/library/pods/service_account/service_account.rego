# METADATA
# scope: package
# title: A service account of its own
# description: >-
#   What runs has a service account that was made for it: `default` is shared by everything in the
#   namespace, and what it is given, all of that gets. Kubernetes takes `default` where none is named.
#   That the account's token is not mounted is for profiles to say (the privilege token/automount,
#   docs/rules/token/automount.md).
# related_resources:
# - ref: https://github.com/kyverno/policies/tree/main/other/restrict-sa-automount-sa-token
#   description: Kyverno's nearest, restrict-sa-automount-sa-token
# - ref: https://kubernetes.io/docs/concepts/security/service-accounts/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: runs as the service account {value}
#   remedy: Make a ServiceAccount for the workload and name it in spec.serviceAccountName.
#   fields: [spec.serviceAccountName, spec.serviceAccount]
#   parameters:
#     accounts:
#       description: The accounts that nothing may run as.
#       type: array
#       minItems: 1
#       items: {type: string, minLength: 1}
#       default: [default]
package sallyport.rules.pods.service_account

deny contains {"path": "spec.serviceAccountName", "value": account} if {
	count(named) == 0
	account := "default"
	account in forbidden
}

deny contains {"path": concat("", ["spec.", field]), "value": text(account)} if {
	some field, account in named
	not good(account)
}

# The second is an old name of the first: Kubernetes reads it where the first is not set.
named := {field: account |
	some field in ["serviceAccountName", "serviceAccount"]
	account := object.get(input.fields, ["spec", field], "")
	account != ""
}

good(account) if {
	is_string(account)
	not account in forbidden
}

forbidden := data.sallyport.parameters.pods.service_account.accounts

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
