variable "display_name" {
  description = "Name of the application as people see it in Entra ID."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9 ._-]{0,119}$", var.display_name))
    error_message = "display_name: 1 to 120 letters, digits, spaces, dots, dashes and underscores, the first a letter or digit."
  }
}

variable "service_account" {
  description = "Name of the chart's service account that signs in as this application."
  type        = string
  nullable    = false

  validation {
    condition     = contains(["sallyport-control", "sallyport-auditor"], var.service_account)
    error_message = "service_account: sallyport-control or sallyport-auditor; no other process of the chart signs in to Azure."
  }
}

variable "clusters" {
  description = "Clusters whose service account may sign in, by the chart's clusterId: the OIDC issuer and the chart's namespace."
  type        = map(object({ issuer = string, namespace = string }))
  nullable    = false

  validation {
    # Entra ID: at most 20 federated credentials of one application.
    condition     = length(var.clusters) >= 1 && length(var.clusters) <= 20
    error_message = "clusters: 1 to 20, as many federated credentials as an application may have; call the module again for more."
  }
}

variable "audience" {
  description = "Audience of the tokens: the chart's identity.federatedAudience."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^api://AzureADTokenExchange(China|USGov)?$", var.audience))
    error_message = "audience: api://AzureADTokenExchange, or a national cloud's own: …China, …USGov."
  }
}

variable "graph_permissions" {
  description = "Application permissions at Microsoft Graph, by name. They only read."
  type        = set(string)
  nullable    = false

  validation {
    condition     = alltrue([for name in var.graph_permissions : endswith(name, ".Read.All")])
    error_message = "graph_permissions: Sallyport reads Graph and never writes there; each name must end in .Read.All."
  }
}

variable "grant_admin_consent" {
  description = "Whether to consent for the tenant to graph_permissions here. Whoever runs this then needs Privileged Role Administrator."
  type        = bool
  nullable    = false
}

variable "owners" {
  description = "Object ids of those who own the application. Owners can add credentials: name few."
  type        = set(string)
  nullable    = false

  validation {
    condition     = alltrue([for id in var.owners : can(regex("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$", id))])
    error_message = "owners: object ids, not names or addresses."
  }
}
