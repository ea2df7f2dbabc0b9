# METADATA
# scope: package
# title: Paths of an Ingress
# description: >-
#   An Ingress says its paths plainly: of a pathType that every Ingress controller reads the same
#   (ImplementationSpecific is a regular expression to some, and text of their configuration to
#   others), in plain characters, and below none of the places where a controller keeps its own files.
# related_resources:
# - ref: https://github.com/kyverno/policies/tree/main/nginx-ingress/restrict-ingress-paths
#   description: Kyverno's twin, restrict-ingress-paths
# - ref: https://github.com/kubernetes/ingress-nginx/issues/8502
#   description: CVE-2021-25745, a path that reads the files of ingress-nginx
# - ref: https://kubernetes.io/docs/concepts/services-networking/ingress/#path-types
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: medium
#   message: has the path {value}, which no Ingress may
#   remedy: Write the path with pathType Prefix or Exact, in plain characters, below your application's own.
#   kinds: [networking.k8s.io/Ingress]
#   fields:
#   - spec.rules[].http.paths[].path
#   - spec.rules[].http.paths[].pathType
#   parameters:
#     types:
#       description: The values of pathType.
#       type: array
#       minItems: 1
#       items: {enum: [Prefix, Exact, ImplementationSpecific]}
#       default: [Prefix, Exact]
#     pattern:
#       description: A regular expression that the whole path matches.
#       type: string
#       format: regex
#       minLength: 1
#       default: "/[A-Za-z0-9._~/-]*"
#     forbidden:
#       description: Paths that nothing is served at or below.
#       type: array
#       items: {type: string, pattern: "^/."}
#       default: [/etc, /proc, /root, /var/run/secrets]
package sallyport.rules.ingress.paths

import data.sallyport.lib
import data.sallyport.parameters.ingress.paths as parameters

deny contains {"path": concat("", [entry.at, ".path"]), "value": text(entry.path)} if {
	some entry in entries
	not plain(entry.path)
}

deny contains {"path": concat("", [entry.at, ".pathType"]), "value": text(entry.type), "message": message} if {
	some entry in entries
	not entry.type in parameters.types
	message := concat("", ["has a path of the type ", text(entry.type)])
}

entries contains entry if {
	some number, rule in input.fields.spec.rules
	some index, each in rule.http.paths
	inner := concat("", [lib.indexed("spec.rules", number), ".http.paths"])
	entry := {
		"at": lib.indexed(inner, index),
		"path": object.get(each, "path", "/"),
		"type": object.get(each, "pathType", "unset"),
	}
}

plain(path) if {
	not lib.unlike(path, concat("", ["^(?:", parameters.pattern, ")$"]))
	not below_forbidden(path)
	not contains(path, "..")
}

# A controller may compare without regard to case, or take two slashes for one.
below_forbidden(path) if {
	some place in parameters.forbidden
	startswith(concat("", [lower(replace(path, "//", "/")), "/"]), concat("", [trim_right(place, "/"), "/"]))
}

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
