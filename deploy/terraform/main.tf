# The Azure side of Sallyport: who its processes are, which logs they read, where weights lie.
# docs/operate/terraform.md says what each part is for and what one needs to run it.

data "azurerm_client_config" "current" {}

locals {
  tenant_id       = data.azurerm_client_config.current.tenant_id
  subscription_id = data.azurerm_client_config.current.subscription_id

  clusters = { for id, one in var.clusters : id => { issuer = one.issuer, namespace = one.namespace } }

  # Exactly what identity/entra/graph_requests.py asks for, and why.
  graph_permissions = toset(concat(
    var.risk ? [
      "IdentityRiskyUser.Read.All",             # users at risk
      "IdentityRiskyServicePrincipal.Read.All", # applications at risk
      "IdentityRiskEvent.Read.All",             # the detections that a risk rests on
      "Application.Read.All",                   # what a client id is
    ] : [],
    var.guests ? ["User.Read.All"] : [], # who is a guest
  ))

  # By name of the WeightStore.
  store_ids = merge(
    { for name, store in module.store : name => store.id },
    { for name, store in var.existing_stores : name => store.id },
  )
  store_containers = merge(
    { for name, store in var.stores : name => store.containers },
    { for name, store in var.existing_stores : name => store.containers },
  )
  has_stores = length(var.stores) + length(var.existing_stores) > 0
}

module "control" {
  source = "./modules/process"

  display_name        = "${var.name}-control"
  service_account     = "sallyport-control"
  clusters            = local.clusters
  audience            = var.federated_audience
  graph_permissions   = local.graph_permissions
  grant_admin_consent = var.grant_admin_consent
  owners              = var.owners
}

module "auditor" {
  source = "./modules/process"

  display_name        = "${var.name}-auditor"
  service_account     = "sallyport-auditor"
  clusters            = local.clusters
  audience            = var.federated_audience
  graph_permissions   = [] # It reads logs, and asks Graph for nothing.
  grant_admin_consent = false
  owners              = var.owners
}

module "store" {
  source   = "./modules/store"
  for_each = var.stores

  account_name        = each.value.account_name
  resource_group_name = each.value.resource_group_name
  location            = var.location
  containers          = each.value.containers
  replication         = each.value.replication
  kept_deleted_days   = each.value.kept_deleted_days
  immutable_days      = each.value.immutable_days
  subnet_id           = var.network.subnet_id
  private_dns_zone_id = local.private_dns_zone_ids.blob
  tags                = var.tags
}

module "logs" {
  source = "./modules/logs"
  count  = var.network == null ? 0 : 1

  name                   = var.name
  resource_group_name    = var.resource_group_name
  location               = var.location
  destination            = var.log_destination
  store_ids              = local.store_ids
  aks_ids                = { for id, one in var.clusters : id => one.aks_id if one.aks_id != null }
  subscription_id        = var.export_activity_log ? local.subscription_id : null
  entra_audit            = var.export_entra_audit
  entra_risk             = var.push_risk
  auditor_principal_id   = module.auditor.principal_id
  control_principal_id   = module.control.principal_id
  hub                    = var.hub
  container_account_name = var.log_account_name
  kept_days              = var.log_kept_days
  subnet_id              = var.network.subnet_id
  private_dns_zone_ids   = local.private_dns_zone_ids
  tags                   = var.tags
}

module "anchor" {
  source = "./modules/anchor"
  count  = var.anchor == null ? 0 : 1

  account_name        = var.anchor.account_name
  resource_group_name = var.anchor.resource_group_name
  location            = var.location
  retention_days      = var.anchor.retention_days
  locked              = var.anchor.locked
  writer_role_id      = azurerm_role_definition.anchor_writer[0].role_definition_resource_id
  writer_principal_id = module.auditor.principal_id
  subnet_id           = var.network.subnet_id
  private_dns_zone_id = local.private_dns_zone_ids.blob
  tags                = var.tags
}
