variable "account_name" {
  description = "Name of the storage account that is made for anchors, and for nothing else."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]{3,24}$", var.account_name))
    error_message = "account_name: 3 to 24 lower-case letters and digits; Azure allows no others."
  }
}

variable "resource_group_name" {
  description = "Resource group of the account, which exists; best one, or a subscription, of people who do not run the clusters."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[-\\w._()]{1,89}[-\\w_()]$", var.resource_group_name))
    error_message = "resource_group_name: the name of a resource group that exists, not its id."
  }
}

variable "location" {
  description = "Region of the account and of its private endpoint."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]+$", var.location))
    error_message = "location: as Azure's tools write it, westeurope."
  }
}

variable "retention_days" {
  description = "Days for which no line of an anchor can be changed or deleted: as long as reports are to be proven."
  type        = number
  nullable    = false

  validation {
    condition     = var.retention_days >= 90 && var.retention_days <= 36500 && floor(var.retention_days) == var.retention_days
    error_message = "retention_days: 90 (the ledger's own auditor.ledger.keepDays) to 36500, whole days."
  }
}

variable "locked" {
  description = "Whether the policy is locked. Only then nobody, an owner of the subscription neither, can end it early; it can never be unlocked."
  type        = bool
  nullable    = false
}

variable "writer_role_id" {
  description = "Id of the role that may create and append, and not delete."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("/roleDefinitions/[0-9a-fA-F-]{36}$", var.writer_role_id))
    error_message = "writer_role_id: the resource id of a role definition."
  }
}

variable "writer_principal_id" {
  description = "Object id of the auditor's service principal."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$", var.writer_principal_id))
    error_message = "writer_principal_id: an object id, not a client id or a name."
  }
}

variable "subnet_id" {
  description = "Subnet of the private endpoint."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("/providers/Microsoft\\.Network/virtualNetworks/[^/]+/subnets/[^/]+$", var.subnet_id))
    error_message = "subnet_id: the id of a subnet, /subscriptions/…/virtualNetworks/…/subnets/…."
  }
}

variable "private_dns_zone_id" {
  description = "Private DNS zone privatelink.blob.…, in which the endpoint is entered."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("/providers/Microsoft\\.Network/privateDnsZones/privatelink\\.blob\\.[a-z.]+$", var.private_dns_zone_id))
    error_message = "private_dns_zone_id: the id of a zone privatelink.blob.…, else the account's name leads to its public address."
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
