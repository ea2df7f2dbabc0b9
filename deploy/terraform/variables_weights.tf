# What there is to say of weights: where they lie, which logs tell of them, where the ledger is anchored.

variable "stores" {
  description = "Storage accounts to make for weights, by the name of their WeightStore: name of the account, its resource group, its containers, how it is copied, for how many days what is deleted can be restored, for how many days nothing can be changed (0: no such policy)."
  type = map(object({
    account_name        = string
    resource_group_name = string
    containers          = set(string)
    replication         = optional(string, "ZRS")
    kept_deleted_days   = optional(number, 30)
    immutable_days      = optional(number, 0)
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for name in keys(var.stores) : can(regex("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", name))])
    error_message = "stores: each key is the name of a WeightStore: lower-case letters, digits and dashes."
  }

  validation {
    condition     = length(distinct([for store in values(var.stores) : store.account_name])) == length(var.stores)
    error_message = "stores: two have the same account_name."
  }
}

variable "existing_stores" {
  description = "Storage accounts with weights that are there already, by the name of their WeightStore: id and containers. They are logged and looked at, and not changed: sallyport weights access says what is wrong with them."
  type = map(object({
    id         = string
    containers = set(string)
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for store in values(var.existing_stores) : can(regex("^/subscriptions/[0-9a-fA-F-]{36}/resourceGroups/[^/]{1,90}/providers/Microsoft\\.Storage/storageAccounts/[a-z0-9]{3,24}$", store.id))])
    error_message = "existing_stores: id is a storage account's, /subscriptions/…/resourceGroups/…/providers/Microsoft.Storage/storageAccounts/…, in this spelling."
  }

  validation {
    condition     = length(setintersection(keys(var.existing_stores), keys(var.stores))) == 0
    error_message = "existing_stores: a name is among stores too; a WeightStore is one account."
  }
}

variable "just_in_time" {
  description = "Whether control gives and takes roles as grants begin and end (weights.azure.justInTime). It may then give two roles, on the stores' containers."
  type        = bool
  default     = false
  nullable    = false
}

variable "log_destination" {
  description = "Where logs of weights go: container (blobs by the hour, immutable, no key anywhere) or event-hub (sooner; Azure Monitor signs in there with a key)."
  type        = string
  default     = "event-hub"
  nullable    = false

  validation {
    condition     = contains(["event-hub", "container"], var.log_destination)
    error_message = "log_destination: event-hub or container."
  }
}

variable "log_account_name" {
  description = "Name of the storage account that is made for logs; needed where log_destination is container."
  type        = string
  default     = null

  validation {
    condition     = var.log_account_name == null ? var.log_destination == "event-hub" : can(regex("^[a-z0-9]{3,24}$", var.log_account_name))
    error_message = "log_account_name: 3 to 24 lower-case letters and digits, where log_destination is container."
  }
}

variable "log_kept_days" {
  description = "Days for which logs in a container can be neither changed nor deleted; longer than auditor.ledger.keepDays."
  type        = number
  default     = 180
  nullable    = false

  validation {
    condition     = var.log_kept_days >= 1 && var.log_kept_days <= 36500 && floor(var.log_kept_days) == var.log_kept_days
    error_message = "log_kept_days: 1 to 36500, whole days."
  }
}

variable "hub" {
  description = "Event hubs: throughput units to begin with and at most, partitions of each hub (never changed later), hours for which records wait, whether keys are accepted. Azure Monitor signs in with a key: set accepts_keys to false only once something else writes there, or no record comes any more."
  type = object({
    capacity      = optional(number, 1)
    most_capacity = optional(number, 4)
    partitions    = optional(number, 4)
    kept_hours    = optional(number, 168)
    accepts_keys  = optional(bool, true)
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.hub.kept_hours >= 24 && var.hub.kept_hours <= 168
    error_message = "hub.kept_hours: 24 to 168; with less the logs of a night without the auditor are lost."
  }
}

variable "export_activity_log" {
  description = "Whether the subscription's activity log is exported: keys listed, roles given, diagnostic settings deleted. Of one subscription, the provider's."
  type        = bool
  default     = true
  nullable    = false
}

variable "export_entra_audit" {
  description = "Whether Entra ID's audit log is exported: federated credentials of applications. Needs rights at /providers/Microsoft.aadiam."
  type        = bool
  default     = false
  nullable    = false
}

variable "anchor" {
  description = "Where the ledger is anchored: name of the account to make, its resource group, days for which no line can be changed, whether that is locked, which cannot be undone; null for no anchor in Azure. Of use only where those who run the clusters have no rights: see modules/anchor for another subscription."
  type = object({
    account_name        = string
    resource_group_name = string
    retention_days      = optional(number, 400)
    locked              = optional(bool, false)
  })
  default = null

  validation {
    condition     = var.anchor == null ? true : !contains([for store in values(var.stores) : store.account_name], var.anchor.account_name)
    error_message = "anchor: account_name is that of a store; an anchor needs an account of its own."
  }
}
