"""ValidatingAdmissionPolicies that guard Sallyport itself, asked of a real kube-apiserver."""
