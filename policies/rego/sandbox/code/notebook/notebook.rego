# METADATA
# scope: package
# title: Notebook
# description: >-
#   Code that a person types into a browser is run as it comes: nobody has reviewed it, and
#   whoever gets the person's browser session, or a cell that was copied from somewhere, runs code
#   too. Told by the name of the image or by a label: jupyter, notebook, singleuser, rstudio,
#   code-server and the like, labels of JupyterHub and of Kubeflow's notebooks. Less than the
#   threshold by itself: a notebook of a pinned image of the site's own registry, without a token,
#   runs its person's code with its person's rights. Any two of those missing tip it.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1059/
#   description: MITRE ATT&CK T1059, Command and Scripting Interpreter
# - ref: https://gvisor.dev/docs/user_guide/production/
#   description: 'gVisor, Production guide: untrusted code and code of third parties'
# - ref: https://jupyter-server.readthedocs.io/en/latest/operators/security.html
#   description: 'Jupyter Server, Security: access to it is access to run code'
# schemas:
# - input: schema.projection
# custom:
#   since: 1
#   points: 40
#   message: runs code that is typed into a notebook ({value})
#   remedy: >-
#     Run it in the sandbox, which notebooks bear; or give the notebook an image of your own
#     registry by digest, limits, and automountServiceAccountToken: false.
package sallyport.sandbox.code.notebook

import data.sallyport.lib

signals contains lib.hinted(hint) if {
	some hint in input.hints
	hint.kind == "notebook"
}
