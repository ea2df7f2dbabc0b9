locals {
  logs        = one(module.logs[*])
  hub_servers = try(local.logs.server, null) == null ? [] : [local.logs.server]
  site        = try(local.logs.site, null)

  helm_values = {
    for id in keys(var.clusters) : id => {
      clusterId = id
      identity = merge(
        {
          enabled           = var.risk
          tenant            = local.tenant_id
          clientId          = module.control.client_id
          federatedAudience = var.federated_audience
          guests            = var.guests
        },
        var.push_risk ? {
          eventHub = {
            servers = local.hub_servers
            topics  = local.logs.risk_hubs
            group   = "sallyport-${id}" # Each cluster needs one of its own.
          }
        } : {},
      )
      weights = merge(
        {
          signIn = {
            tenant   = local.tenant_id
            clientId = module.auditor.client_id
          }
          tenants       = [local.tenant_id]
          subscriptions = [local.subscription_id]
          azure = {
            enabled    = local.has_stores
            tenant     = local.tenant_id
            clientId   = module.control.client_id
            justInTime = local.has_stores && var.just_in_time
          }
        },
        length(try(local.logs.weight_hubs, [])) > 0 ? {
          eventHub = {
            servers = local.hub_servers
            topics  = local.logs.weight_hubs
          }
        } : {},
        local.site != null ? {
          container = {
            site       = local.site
            containers = local.logs.containers
          }
        } : {},
      )
      auditor = {
        ledger = {
          anchors = {
            blob = var.anchor == null ? "" : "${module.anchor[0].url}/${id}"
          }
        }
      }
    }
  }
}

output "helm_values" {
  description = "Values of the chart, as YAML, by clusterId: helm upgrade --values."
  value       = { for id, values in local.helm_values : id => yamlencode(values) }
}

output "weight_stores" {
  description = "WeightStores of the accounts that are made here, as YAML, by name. What they open to whom (identities) and checkpointSize are yours to add; then kubectl apply."
  value = {
    for name, store in var.stores : name => yamlencode({
      apiVersion = "sallyport.dev/v1alpha1"
      kind       = "WeightStore"
      metadata   = { name = name }
      spec = {
        account          = store.account_name
        resourceId       = module.store[name].id
        containers       = [for container in sort(tolist(store.containers)) : { name = container }]
        privateEndpoints = ["${module.store[name].private_address}/32"]
      }
    })
  }
}

output "client_ids" {
  description = "Client ids of control and the auditor."
  value       = { control = module.control.client_id, auditor = module.auditor.client_id }
}

output "principal_ids" {
  description = "Object ids of their service principals, for roles that are given elsewhere."
  value       = { control = module.control.principal_id, auditor = module.auditor.principal_id }
}

output "graph_permissions" {
  description = "What control is to be allowed at Microsoft Graph; without grant_admin_consent somebody must consent to these."
  value       = sort(tolist(local.graph_permissions))
}
