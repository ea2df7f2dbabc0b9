# Which logs are exported where. Each category is named: a group of categories would grow by itself.

locals {
  to_hub       = var.destination == "event-hub"
  to_container = !local.to_hub

  # By the name of the hub, or of the container that Azure Monitor writes: `insights-logs-` and the
  # category in small letters; the activity log is `insights-activity-logs`.
  wanted = {
    storage  = length(var.store_ids) > 0
    activity = var.subscription_id != null
    entra    = var.entra_audit
    aks      = length(var.aks_ids) > 0
  }
  containers_of = {
    storage  = ["insights-logs-storageread", "insights-logs-storagewrite", "insights-logs-storagedelete"]
    activity = ["insights-activity-logs"]
    entra    = ["insights-logs-auditlogs"]
    aks      = ["insights-logs-kube-audit"]
  }

  weight_hubs = toset([for name, wanted in local.wanted : name if wanted && local.to_hub])
  hubs        = setunion(local.weight_hubs, var.entra_risk ? toset(["risk"]) : toset([]))
  has_hub     = length(local.hubs) > 0
  containers  = toset(flatten([for name, wanted in local.wanted : local.containers_of[name] if wanted && local.to_container]))

  # privatelink.servicebus.windows.net, or a national cloud's.
  servicebus_suffix = trimprefix(element(split("/", var.private_dns_zone_ids.servicebus), -1), "privatelink.")

  rule_id    = one(azurerm_eventhub_namespace_authorization_rule.azure_monitor[*].id)
  account_id = one(azurerm_storage_account.this[*].id)
}

resource "azurerm_monitor_diagnostic_setting" "store" {
  for_each = var.store_ids

  name                           = "sallyport"
  target_resource_id             = "${each.value}/blobServices/default"
  eventhub_authorization_rule_id = local.to_hub ? local.rule_id : null
  eventhub_name                  = local.to_hub ? azurerm_eventhub.this["storage"].name : null
  storage_account_id             = local.to_container ? local.account_id : null

  # All three: one that is missing cannot be told from an account at rest.
  enabled_log {
    category = "StorageRead"
  }
  enabled_log {
    category = "StorageWrite"
  }
  enabled_log {
    category = "StorageDelete"
  }

  depends_on = [azurerm_storage_container.this]
}

resource "azurerm_monitor_diagnostic_setting" "activity" {
  count = local.wanted.activity ? 1 : 0

  name                           = "sallyport"
  target_resource_id             = "/subscriptions/${var.subscription_id}"
  eventhub_authorization_rule_id = local.to_hub ? local.rule_id : null
  eventhub_name                  = local.to_hub ? azurerm_eventhub.this["activity"].name : null
  storage_account_id             = local.to_container ? local.account_id : null

  enabled_log {
    category = "Administrative"
  }

  depends_on = [azurerm_storage_container.this]
}

resource "azurerm_monitor_diagnostic_setting" "aks" {
  for_each = var.aks_ids

  name                           = "sallyport"
  target_resource_id             = each.value
  eventhub_authorization_rule_id = local.to_hub ? local.rule_id : null
  eventhub_name                  = local.to_hub ? azurerm_eventhub.this["aks"].name : null
  storage_account_id             = local.to_container ? local.account_id : null

  # Not kube-audit-admin: it has no get and list, so reads of Secrets would not be seen.
  enabled_log {
    category = "kube-audit"
  }

  depends_on = [azurerm_storage_container.this]
}

resource "azurerm_monitor_aad_diagnostic_setting" "audit" {
  count = var.entra_audit ? 1 : 0

  name                           = "sallyport-audit"
  eventhub_authorization_rule_id = local.to_hub ? local.rule_id : null
  eventhub_name                  = local.to_hub ? azurerm_eventhub.this["entra"].name : null
  storage_account_id             = local.to_container ? local.account_id : null

  enabled_log {
    category = "AuditLogs"
  }

  depends_on = [azurerm_storage_container.this]
}

resource "azurerm_monitor_aad_diagnostic_setting" "risk" {
  count = var.entra_risk ? 1 : 0

  name                           = "sallyport-risk"
  eventhub_authorization_rule_id = local.rule_id
  eventhub_name                  = azurerm_eventhub.this["risk"].name

  # Sign-ins are not among them: Sallyport does not read them, and they name people and addresses.
  enabled_log {
    category = "RiskyUsers"
  }
  enabled_log {
    category = "UserRiskEvents"
  }
  enabled_log {
    category = "RiskyServicePrincipals"
  }
  enabled_log {
    category = "ServicePrincipalRiskEvents"
  }
}
