// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"encoding/hex"
	"log/slog"
	"strings"

	"google.golang.org/grpc/metadata"
)

// maxState is the most bytes of a tracestate that are handed on; the W3C recommendation asks for no more.
const maxState = 512

// spanContext names a span, as the headers of the W3C recommendation "Trace Context" do.
type spanContext struct {
	trace   [16]byte
	span    [8]byte
	sampled bool
	state   string
}

// valid tells whether there is a trace at all.
func (c spanContext) valid() bool { return c.trace != [16]byte{} && c.span != [8]byte{} }

// remote returns the caller's span, or an invalid one where the call has none or one that cannot be read: then, says the
// recommendation, a trace begins anew.
func remote(ctx context.Context) spanContext {
	headers, _ := metadata.FromIncomingContext(ctx)
	parents := headers.Get("traceparent")
	if len(parents) != 1 {
		return spanContext{}
	}
	c := parseTraceparent(parents[0])
	if state := strings.Join(headers.Get("tracestate"), ","); c.valid() && len(state) <= maxState && printable(state) {
		c.state = state
	}
	return c
}

// parseTraceparent reads version-trace-span-flags in lower-case hexadecimals. Versions to come may add to it behind one
// more dash.
func parseTraceparent(text string) spanContext {
	const length = 2 + 1 + 32 + 1 + 16 + 1 + 2
	if len(text) < length || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return spanContext{}
	}
	if strings.Trim(text[:2]+text[3:35]+text[36:52]+text[53:length], "0123456789abcdef") != "" {
		return spanContext{}
	}
	version, more := text[:2], text[length:]
	if version == "ff" || (version == "00" && more != "") || (more != "" && more[0] != '-') {
		return spanContext{}
	}
	var c spanContext
	var flags [1]byte
	_, err1 := hex.Decode(c.trace[:], []byte(text[3:35]))
	_, err2 := hex.Decode(c.span[:], []byte(text[36:52]))
	_, err3 := hex.Decode(flags[:], []byte(text[53:length]))
	if err1 != nil || err2 != nil || err3 != nil || !c.valid() {
		return spanContext{}
	}
	c.sampled = flags[0]&1 != 0
	return c
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

type spanKey struct{}

func withSpan(ctx context.Context, c spanContext) context.Context {
	return context.WithValue(ctx, spanKey{}, c)
}

// logHandler adds the trace of the context to what is logged.
type logHandler struct{ slog.Handler }

// Logger returns a logger whose lines have the attribute trace_id where their context is in a trace.
func Logger(log *slog.Logger) *slog.Logger { return slog.New(logHandler{log.Handler()}) }

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if c, ok := ctx.Value(spanKey{}).(spanContext); ok {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", hex.EncodeToString(c.trace[:])))
	}
	return h.Handler.Handle(ctx, r)
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
