// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// contractTime is the time for which contracts caches the contract that an address supports. After that, a different runner may
// be listening there, for example after an upgrade or a change in a proxy.
const contractTime = time.Minute

// contracts caches which of the function runner's addresses support only Porch's contract. A caller cannot know before the
// response to which address a call goes. It may therefore skip krmfn.evaluator.v1 only if all cached addresses are known not to
// support it.
type contracts struct {
	mu        sync.Mutex
	addresses map[string]cachedContract
}

type cachedContract struct {
	porchOnly bool
	until     time.Time
}

// known returns the number of cached addresses, expired ones included.
func (c *contracts) known() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.addresses)
}

// porchOnly reports whether there are cached addresses and all of them support only Porch's contract. It drops expired
// addresses.
func (c *contracts) porchOnly() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, found := time.Now(), false
	for address, s := range c.addresses {
		switch {
		case !s.until.After(now):
			delete(c.addresses, address)
		case !s.porchOnly:
			return false
		default:
			found = true
		}
	}
	return found
}

// recordV1 records the result of a call of krmfn.evaluator.v1. unknown reports whether the address does not support it.
func (c *contracts) recordV1(from *peer.Peer, err error) (unknown bool) {
	unknown = status.Code(err) == codes.Unimplemented
	c.set(from, unknown, true)
	return unknown
}

// recordPorch records the address that answered a call of Porch's contract. An address that is not cached may also support
// krmfn.evaluator.v1.
func (c *contracts) recordPorch(from *peer.Peer) { c.set(from, false, false) }

func (c *contracts) set(from *peer.Peer, porchOnly, sure bool) {
	// Without an address, the call did not reach a server.
	if from.Addr == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now, address := time.Now(), from.Addr.String()
	if !sure && c.addresses[address].until.After(now) {
		return
	}
	if c.addresses == nil {
		c.addresses = map[string]cachedContract{}
	}
	c.addresses[address] = cachedContract{porchOnly, now.Add(contractTime)}
}
