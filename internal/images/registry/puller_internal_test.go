// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

// Age makes the client create new pullers for its next lookups, as if pullerAge had passed.
func (c *Client) Age() {
	for _, repository := range c.pullers.Keys() {
		if kept, ok := c.pullers.Peek(repository); ok {
			kept.made = kept.made.Add(-pullerAge)
			c.pullers.Add(repository, kept)
		}
	}
}
