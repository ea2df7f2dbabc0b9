# METADATA
# scope: package
# title: Packages installed at the start
# description: >-
#   The container installs packages or clones source code when it starts (pip, npm, apt, conda,
#   git and the like in command, args or lifecycle.postStart): what runs is what those servers
#   give out at that moment, which no scan of the image has seen; typo-squatted and taken-over
#   packages come this way. A command too long to be read counts too (unread). What a script
#   inside the image or a ConfigMap does is not seen.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1195/001/
#   description: MITRE ATT&CK T1195.001, Compromise Software Dependencies and Development Tools
# - ref: https://csrc.nist.gov/pubs/sp/800/190/final
#   description: NIST SP 800-190, Application Container Security Guide
# - ref: https://slsa.dev/spec/v1.0/threats
#   description: SLSA, Supply chain threats
# schemas:
# - input: schema.projection
# custom:
#   since: 1
#   points: 25
#   message: installs what it runs when it starts ({value})
#   remedy: >-
#     Build the packages into the image and pin it by digest.
package sallyport.sandbox.code.installs

signals contains entry if {
	some container in input.containers
	some tool in container.installs
	entry := {"path": container.path, "value": tool, "container": container.name}
}
