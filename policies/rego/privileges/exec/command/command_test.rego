package sallyport.privileges.exec.command_test

import data.sallyport.privileges.exec.command

test_refused_name if {
	command.needs == {{"privilege": "exec/command/nvidia-smi", "path": "command[0]"}} with input as {"containers": [], "object": {"kind": "PodExecOptions", "command": "nvidia-smi"}}
}

test_refused_path if {
	command.needs == {{"privilege": "exec/command/%2Ftmp%2Fnvidia-smi", "path": "command[0]"}} with input as {"containers": [], "object": {"kind": "PodExecOptions", "command": "/tmp/nvidia-smi"}}
}

test_refused_star if {
	command.needs == {{"privilege": "exec/command/%2A", "path": "command[0]"}} with input as {"containers": [], "object": {"kind": "PodExecOptions", "command": "*"}}
}

test_refused_nothing if {
	command.needs == {{"privilege": "exec/command/%00", "path": "command[0]"}} with input as {"containers": [], "object": {"kind": "PodExecOptions"}}
}

test_admitted_attach if {
	command.needs == set() with input as {"containers": [], "object": {"kind": "PodAttachOptions"}}
}

test_admitted_pod if {
	command.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
