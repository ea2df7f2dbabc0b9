variable "name" {
  description = "First part of the names of what is made."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,38}[a-z0-9]$", var.name))
    error_message = "name: 6 to 40 lower-case letters, digits and dashes, a letter first; it is part of a public name."
  }
}

variable "resource_group_name" {
  description = "Resource group of the logs, which exists: one in which those who read weights have no rights."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[-\\w._()]{1,89}[-\\w_()]$", var.resource_group_name))
    error_message = "resource_group_name: the name of a resource group that exists, not its id."
  }
}

variable "location" {
  description = "Region of the logs. Azure Monitor writes logs of an account only to a destination of the same region."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]+$", var.location))
    error_message = "location: as Azure's tools write it, westeurope."
  }
}

variable "destination" {
  description = "Where the logs of weights go: event-hub, or container (blobs by the hour, which can be made immutable). Risk goes to an event hub in any case."
  type        = string
  nullable    = false

  validation {
    condition     = contains(["event-hub", "container"], var.destination)
    error_message = "destination: event-hub or container."
  }
}

variable "store_ids" {
  description = "Storage accounts with weights, by a name of yours; all three categories of their blobs are logged."
  type        = map(string)
  nullable    = false

  validation {
    condition     = alltrue([for id in values(var.store_ids) : can(regex("(?i)/providers/Microsoft\\.Storage/storageAccounts/[a-z0-9]{3,24}$", id))])
    error_message = "store_ids: ids of storage accounts, without /blobServices/default behind them."
  }
}

variable "aks_ids" {
  description = "AKS clusters whose kube-apiserver's audit log is exported, by clusterId."
  type        = map(string)
  nullable    = false

  validation {
    condition     = alltrue([for id in values(var.aks_ids) : can(regex("(?i)/providers/Microsoft\\.ContainerService/managedClusters/[^/]+$", id))])
    error_message = "aks_ids: ids of AKS clusters, /subscriptions/…/managedClusters/…."
  }
}

variable "subscription_id" {
  description = "Subscription whose activity log is exported (keys listed, roles given, diagnostic settings deleted); null for none."
  type        = string

  validation {
    condition     = var.subscription_id == null || can(regex("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$", var.subscription_id))
    error_message = "subscription_id: a ^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$."
  }
}

variable "entra_audit" {
  description = "Whether Entra ID's audit log is exported (federated credentials of applications). Whoever runs this needs Security Administrator and rights at /providers/Microsoft.aadiam."
  type        = bool
  nullable    = false
}

variable "entra_risk" {
  description = "Whether Entra ID's risk is sent to an event hub, so that it is known faster than by polling. Needs the same rights, and Entra ID P2."
  type        = bool
  nullable    = false
}

variable "auditor_principal_id" {
  description = "Object id of the auditor's service principal, which reads the logs."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$", var.auditor_principal_id))
    error_message = "auditor_principal_id: an object id, not a client id or a name."
  }
}

variable "control_principal_id" {
  description = "Object id of control's service principal, which reads the risk."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$", var.control_principal_id))
    error_message = "control_principal_id: an object id, not a client id or a name."
  }
}

variable "hub" {
  description = "Event hubs: throughput units to begin with and at most, partitions of each hub, hours for which records wait to be read, whether keys are accepted (Azure Monitor signs in with one: without, it writes nothing)."
  type = object({
    capacity      = number
    most_capacity = number
    partitions    = number
    kept_hours    = number
    accepts_keys  = bool
  })
  nullable = false

  validation {
    condition     = var.hub.capacity >= 1 && var.hub.most_capacity >= var.hub.capacity && var.hub.most_capacity <= 40
    error_message = "hub: 1 <= capacity <= most_capacity <= 40."
  }

  validation {
    condition     = var.hub.partitions >= 1 && var.hub.partitions <= 32
    error_message = "hub.partitions: 1 to 32; Azure lets nobody change it later."
  }

  validation {
    # Standard keeps 7 days. Less than a day is lost when the auditor is away for a night.
    condition     = var.hub.kept_hours >= 24 && var.hub.kept_hours <= 168
    error_message = "hub.kept_hours: 24 to 168."
  }
}

variable "container_account_name" {
  description = "Name of the storage account that is made for logs; null where destination is event-hub."
  type        = string

  validation {
    condition     = var.container_account_name == null || can(regex("^[a-z0-9]{3,24}$", var.container_account_name))
    error_message = "container_account_name: 3 to 24 lower-case letters and digits; Azure allows no others."
  }
}

variable "kept_days" {
  description = "Days for which logs in a container can be neither changed nor deleted."
  type        = number
  nullable    = false

  validation {
    condition     = var.kept_days >= 1 && var.kept_days <= 36500 && floor(var.kept_days) == var.kept_days
    error_message = "kept_days: 1 to 36500, whole days."
  }
}

variable "subnet_id" {
  description = "Subnet of the private endpoints."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("/providers/Microsoft\\.Network/virtualNetworks/[^/]+/subnets/[^/]+$", var.subnet_id))
    error_message = "subnet_id: the id of a subnet, /subscriptions/…/virtualNetworks/…/subnets/…."
  }
}

variable "private_dns_zone_ids" {
  description = "Private DNS zones privatelink.blob.… and privatelink.servicebus.…, in which the endpoints are entered."
  type        = object({ blob = string, servicebus = string })
  nullable    = false

  validation {
    condition     = can(regex("/privateDnsZones/privatelink\\.blob\\.[a-z.]+$", var.private_dns_zone_ids.blob)) && can(regex("/privateDnsZones/privatelink\\.servicebus\\.[a-z.]+$", var.private_dns_zone_ids.servicebus))
    error_message = "private_dns_zone_ids: the ids of zones privatelink.blob.… and privatelink.servicebus.…."
  }
}

variable "tags" {
  description = "Tags of everything that can have some."
  type        = map(string)
  nullable    = false

  validation {
    condition     = length(var.tags) <= 50
    error_message = "tags: at most 50."
  }
}
