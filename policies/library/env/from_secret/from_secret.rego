# METADATA
# scope: package
# title: Environment variables from Secrets
# description: >-
#   Secrets come as files: environment variables are inherited by every process, written into crash
#   reports and shown by debugging pages, and do not change when the Secret does. Init and ephemeral
#   containers count, single variables as well as whole Secrets (envFrom).
# related_resources:
# - ref: https://github.com/kyverno/policies/tree/main/other/disallow-secrets-from-env-vars
#   description: Kyverno's twin, disallow-secrets-from-env-vars
# - ref: https://kubernetes.io/docs/concepts/configuration/secret/#using-secrets-as-files-from-a-pod
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: gets {value} from a Secret as an environment variable
#   remedy: Mount the Secret as a volume, and read the file.
#   fields:
#   - spec.containers[].name
#   - spec.containers[].env[].name
#   - spec.containers[].env[].valueFrom
#   - spec.containers[].envFrom[].secretRef
#   - spec.initContainers[].name
#   - spec.initContainers[].env[].name
#   - spec.initContainers[].env[].valueFrom
#   - spec.initContainers[].envFrom[].secretRef
#   - spec.ephemeralContainers[].name
#   - spec.ephemeralContainers[].env[].name
#   - spec.ephemeralContainers[].env[].valueFrom
#   - spec.ephemeralContainers[].envFrom[].secretRef
package sallyport.rules.env.from_secret

import data.sallyport.lib

deny contains entry if {
	some list in lists
	some index, container in input.fields.spec[list]
	some number, variable in container.env
	variable.valueFrom.secretKeyRef
	path := concat("", ["spec.", lib.indexed(list, index), ".env"])
	entry := {
		"path": lib.indexed(path, number),
		"value": object.get(variable, "name", ""),
		"container": object.get(container, "name", ""),
	}
}

deny contains entry if {
	some list in lists
	some index, container in input.fields.spec[list]
	some number, source in container.envFrom
	source.secretRef
	path := concat("", ["spec.", lib.indexed(list, index), ".envFrom"])
	entry := {
		"path": lib.indexed(path, number),
		"value": "all keys",
		"container": object.get(container, "name", ""),
	}
}

lists := ["containers", "initContainers", "ephemeralContainers"]
