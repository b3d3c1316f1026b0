// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/taskhandler/v1/taskhandlerv1grpc"
	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/task-handler/options"
)

// streamed is the response of RenderStream.
type streamed struct {
	progress []*taskhandlerv1.Progress
	changes  map[string]string
	result   *taskhandlerv1.RenderResult
}

func filePart(path, content string) *taskhandlerv1.RenderStreamRequest {
	return &taskhandlerv1.RenderStreamRequest{Part: &taskhandlerv1.RenderStreamRequest_File{
		File: &taskhandlerv1.File{Path: path, Content: []byte(content)},
	}}
}

func optionsPart() *taskhandlerv1.RenderStreamRequest {
	return &taskhandlerv1.RenderStreamRequest{Part: &taskhandlerv1.RenderStreamRequest_Options{Options: &taskhandlerv1.RenderOptions{}}}
}

// stream sends the parts and returns the response.
func stream(t *testing.T, client taskhandlerv1grpc.TaskHandlerServiceClient, parts ...*taskhandlerv1.RenderStreamRequest) (streamed, error) {
	t.Helper()
	s, err := client.RenderStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if err := s.Send(p); err != nil {
			break
		}
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	out := streamed{changes: map[string]string{}}
	for {
		part, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if out.result != nil {
			t.Errorf("part after the result = %v", part)
		}
		if part.GetProgress() != nil {
			out.progress = append(out.progress, part.GetProgress())
		}
		if c := part.GetChange(); c != nil {
			out.changes[c.GetPath()] += string(c.GetContent())
		}
		out.result = part.GetResult()
	}
}

func TestRenderStream(t *testing.T) {
	t.Parallel()
	handler := client(t, nil)
	sub := strings.Replace(shop, "name: app", "name: db", 1)
	got, err := stream(t, handler, optionsPart(), filePart("Kptfile", shop[:10]), filePart("Kptfile", shop[10:]),
		filePart("a.yaml", cm), filePart("db/Kptfile", sub))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a.yaml": strings.Replace(cm, "default", "shop", 1)}, got.changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	var events []string
	for _, p := range got.progress {
		events = append(events, describe(p))
	}
	if diff := cmp.Diff([]string{
		"render of 2: db below 1 with 1, . below 0 with 1",
		"db begins with 1", "set-namespace of db begins with 1", "set-namespace of db ended with 0", "db ended",
		". begins with 3", "set-namespace of . begins with 3", "set-namespace of . ended with 0", ". ended",
	}, events); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	unary, err := handler.Render(t.Context(), request("Kptfile", shop, "a.yaml", cm, "db/Kptfile", sub))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(unary.GetResult(), got.result, protocmp.Transform(), protocmp.IgnoreFields(&taskhandlerv1.Function{}, "duration")); diff != "" {
		t.Errorf("result (-unary +stream):\n%s", diff)
	}
}

func describe(p *taskhandlerv1.Progress) string {
	short := func(f *taskhandlerv1.Function) string {
		name := f.GetFunction()[strings.LastIndex(f.GetFunction(), "/")+1:]
		return strings.TrimSuffix(name, ":latest") + " of " + f.GetPackage()
	}
	switch e := p.GetEvent().(type) {
	case *taskhandlerv1.Progress_Started:
		var packages []string
		for _, p := range e.Started.GetPackages() {
			packages = append(packages, fmt.Sprintf("%s below %d with %d", p.GetPackage(), p.GetDepth(), p.GetFunctions()))
		}
		return fmt.Sprintf("render of %d: %s", len(packages), strings.Join(packages, ", "))
	case *taskhandlerv1.Progress_PackageStarted:
		return fmt.Sprintf("%s begins with %d", e.PackageStarted.GetPackage(), e.PackageStarted.GetResources())
	case *taskhandlerv1.Progress_PackageFinished:
		return e.PackageFinished.GetPackage() + " ended" + e.PackageFinished.GetError()
	case *taskhandlerv1.Progress_FunctionStarted:
		return fmt.Sprintf("%s begins with %d", short(e.FunctionStarted.GetFunction()), e.FunctionStarted.GetResources())
	case *taskhandlerv1.Progress_FunctionFinished:
		return fmt.Sprintf("%s ended with %d", short(e.FunctionFinished.GetFunction()), e.FunctionFinished.GetResult().GetExitCode())
	}
	return "unknown"
}

// A package larger than a message is streamed in parts. Without a stream, it is rejected with a hint.
func TestRenderStreamLarge(t *testing.T) {
	t.Parallel()
	handler := client(t, func(o *options.Options) { o.Limits.MaxMessageSize, o.Limits.MaxPackageSize = 4000, 20000 })
	large := cm + "data:\n  a: " + strings.Repeat("x", 3000) + "\n"
	got, err := stream(t, handler, optionsPart(), filePart("Kptfile", shop), filePart("a.yaml", large),
		filePart("b.yaml", strings.Replace(large, "name: a", "name: b", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if got.changes["a.yaml"] != strings.Replace(large, "default", "shop", 1) || len(got.changes) != 2 {
		t.Errorf("changes = %v", got.changes)
	}
	half := strings.Repeat("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n---\n", 66)
	_, err = handler.Render(t.Context(), request("Kptfile", shop, "a.yaml", half))
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "call RenderStream, which sends large packages in parts") {
		t.Errorf("response that is too large: error %v", err)
	}
}

func TestRenderStreamErrors(t *testing.T) {
	t.Parallel()
	handler := client(t, func(o *options.Options) {
		o.Limits.MaxMessageSize, o.Limits.MaxPackageSize, o.Limits.MaxPackageFiles = 1000, 1000, 2
	})
	for name, tc := range map[string]struct {
		parts []*taskhandlerv1.RenderStreamRequest
		code  codes.Code
		want  string
	}{
		"no options":     {[]*taskhandlerv1.RenderStreamRequest{filePart("a", "")}, codes.InvalidArgument, "options: the first message must have them"},
		"options twice":  {[]*taskhandlerv1.RenderStreamRequest{optionsPart(), optionsPart()}, codes.InvalidArgument, "options: only the first message may have them"},
		"nothing":        {[]*taskhandlerv1.RenderStreamRequest{{}}, codes.InvalidArgument, "part"},
		"too many files": {[]*taskhandlerv1.RenderStreamRequest{optionsPart(), filePart("a", ""), filePart("b", ""), filePart("c", "")}, codes.ResourceExhausted, "(3 vs. 2), see --max-package-files"},
		"too large": {
			[]*taskhandlerv1.RenderStreamRequest{optionsPart(), filePart("a", strings.Repeat("x", 600)), filePart("a", strings.Repeat("x", 600))},
			codes.ResourceExhausted, "the package is larger than max (1202 vs. 1000), see --max-package-size and the memory limit",
		},
		"interleaved files": {
			[]*taskhandlerv1.RenderStreamRequest{optionsPart(), filePart("a", "1"), filePart("b", ""), filePart("a", "2")},
			codes.ResourceExhausted, "--max-package-files",
		},
	} {
		_, err := stream(t, handler, tc.parts...)
		if status.Code(err) != tc.code || !strings.Contains(status.Convert(err).Message(), tc.want) {
			t.Errorf("%s: error = %v, want %v and %q", name, err, tc.code, tc.want)
		}
	}
}

// Packages larger than the budget render one after the other, with and without a stream.
func TestRendersShareBudget(t *testing.T) {
	t.Parallel()
	handler := client(t, func(o *options.Options) { o.Limits.MaxBytesInFlight = 1 })
	var calls sync.WaitGroup
	for range 10 {
		calls.Go(func() {
			if got, err := stream(t, handler, optionsPart(), filePart("Kptfile", shop), filePart("a.yaml", cm)); err != nil || len(got.changes) != 1 {
				t.Errorf("streamed render: %d changes, error %v", len(got.changes), err)
			}
		})
		calls.Go(func() {
			if _, err := handler.Render(t.Context(), request("Kptfile", shop, "a.yaml", cm)); err != nil {
				t.Errorf("render: error %v", err)
			}
		})
	}
	calls.Wait()
}
