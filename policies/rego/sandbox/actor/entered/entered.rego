# METADATA
# scope: package
# title: Somebody enters
# description: >-
#   A person or a program runs commands in the Pod, or types into what runs there (exec, attach):
#   from then on it runs what nobody has reviewed. Forwarding a port and the API server's proxy do
#   not count: they reach what the Pod serves to its neighbours anyway, and start nothing. Who may
#   enter is a privilege (exec, attach); this says that it happens.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1609/
#   description: MITRE ATT&CK T1609, Container Administration Command
# - ref: https://kubernetes.io/docs/tasks/debug/debug-application/get-shell-running-container/
#   description: 'Kubernetes documentation: a shell in a running container'
# schemas:
# - input: schema.judge
# custom:
#   since: 1
#   points: 20
#   message: is entered while it runs ({value})
#   remedy: >-
#     Put into the image and the command what it is to run, and read its log in place of entering.
package sallyport.sandbox.actor.entered

signals contains {"path": "", "value": input.context.subresource} if {
	input.context.operation == "CONNECT"
	input.context.subresource in {"exec", "attach"}
}
