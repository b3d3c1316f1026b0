// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/krmfn/krmfn/function-runner/options"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// noPods is a pod evaluator without functions. Its put sets the executables of FunctionConfig objects.
type noPods struct{ put func([]Executable) }

func (*noPods) Evaluate(_ context.Context, req evaluation.Request) (evaluation.Response, error) {
	return evaluation.Response{}, &evaluation.NotFoundError{Image: req.Image}
}

func (*noPods) Prepare(context.Context, string) *evaluatorv1.PreparedFunction { return nil }

func (*noPods) List() []*evaluatorv1.Function { return nil }

func (p *noPods) Configure(put func([]Executable)) { p.put = put }

func (*noPods) Run(ctx context.Context, ready func()) error {
	ready()
	<-ctx.Done()
	return nil
}

// Executables from FunctionConfig objects are available at once.
func TestConfigure(t *testing.T) {
	t.Parallel()
	o := options.Default()
	o.Exec.Config, o.DefaultImagePrefix, o.ShutdownDelay = "", "r.io", 0
	pods := &noPods{}
	r, err := New(t.Context(), Config{Options: o, Pods: pods, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	known := &functions{exec: r.exec, pods: pods}
	for _, put := range [][]Executable{{{Name: "x", Path: "/x", Implementation: "x", Images: []string{"r.io/x:v1"}}}, nil} {
		pods.put(put)
		want := len(put)
		prepared := known.Prepare(t.Context(), "x:v1")
		if got := len(known.List()); got != want || (prepared != nil) != (want > 0) {
			t.Errorf("listed functions = %d, Prepare(x) = %v, want %d functions", got, prepared, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := r.Serve(ctx, listener); err != nil {
		t.Error(err)
	}
}
