# What cannot work is refused before anything is made.

mock_provider "azuread" {}
mock_provider "azurerm" {}

variables {
  name                = "sallyport-test"
  location            = "westeurope"
  resource_group_name = "logs"
  clusters            = { prod = { issuer = "https://issuer.example/1/" } }
  risk                = false # Else Graph is asked, of which there is none here.
  export_activity_log = false
}

run "an_issuer_without_https" {
  command = plan
  variables {
    clusters = { prod = { issuer = "http://issuer.example/" } }
  }
  expect_failures = [var.clusters]
}

run "kube_system" {
  command = plan
  variables {
    clusters = { prod = { issuer = "https://issuer.example/", namespace = "kube-system" } }
  }
  expect_failures = [var.clusters]
}

run "a_location_as_people_write_it" {
  command = plan
  variables {
    location = "West Europe"
  }
  expect_failures = [var.location]
}

run "guests_without_risk" {
  command = plan
  variables {
    risk   = false
    guests = true
  }
  expect_failures = [var.guests]
}

run "logs_without_a_network" {
  command = plan
  variables {
    export_activity_log = true
  }
  expect_failures = [var.network]
}

run "a_container_without_an_account" {
  command = plan
  variables {
    log_destination = "container"
  }
  expect_failures = [var.log_account_name]
}

run "a_store_by_its_blob_service" {
  command = plan
  variables {
    network = {
      subnet_id = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/network/providers/Microsoft.Network/virtualNetworks/prod/subnets/endpoints"
    }
    existing_stores = {
      older = {
        id         = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/weights/providers/Microsoft.Storage/storageAccounts/older/blobServices/default"
        containers = ["checkpoints"]
      }
    }
  }
  expect_failures = [var.existing_stores]
}

run "an_anchor_in_a_store" {
  command = plan
  variables {
    network = {
      subnet_id = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/network/providers/Microsoft.Network/virtualNetworks/prod/subnets/endpoints"
    }
    stores = {
      llama = { account_name = "llama", resource_group_name = "weights", containers = ["prod"] }
    }
    anchor = { account_name = "llama", resource_group_name = "weights" }
  }
  expect_failures = [var.anchor]
}
