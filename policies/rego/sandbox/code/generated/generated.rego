# METADATA
# scope: package
# title: Code that a model writes
# description: >-
#   A code interpreter or an agent runs what a model has written, which may be what a page or a
#   document told the model to write. No review and no author stands behind it, so this alone
#   reaches the threshold. Told by the name of the image or by a label (code-interpreter,
#   code-executor, agent-sandbox, swe-agent and the like), and by an owner of the kind Sandbox of
#   agents.x-k8s.io. The words agent and sandbox alone say nothing: agents of nodes, test
#   environments.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/agent-sandbox
#   description: agent-sandbox of Kubernetes SIG Apps
# - ref: https://genai.owasp.org/llmrisk/llm052025-improper-output-handling/
#   description: OWASP LLM05:2025, Improper Output Handling
# - ref: https://genai.owasp.org/llmrisk/llm062025-excessive-agency/
#   description: OWASP LLM06:2025, Excessive Agency
# - ref: https://attack.mitre.org/techniques/T1059/
#   description: MITRE ATT&CK T1059, Command and Scripting Interpreter
# - ref: https://gvisor.dev/docs/user_guide/production/
#   description: 'gVisor, Production guide: untrusted code and code of third parties'
# schemas:
# - input: schema.projection
# custom:
#   since: 1
#   points: 60
#   message: runs code that a model has written ({value})
#   remedy: >-
#     Run it in the sandbox; where a feature stands in the way that the sandbox cannot run, move
#     the execution of generated code into a Pod of its own without that feature.
package sallyport.sandbox.code.generated

import data.sallyport.lib

signals contains lib.hinted(hint) if {
	some hint in input.hints
	hint.kind == "generated"
}
