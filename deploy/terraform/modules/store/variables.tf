variable "account_name" {
  description = "Name of the storage account that is made for weights."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]{3,24}$", var.account_name))
    error_message = "account_name: 3 to 24 lower-case letters and digits; Azure allows no others."
  }
}

variable "resource_group_name" {
  description = "Resource group of the account, which exists."
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

variable "containers" {
  description = "Names of the containers that hold weights."
  type        = set(string)
  nullable    = false

  validation {
    condition     = length(var.containers) > 0 && alltrue([for name in var.containers : can(regex("^[a-z0-9](-?[a-z0-9]){2,62}$", name))])
    error_message = "containers: at least one; 3 to 63 lower-case letters, digits and single dashes."
  }
}

variable "replication" {
  description = "How the account is copied. Copies in another region (GRS, GZRS) are read by nobody; those that can be read there (RAGRS, RAGZRS) need a private endpoint of their own and are not offered."
  type        = string
  nullable    = false

  validation {
    condition     = contains(["LRS", "ZRS", "GRS", "GZRS"], var.replication)
    error_message = "replication: LRS, ZRS, GRS or GZRS."
  }
}

variable "kept_deleted_days" {
  description = "Days for which deleted blobs, versions and containers can be restored."
  type        = number
  nullable    = false

  validation {
    condition     = var.kept_deleted_days >= 7 && var.kept_deleted_days <= 365 && floor(var.kept_deleted_days) == var.kept_deleted_days
    error_message = "kept_deleted_days: 7 to 365, whole days."
  }
}

variable "immutable_days" {
  description = "Days for which no version of a blob can be changed or deleted; 0 for no such policy. It is left unlocked, so an owner of the account can end it."
  type        = number
  nullable    = false

  validation {
    condition     = var.immutable_days >= 0 && var.immutable_days <= 36500 && floor(var.immutable_days) == var.immutable_days
    error_message = "immutable_days: 0 to 36500, whole days (146000 is Azure's own limit, 400 years)."
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
