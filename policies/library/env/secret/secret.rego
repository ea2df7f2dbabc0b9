# METADATA
# scope: package
# title: Secret in an environment variable
# description: >-
#   A variable whose name says that it holds a secret gets its value by reference, and not in the
#   manifest, where everyone who may read Pods sees it. Values are shown to no rule, so that only the
#   name tells: a word of the list stands in it between underscores, dashes or dots, or ends it
#   (DB_PASSWORD, dbPassword; not MAX_TOKENS). A name that ends in one of `endings` speaks of
#   something else (TOKEN_FILE). An empty value counts as one. Init and ephemeral containers count.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/configuration/secret/
#   description: Kubernetes documentation
# - ref: https://github.com/kyverno/policies/tree/main/other/disallow-secrets-from-env-vars
#   description: Kyverno's nearest, disallow-secrets-from-env-vars (here env/from_secret)
# - ref: https://attack.mitre.org/techniques/T1552/007/
#   description: MITRE ATT&CK, unsecured credentials in the container API
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: high
#   message: has the value of {value} in the manifest
#   remedy: >-
#     Put the value into a Secret, and mount it or name it in valueFrom.secretKeyRef. A secret that
#     has stood in a manifest is to be changed.
#   fields:
#   - spec.containers[].name
#   - spec.containers[].env[].name
#   - spec.containers[].env[].valueFrom
#   - spec.initContainers[].name
#   - spec.initContainers[].env[].name
#   - spec.initContainers[].env[].valueFrom
#   - spec.ephemeralContainers[].name
#   - spec.ephemeralContainers[].env[].name
#   - spec.ephemeralContainers[].env[].valueFrom
#   parameters:
#     words:
#       description: What tells of a secret, in capitals.
#       type: array
#       minItems: 1
#       items: {type: string, pattern: "^[A-Z0-9_]+$"}
#       default:
#       - ACCESS_KEY
#       - ACCOUNT_KEY
#       - API_KEY
#       - APIKEY
#       - CONNECTION_STRING
#       - CREDENTIAL
#       - CREDENTIALS
#       - PASSWD
#       - PASSWORD
#       - PRIVATE_KEY
#       - SAS
#       - SECRET
#       - SECRET_KEY
#       - TOKEN
#     endings:
#       description: The last words of names that are no secrets, in capitals.
#       type: array
#       items: {type: string, pattern: "^[A-Z0-9_]+$"}
#       default: [DIR, FILE, ID, LENGTH, NAME, PATH]
#     except:
#       description: Variables that are let be, such as PAD_TOKEN.
#       type: array
#       items: {type: string, minLength: 1}
#       default: []
package sallyport.rules.env.secret

import data.sallyport.lib
import data.sallyport.parameters.env.secret as parameters

deny contains entry if {
	count(secretive) > 0
	some list in lists
	some index, container in input.fields.spec[list]
	some number, variable in container.env
	variable.name in secretive
	not referred(variable)
	path := concat("", ["spec.", lib.indexed(list, index), ".env"])
	entry := {
		"path": lib.indexed(path, number),
		"value": variable.name,
		"container": object.get(container, "name", ""),
	}
}

lists := ["containers", "initContainers", "ephemeralContainers"]

# Each name once, however many containers have it.
names contains variable.name if {
	some list in lists
	some container in input.fields.spec[list]
	some variable in container.env
	not referred(variable)
}

referred(variable) if {
	is_object(variable.valueFrom)
	count(variable.valueFrom) > 0
}

secretive contains name if {
	some name in names
	plain := replace(replace(upper(name), "-", "_"), ".", "_")
	tells(plain, concat("", ["_", plain, "_"]))
	not harmless(plain)
	not name in parameters.except
}

tells(_, between) if {
	some word in marked
	contains(between, word)
}

tells(plain, _) if {
	some word in parameters.words
	endswith(plain, word)
	count(word) > 3
}

marked := [concat("", ["_", word, "_"]) | some word in parameters.words]

harmless(plain) if {
	some ending in parameters.endings
	endswith(plain, concat("", ["_", ending]))
}
