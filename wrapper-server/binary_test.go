// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/krmfn/krmfn/internal/server/binarytest"
)

// The binary is copied into every function pod.
func TestSize(t *testing.T) {
	t.Parallel()
	binarytest.Size(t, "build/wrapper-server", 12_006_000)
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
	"github.com/krmfn/krmfn/internal/server/connections",
	"github.com/krmfn/krmfn/internal/server/flags",
	"github.com/krmfn/krmfn/internal/server/grpcserver",
	"github.com/krmfn/krmfn/internal/server/logging",
	"github.com/krmfn/krmfn/internal/process",
	"github.com/krmfn/krmfn/internal/resourcelist",
	"github.com/krmfn/krmfn/internal/yamlnode",
	"github.com/krmfn/krmfn/internal/server/version",
	"github.com/krmfn/krmfn/internal/wrapperapi",
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
	imports := binarytest.Imports(t)
	if len(imports) < len(allowed) {
		t.Fatalf("only %d imports are listed, the list cannot be right", len(imports))
	}
	for _, i := range imports {
		// The standard library's packages are in no domain.
		domain, _, _ := strings.Cut(i.Imported, "/")
		if strings.Contains(domain, ".") && !binarytest.Matches(i.Imported, allowed) {
			t.Errorf("%s imports %s, which is not allowed", i.Importer, i.Imported)
		}
	}
}
