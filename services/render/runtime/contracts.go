// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// contractTime is how long an address is known by the contract that it last spoke. What answers there may be another runner
// afterwards: one that has been upgraded, or the other end of a proxy.
const contractTime = time.Minute

// contracts remembers which of a runner's addresses lately turned out to speak Porch's contract only. Which address a call
// goes to is known only when it has been answered: krmfn.evaluator.v1 is left out only while no address is known that may
// speak it.
type contracts struct {
	mu        sync.Mutex
	addresses map[string]spoken
}

type spoken struct {
	porchOnly bool
	until     time.Time
}

// known returns how many addresses have answered lately.
func (c *contracts) known() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.addresses)
}

// porchOnly tells whether all addresses that answered lately speak Porch's contract only.
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

// answeredV1 takes down what came of a call of krmfn.evaluator.v1, and tells whether the address does not know that.
func (c *contracts) answeredV1(from *peer.Peer, err error) (unknown bool) {
	unknown = status.Code(err) == codes.Unimplemented
	c.set(from, unknown, true)
	return unknown
}

// answeredPorch takes down which address answered a call of Porch's contract: one that was not known may speak the other.
func (c *contracts) answeredPorch(from *peer.Peer) { c.set(from, false, false) }

func (c *contracts) set(from *peer.Peer, porchOnly, sure bool) {
	// No address: the call did not get anywhere.
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
		c.addresses = map[string]spoken{}
	}
	c.addresses[address] = spoken{porchOnly, now.Add(contractTime)}
}
