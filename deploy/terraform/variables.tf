variable "name" {
  description = "First part of the names of what is made. The event hubs' namespace has it as a public name, so it must be yours alone."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,38}[a-z0-9]$", var.name))
    error_message = "name: 6 to 40 lower-case letters, digits and dashes, a letter first."
  }
}

variable "location" {
  description = "Region of everything. Azure Monitor writes logs of an account only to a destination of the same region."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]+$", var.location))
    error_message = "location: as Azure's tools write it, westeurope."
  }
}

variable "resource_group_name" {
  description = "Resource group of the logs, which exists: one in which those who read weights, or run the clusters, have no rights."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[-\\w._()]{1,89}[-\\w_()]$", var.resource_group_name))
    error_message = "resource_group_name: the name of a resource group that exists, not its id."
  }
}

variable "clusters" {
  description = "Clusters that run Sallyport, by the chart's clusterId: the OIDC issuer (az aks show --query oidcIssuerProfile.issuerUrl), the chart's namespace, and the id of the AKS cluster where kube-apiserver's audit log is to be exported."
  type = map(object({
    issuer    = string
    namespace = optional(string, "sallyport-system")
    aks_id    = optional(string)
  }))
  nullable = false

  validation {
    condition     = length(var.clusters) >= 1 && length(var.clusters) <= 20
    error_message = "clusters: 1 to 20, as many federated credentials as an application may have."
  }

  validation {
    condition     = alltrue([for id in keys(var.clusters) : can(regex("^[A-Za-z0-9]([-A-Za-z0-9._]{0,61}[A-Za-z0-9])?$", id))])
    error_message = "clusters: each key is a clusterId: 1 to 63 letters, digits, dashes, dots and underscores, a letter or digit at both ends."
  }

  validation {
    condition     = alltrue([for one in values(var.clusters) : can(regex("^https://[^/?#@ ]+(/[^?#@ ]*)?$", one.issuer))])
    error_message = "clusters: issuer is an https:// address; copy it as az aks show prints it, with its last slash, since Entra ID compares it exactly."
  }

  validation {
    condition     = alltrue([for one in values(var.clusters) : can(regex("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", one.namespace)) && one.namespace != "kube-system"])
    error_message = "clusters: namespace is that of the chart, and never kube-system."
  }
}

variable "federated_audience" {
  description = "Audience of the tokens by which control and the auditor sign in; national clouds have their own."
  type        = string
  default     = "api://AzureADTokenExchange"
  nullable    = false

  validation {
    condition     = can(regex("^api://AzureADTokenExchange(China|USGov)?$", var.federated_audience))
    error_message = "federated_audience: api://AzureADTokenExchange, or a national cloud's own: …China, …USGov."
  }
}

variable "risk" {
  description = "Whether Entra ID's risk is read (identity.enabled). Needs Entra ID P2, and Workloads Identities Premium for applications."
  type        = bool
  default     = true
  nullable    = false
}

variable "guests" {
  description = "Whether it is read who is a guest (identity.guests), which needs User.Read.All."
  type        = bool
  default     = false
  nullable    = false

  validation {
    condition     = !var.guests || var.risk
    error_message = "guests: are known only where risk is read; set risk too."
  }
}

variable "push_risk" {
  description = "Whether Entra ID sends risk to an event hub, below 2 s instead of polling's 8 s. Needs rights at /providers/Microsoft.aadiam."
  type        = bool
  default     = false
  nullable    = false

  validation {
    condition     = !var.push_risk || var.risk
    error_message = "push_risk: means something only where risk is read; set risk too."
  }
}

variable "grant_admin_consent" {
  description = "Whether to consent here, for the tenant, to what is asked of Microsoft Graph. Whoever runs this then needs Privileged Role Administrator; else somebody who has it does so in the portal."
  type        = bool
  default     = false
  nullable    = false
}

variable "owners" {
  description = "Object ids of those who own the applications. An owner can add a credential and be Sallyport: name few, or nobody."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for id in var.owners : can(regex("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$", id))])
    error_message = "owners: object ids, not names or addresses."
  }
}

variable "network" {
  description = "Subnet of the private endpoints, and virtual networks from which their names are looked up: those of the clusters' nodes. Null where nothing is made that has an endpoint."
  type = object({
    subnet_id           = string
    virtual_network_ids = optional(map(string), {})
  })
  default = null

  validation {
    condition     = var.network == null ? true : can(regex("/providers/Microsoft\\.Network/virtualNetworks/[^/]+/subnets/[^/]+$", var.network.subnet_id))
    error_message = "network.subnet_id: the id of a subnet, /subscriptions/…/virtualNetworks/…/subnets/…."
  }

  validation {
    condition     = var.network == null ? true : alltrue([for id in values(var.network.virtual_network_ids) : can(regex("/providers/Microsoft\\.Network/virtualNetworks/[^/]+$", id))])
    error_message = "network.virtual_network_ids: ids of virtual networks by a name of yours."
  }

  validation {
    condition = var.network != null || (
      length(var.stores) + length(var.existing_stores) == 0 && var.anchor == null && !var.push_risk &&
      !var.export_activity_log && !var.export_entra_audit && alltrue([for one in values(var.clusters) : one.aks_id == null])
    )
    error_message = "network: is needed for stores, existing_stores, anchor, push_risk, export_… and clusters' aks_id: what they make has no public network."
  }
}

variable "private_dns_zone_ids" {
  description = "Private DNS zones privatelink.blob.… and privatelink.servicebus.… that exist; null to make them, for the public cloud."
  type        = object({ blob = string, servicebus = string })
  default     = null

  validation {
    condition = var.private_dns_zone_ids == null ? true : (
      can(regex("/privateDnsZones/privatelink\\.blob\\.[a-z.]+$", var.private_dns_zone_ids.blob)) &&
      can(regex("/privateDnsZones/privatelink\\.servicebus\\.[a-z.]+$", var.private_dns_zone_ids.servicebus))
    )
    error_message = "private_dns_zone_ids: the ids of zones privatelink.blob.… and privatelink.servicebus.…, both."
  }
}

variable "tags" {
  description = "Tags of everything that can have some."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = length(var.tags) <= 50
    error_message = "tags: at most 50."
  }
}
