// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

// Age has the next questions find new ways to their repositories, as they would a minute after the last.
func (c *Client) Age() {
	for _, repository := range c.pullers.Keys() {
		if kept, ok := c.pullers.Peek(repository); ok {
			kept.made = kept.made.Add(-pullerAge)
			c.pullers.Add(repository, kept)
		}
	}
}
