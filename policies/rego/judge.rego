# METADATA
# scope: package
# title: What counts of a request
# description: >-
#   The entry point for the context of a request (schema/judge.json). Every built-in signal that
#   reads the context is listed here, and a test fails for a folder that neither this file nor
#   needs.rego lists; a site's signals and rules come from sallyport.site, which the build writes.
# schemas:
# - input: schema.judge
package sallyport.judge

import data.sallyport.sandbox
import data.sallyport.site

# METADATA
# title: The answer
# description: >-
#   What the engine asks for. It counts what is not known, so that an input that could not be read
#   makes it undefined, which is an error, and not a request in which nothing counts.
# entrypoint: true
answer := {
	"absent": count(input.context.absent),
	"signals": object.union(signals, site.signals),
	"denials": site.denials,
	"warnings": site.warnings,
}

# METADATA
# title: Signals by rule
# description: >-
#   An object from "family/signal" to what makes the request riskier: entries {"path", "value"} and,
#   where it concerns one container, "container"; with only rules that have any.
signals := {rule: entries |
	some rule, entries in {
		"actor/entered": sandbox.actor.entered.signals,
		"actor/new_service_account": sandbox.actor.new_service_account.signals,
		"behaviour/create_burst": sandbox.behaviour.create_burst.signals,
		"behaviour/denials": sandbox.behaviour.denials.signals,
		"behaviour/exec_burst": sandbox.behaviour.exec_burst.signals,
		"behaviour/new_cluster": sandbox.behaviour.new_cluster.signals,
		"behaviour/new_namespace": sandbox.behaviour.new_namespace.signals,
		"behaviour/new_profile": sandbox.behaviour.new_profile.signals,
		"behaviour/unusual_hour": sandbox.behaviour.unusual_hour.signals,
		"exposure/service": sandbox.exposure.service.signals,
		"identity/low_risk": sandbox.identity.low_risk.signals,
		"identity/risk": sandbox.identity.risk.signals,
	}
	count(entries) > 0
}
