// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/krmfn/krmfn/function-runner/options"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
)

func TestEvaluateReportsInFull(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	resp, err := f.v1.Evaluate(t.Context(), &evaluatorv1.EvaluateRequest{Image: "warn:v1", ResourceList: []byte(list)})
	if err != nil {
		t.Fatal(err)
	}
	e := resp.GetEvaluation()
	if e.GetImage() != "r.io/warn:v1" || e.GetEvaluator() != evaluationv1.Evaluator_EVALUATOR_EXEC || e.GetImplementation() != "warn" ||
		string(e.GetStderr()) != "careful\n" || len(e.GetResults()) != 1 || e.GetFailure() != nil || e.GetTimings().GetQueue() == nil {
		t.Errorf("report = %v, want image, evaluator, stderr, one result and timings", e)
	}
	resp, err = f.v1.Evaluate(t.Context(), &evaluatorv1.EvaluateRequest{Image: "fail:v1", ResourceList: []byte(list)})
	if err != nil || resp.GetEvaluation().GetFailure() == nil || len(resp.GetEvaluation().GetResults()) != 1 || len(resp.GetResourceList()) > 0 {
		t.Errorf("Evaluate() of a failing function = %v (%v), want its report", resp, err)
	}
}

// With a result cache, the result of a deterministic function is cached, and the report says so.
func TestResultCache(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		size string
		kept bool
	}{"kept": {"1Mi", true}, "not kept": {"0", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, func(o *options.Options) { o.Limits.ResultCache.Quantity = resource.MustParse(tc.size) })
			for _, again := range []bool{false, true} {
				resp, err := f.v1.Evaluate(t.Context(), &evaluatorv1.EvaluateRequest{Image: "once:v1", ResourceList: []byte(list)})
				e := resp.GetEvaluation()
				// A second run of the function fails.
				if err != nil || e.GetCached() != (again && tc.kept) || (e.GetFailure() != nil) != (again && !tc.kept) {
					t.Errorf("again = %v: report = %v (%v), want a cached one: %v", again, e, err, again && tc.kept)
				}
				if e.GetFailure() == nil && (string(resp.GetResourceList()) != list || string(e.GetStderr()) != "careful\n") {
					t.Errorf("again = %v: output = %q, stderr = %q, want the first ones", again, resp.GetResourceList(), e.GetStderr())
				}
			}
		})
	}
}

func TestRequestsAreValidated(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	calls := map[string]struct {
		call func() error
		want string
	}{
		"no image": {want: "image", call: func() error {
			_, err := f.v1.Evaluate(t.Context(), &evaluatorv1.EvaluateRequest{ResourceList: []byte(list)})
			return err
		}},
		"no list": {want: "resource_list", call: func() error {
			_, err := f.v1.Evaluate(t.Context(), &evaluatorv1.EvaluateRequest{Image: "a"})
			return err
		}},
		"a long image": {want: "image", call: func() error {
			_, err := f.v1.Evaluate(t.Context(), &evaluatorv1.EvaluateRequest{Image: strings.Repeat("a", 2000), ResourceList: []byte(list)})
			return err
		}},
		"an image twice": {want: "images", call: func() error {
			_, err := f.v1.Prepare(t.Context(), &evaluatorv1.PrepareRequest{Images: []string{"a", "a"}})
			return err
		}},
		"a blank among the images": {want: "images[1]", call: func() error {
			_, err := f.v1.Prepare(t.Context(), &evaluatorv1.PrepareRequest{Images: []string{"a", ""}})
			return err
		}},
		"a stream's header": {want: "header.size_bytes", call: func() error {
			_, _, err := f.stream(t.Context(), "echo:v1", nil, 0)
			return err
		}},
	}
	for name, tc := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tc.call(); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), tc.want+":") {
				t.Errorf("error = %v, want InvalidArgument for %s", err, tc.want)
			}
		})
	}
}

// stream sends a list in chunks and collects the output. The header announces size bytes.
func (f *fixture) stream(ctx context.Context, image string, in []byte, size int64) ([]byte, *evaluationv1.Evaluation, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := f.v1.EvaluateStream(ctx)
	if err != nil {
		return nil, nil, err
	}
	header := &evaluatorv1.EvaluateStreamHeader{Image: image, SizeBytes: size}
	err = stream.Send(&evaluatorv1.EvaluateStreamRequest{Part: &evaluatorv1.EvaluateStreamRequest_Header{Header: header}})
	for len(in) > 0 && err == nil {
		n := min(len(in), 50_000)
		err = stream.Send(&evaluatorv1.EvaluateStreamRequest{Part: &evaluatorv1.EvaluateStreamRequest_Chunk{Chunk: in[:n]}})
		in = in[n:]
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	if err := stream.CloseSend(); err != nil {
		return nil, nil, err
	}
	var out []byte
	for {
		part, err := stream.Recv()
		if err != nil {
			return nil, nil, err
		}
		if e := part.GetEvaluation(); e != nil {
			return out, e, nil
		}
		out = append(out, part.GetChunk()...)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	long := []byte(list + strings.Repeat("# a list that is longer than one message may be\n", 20_000))
	out, e, err := f.stream(t.Context(), "echo:v1", long, int64(len(long)))
	if err != nil || e.GetFailure() != nil || !bytes.Equal(out, long) {
		t.Errorf("stream() = %d of %d bytes, report %v, error %v", len(out), len(long), e, err)
	}
	for name, tc := range map[string]struct {
		size int64
		code codes.Code
		want string
	}{
		"more than announced": {size: 10, code: codes.InvalidArgument, want: "header.size_bytes: it is 10"},
		"less than announced": {size: 1 << 20, code: codes.InvalidArgument, want: "header.size_bytes: it is 1048576"},
		"more than the limit": {size: 1 << 40, code: codes.ResourceExhausted, want: "(1099511627776 vs. 67108864)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := f.stream(t.Context(), "echo:v1", []byte(list), tc.size)
			if status.Code(err) != tc.code || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("stream() error = %v, want %v %q", err, tc.code, tc.want)
			}
		})
	}
}

func TestStreamWithoutHeader(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	stream, err := f.v1.EvaluateStream(within(t, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	part := &evaluatorv1.EvaluateStreamRequest{Part: &evaluatorv1.EvaluateStreamRequest_Chunk{Chunk: []byte("x")}}
	if err := stream.Send(part); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("Recv() error = %v, want %v", err, codes.InvalidArgument)
	}
}

func TestPrepareAndList(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	prepared, err := f.v1.Prepare(t.Context(), &evaluatorv1.PrepareRequest{Images: []string{"echo:v1", "other"}})
	if err != nil || len(prepared.GetFunctions()) != 2 {
		t.Fatalf("Prepare() = %v (%v), want two functions", prepared, err)
	}
	known, unknown := prepared.GetFunctions()[0], prepared.GetFunctions()[1]
	if known.GetState() != evaluatorv1.PrepareState_PREPARE_STATE_READY || known.GetResolvedImage() != "r.io/echo:v1" || known.GetImage() != "echo:v1" {
		t.Errorf("known function = %v, want it ready", known)
	}
	if unknown.GetState() != evaluatorv1.PrepareState_PREPARE_STATE_NOT_FOUND || unknown.GetMessage() == "" {
		t.Errorf("unknown function = %v, want NOT_FOUND with a message", unknown)
	}
	listed, err := f.v1.ListFunctions(t.Context(), &evaluatorv1.ListFunctionsRequest{})
	if err != nil || len(listed.GetFunctions()) != len(scripts) || listed.GetFunctions()[0].GetName() != "early" {
		t.Errorf("ListFunctions() = %v (%v), want all scripts by name", listed, err)
	}
}
