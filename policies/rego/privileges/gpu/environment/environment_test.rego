package sallyport.privileges.gpu.environment_test

import data.sallyport.privileges.gpu.environment

test_refused_all if {
	environment.needs == {{
		"privilege": "gpu/env/NVIDIA_VISIBLE_DEVICES",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "NVIDIA_VISIBLE_DEVICES",
				"value": "all",
			}],
		}],
	}
}

test_refused_void_among_others if {
	environment.needs == {{
		"privilege": "gpu/env/NVIDIA_VISIBLE_DEVICES",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "NVIDIA_VISIBLE_DEVICES",
				"value": "void,0",
			}],
		}],
	}
}

test_refused_capitals if {
	environment.needs == {{
		"privilege": "gpu/env/NVIDIA_VISIBLE_DEVICES",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "NVIDIA_VISIBLE_DEVICES",
				"value": "VOID",
			}],
		}],
	}
}

test_refused_space if {
	environment.needs == {{
		"privilege": "gpu/env/NVIDIA_VISIBLE_DEVICES",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "NVIDIA_VISIBLE_DEVICES",
				"value": " ",
			}],
		}],
	}
}

test_refused_another_variable if {
	environment.needs == {{
		"privilege": "gpu/env/NVIDIA_VISIBLE_DEVICES",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "NVIDIA_VISIBLE_DEVICES",
				"value": "$(OTHER)",
			}],
		}],
	}
}

test_refused_reference if {
	environment.needs == {{
		"privilege": "gpu/env/NVIDIA_VISIBLE_DEVICES",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "NVIDIA_VISIBLE_DEVICES",
				"source": "reference",
			}],
		}],
	}
}

test_refused_reference_beside_void if {
	environment.needs == {{
		"privilege": "gpu/env/NVIDIA_VISIBLE_DEVICES",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "NVIDIA_VISIBLE_DEVICES",
				"value": "void",
				"source": "reference",
			}],
		}],
	}
}

test_refused_partitions if {
	environment.needs == {{
		"privilege": "gpu/env/NVIDIA_MIG_CONFIG_DEVICES",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "NVIDIA_MIG_CONFIG_DEVICES",
				"value": "all",
			}],
		}],
	}
}

test_refused_channels if {
	environment.needs == {{
		"privilege": "gpu/env/NVIDIA_IMEX_CHANNELS",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "NVIDIA_IMEX_CHANNELS",
				"value": "0",
			}],
		}],
	}
}

test_refused_storage if {
	environment.needs == {{
		"privilege": "gpu/env/NVIDIA_GDS",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "NVIDIA_GDS",
				"value": "enabled",
			}],
		}],
	}
}

test_refused_old_images if {
	environment.needs == {{
		"privilege": "gpu/env/CUDA_VERSION",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{"path": "spec.containers[0].env[0]", "name": "CUDA_VERSION", "value": "9.0"}],
		}],
	}
}

test_refused_amd if {
	environment.needs == {{
		"privilege": "gpu/env/AMD_VISIBLE_DEVICES",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "AMD_VISIBLE_DEVICES",
				"value": "all",
			}],
		}],
	}
}

test_refused_gaudi if {
	environment.needs == {{
		"privilege": "gpu/env/HABANA_VISIBLE_DEVICES",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "HABANA_VISIBLE_DEVICES",
				"value": "0",
			}],
		}],
	}
}

test_refused_ascend if {
	environment.needs == {{
		"privilege": "gpu/env/ASCEND_VNPU_SPECS",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "ASCEND_VNPU_SPECS",
				"value": "vir02",
			}],
		}],
	}
}

test_refused_unknown_vendor if {
	environment.needs == {{
		"privilege": "gpu/env/A%2FB_VISIBLE_DEVICES",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "A/B_VISIBLE_DEVICES",
				"value": "0",
			}],
		}],
	}
}

test_admitted_none if {
	environment.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_void if {
	environment.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "NVIDIA_VISIBLE_DEVICES",
				"value": "void",
			}],
		}],
	}
}

test_admitted_no_device if {
	environment.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "NVIDIA_VISIBLE_DEVICES",
				"value": "none",
			}],
		}],
	}
}

test_admitted_empty if {
	environment.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{"path": "spec.containers[0].env[0]", "name": "NVIDIA_VISIBLE_DEVICES"}],
		}],
	}
}

test_admitted_libraries_of_the_driver if {
	environment.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "NVIDIA_DRIVER_CAPABILITIES",
				"value": "all",
			}],
		}],
	}
}

test_admitted_requirement if {
	environment.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "NVIDIA_REQUIRE_CUDA",
				"value": "cuda>=12",
			}],
		}],
	}
}

test_admitted_library_of_cuda if {
	environment.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "CUDA_VISIBLE_DEVICES",
				"value": "0,1",
			}],
		}],
	}
}

test_admitted_library_of_rocm if {
	environment.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "ROCR_VISIBLE_DEVICES",
				"value": "0",
			}],
		}],
	}
}

test_admitted_other if {
	environment.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{
				"path": "spec.containers[0].env[0]",
				"name": "NVIDIA_BUILD_ID",
				"value": "1",
			}],
		}],
	}
}
