# METADATA
# scope: package
# title: Terminal
# description: >-
#   The container has a terminal and waits for what is typed into it (stdin and tty, kubectl run
#   -it): what it will run is not in the object. Both are asked for: tty alone colours logs, stdin
#   alone feeds a pipe. Less than the threshold by itself, since who may attach is a privilege;
#   with the token of the default and an unpinned image it tips.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1609/
#   description: MITRE ATT&CK T1609, Container Administration Command
# - ref: https://attack.mitre.org/techniques/T1059/004/
#   description: MITRE ATT&CK T1059.004, Unix Shell
# - ref: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#debugging
#   description: 'Kubernetes documentation: stdin and tty'
# schemas:
# - input: schema.projection
# custom:
#   since: 1
#   points: 30
#   message: 'has a terminal: what it runs is typed later'
#   remedy: >-
#     Remove stdin and tty from the container and give it a command; for a look into a Pod that
#     runs, ask for a profile that covers exec or a debug container.
package sallyport.sandbox.code.interactive

signals contains entry if {
	some container in input.containers
	container.interactive
	entry := {
		"path": concat("", [container.path, ".tty"]),
		"value": "tty",
		"container": container.name,
	}
}
