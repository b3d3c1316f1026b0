// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package credentials has the default credentials for registries. Built with the tag cloudkeychains, binaries also take those
// that Google Cloud and AWS give to the machine, or pod, for their own registries, and are some megabytes larger.
package credentials
