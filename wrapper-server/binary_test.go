// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxSize is the most bytes that the binary may have: it is copied into every function pod.
const maxSize = 12_000_000

func TestSize(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "wrapper-server")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", file, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxSize {
		t.Errorf("the binary has %d bytes, want at most %d", info.Size(), maxSize)
	}
}

// allowed are the modules, or parts of them, that may be linked. Kubernetes, validation and the OpenTelemetry SDK are not
// among them: each costs megabytes in every function pod.
var allowed = []string{
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc",
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc",
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator",
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1",
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1",
	"github.com/krmfn/krmfn/services/evaluation",
	"github.com/krmfn/krmfn/services/server/grpcserver",
	"github.com/krmfn/krmfn/services/server/logging",
	"github.com/krmfn/krmfn/services/evaluation/process",
	"github.com/krmfn/krmfn/services/evaluation/resourcelist",
	"github.com/krmfn/krmfn/services/render/yamlnode",
	"github.com/krmfn/krmfn/services/server/version",
	"github.com/krmfn/krmfn/services/evaluation/wrapperapi",
	"github.com/krmfn/krmfn/wrapper-server",
	"github.com/KimMachineGun/automemlimit/memlimit",
	"github.com/pbnjay/memory",
	"github.com/beorn7/perks/quantile",
	"github.com/cespare/xxhash/v2",
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors",
	"github.com/munnerz/goautoneg",
	"github.com/prometheus/client_golang/prometheus",
	"github.com/prometheus/client_model/go",
	"github.com/prometheus/common/expfmt",
	"github.com/prometheus/common/model",
	"github.com/prometheus/procfs",
	"github.com/spf13/pflag",
	"go.opentelemetry.io/proto/otlp/common/v1",
	"go.opentelemetry.io/proto/otlp/resource/v1",
	"go.opentelemetry.io/proto/otlp/trace/v1",
	"go.yaml.in/yaml/v3",
	"golang.org/x/net",
	"golang.org/x/sync/semaphore",
	"golang.org/x/sys/unix",
	"golang.org/x/text",
	"google.golang.org/genproto/googleapis/rpc/errdetails",
	"google.golang.org/genproto/googleapis/rpc/status",
	"google.golang.org/grpc",
	"google.golang.org/protobuf",
}

func TestDependencies(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags=grpcnotrace",
		"-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if len(linked) < len(allowed) {
		t.Fatalf("only %d packages are linked, the list cannot be right", len(linked))
	}
	for _, pkg := range linked {
		if !slices.ContainsFunc(allowed, func(a string) bool { return pkg == a || strings.HasPrefix(pkg, a+"/") }) {
			t.Errorf("%s is linked and not allowed", pkg)
		}
	}
}
