// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/krmfn/krmfn/internal/server/version"
)

const (
	// maxQueued spans wait at most; further ones are dropped.
	maxQueued = 1024
	// maxBatch spans are sent at once at most, batchDelay after the first of them at the latest.
	maxBatch   = 256
	batchDelay = 5 * time.Second
	// flush is how long sending may go on after the end. It is part of the time that a pod has to end.
	flush = 2 * time.Second
)

// exporter sends spans in batches. What cannot be sent is dropped and counted: no evaluation waits for it.
type exporter struct {
	post  func(ctx context.Context, body []byte) error
	about []*commonpb.KeyValue
	log   *slog.Logger

	queue   chan *tracepb.Span
	dropped atomic.Int64
	failing bool
}

func newExporter(s *traceSettings, log *slog.Logger) *exporter {
	return &exporter{post: s.collector.post, about: s.resource, log: log, queue: make(chan *tracepb.Span, maxQueued)}
}

// add hands over a span. It does not block.
func (e *exporter) add(span *tracepb.Span) {
	select {
	case e.queue <- span:
	default:
		e.dropped.Add(1)
	}
}

// run sends spans until ctx ends, and then what is left, for as long as flush.
func (e *exporter) run(ctx context.Context) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(flush, end) })()
	for {
		batch := e.collect(ctx)
		if len(batch) == 0 {
			return
		}
		e.report(len(batch), e.send(life, batch))
	}
}

// collect returns the next batch, and none when ctx has ended and there are no more.
func (e *exporter) collect(ctx context.Context) []*tracepb.Span {
	var batch []*tracepb.Span
	var due <-chan time.Time
	for len(batch) < maxBatch {
		select {
		case span := <-e.queue:
			if due == nil {
				due = time.After(batchDelay)
			}
			batch = append(batch, span)
		case <-due:
			return batch
		case <-ctx.Done():
			for len(batch) < maxBatch && len(e.queue) > 0 {
				batch = append(batch, <-e.queue)
			}
			return batch
		}
	}
	return batch
}

func (e *exporter) send(ctx context.Context, batch []*tracepb.Span) error {
	// TracesData is ExportTraceServiceRequest on the wire. The package of the latter would bring a gateway with it.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{Attributes: e.about},
		ScopeSpans: []*tracepb.ScopeSpans{{
			Scope: &commonpb.InstrumentationScope{Name: "wrapper-server", Version: version.Version()},
			Spans: batch,
		}},
	}}})
	if err != nil {
		return err
	}
	return e.post(ctx, body)
}

// report logs when sending begins to fail and when it works again, not each time.
func (e *exporter) report(spans int, err error) {
	if err != nil {
		e.dropped.Add(int64(spans))
		if !e.failing {
			e.log.Warn("spans cannot be exported and are dropped", "err", err)
		}
		e.failing = true
		return
	}
	e.failing = false
	if dropped := e.dropped.Swap(0); dropped > 0 {
		e.log.Warn("spans are exported again", "dropped", dropped)
	}
}
