// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	listed := []*evaluatorv1.Function{
		{Name: "exec-only", Images: []string{"r.io/exec-only:v1"}},
		{Name: "a", Images: []string{"r.io/a:v1"}, Pods: &evaluatorv1.FunctionPods{
			Digest: "sha256:0123456789abcdef0123", Ready: 2, Starting: 1, Running: 8, Waiting: 3, MedianDuration: durationpb.New(4321 * time.Microsecond),
		}},
		{Name: "b", Images: []string{"r.io/b:v1"}, Pods: &evaluatorv1.FunctionPods{LastFailure: "ErrImagePull"}},
	}
	for name, tc := range map[string]struct {
		listed []*evaluatorv1.Function
		want   string
	}{
		"functions": {listed, `IMAGE       DIGEST                READY   STARTING   UNREACHABLE   LEAVING   RUNNING   WAITING   P50     LAST FAILURE
r.io/a:v1   sha256:0123456789ab   2       1          0             0         8         3         4.3ms
r.io/b:v1                         0       0          0             0         0         0         -       ErrImagePull
`},
		"none": {listed[:1], "No function has pods.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			write(terminal.Stream{Writer: &out}, rowsOf(tc.listed))
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
