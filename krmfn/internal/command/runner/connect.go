// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/functions/kubeconform"
	"github.com/krmfn/krmfn/functions/renderhelmchart"
	"github.com/krmfn/krmfn/internal/commandline"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/images/tags"
	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/embedded"
	"github.com/krmfn/krmfn/krmfn/internal/portforward"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/remote"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/runtime"
)

const (
	// healthTimeout limits the health check of a function runner.
	healthTimeout = 5 * time.Second
	// maxListTime limits the request for the tags of an image.
	maxListTime = 10 * time.Second
	// maxExecTime is the maximum run time of a function with exec, as in kpt.
	maxExecTime = 5 * time.Minute
)

// Runtime evaluates functions and lists those that it has.
type Runtime interface {
	evaluation.Evaluator
	ListFunctions(ctx context.Context) ([]*evaluatorv1.Function, error)
}

// connectBuiltin returns what evaluates the curated functions: this process, or with --isolate an embedded function runner.
func connectBuiltin(ctx context.Context, p *program.Program, f *Flags) (Runtime, func(), error) {
	environ, err := f.environ(p)
	if err != nil {
		return nil, nil, failure.Usage(err)
	}
	if !f.isolate {
		return inProcess{runtime.Builtin{
			Functions: functions.All(), Prefix: f.ImagePrefix, StrictVersions: f.strictVersions, Origin: embedded.Origin,
			AsProcess: true, Environ: overlay(process.RunnerEnvironment(environ), f.environment(p.Environ)),
		}}, func() {}, nil
	}
	own, err := embedded.Start(ctx, embedded.Config{
		Executable: p.Executable, ImagePrefix: f.ImagePrefix, StrictVersions: f.strictVersions,
		MaxMessageSize: f.Limits.MaxMessageSize, MaxListSize: f.Limits.MaxListSize, Environ: environ,
	})
	if err != nil {
		return nil, nil, failure.Runner(err)
	}
	conn, err := remote.Dial(own.Target(), f.Limits)
	if err != nil {
		return nil, nil, errors.Join(failure.Runner(err), own.Close())
	}
	return embeddedRuntime{remote.New(conn, f.Limits), f.strictVersions}, func() { p.Warn(errors.Join(conn.Close(), own.Close())) }, nil
}

// environ returns the environment of functions, with what the flags permit the curated ones. What the environment says has precedence.
func (f *Flags) environ(p *program.Program) ([]string, error) {
	environ := slices.Clone(p.Environ)
	schemas := p.Getenv(kubeconform.LocationsVariable)
	if f.Package != "" {
		dir, err := filepath.Abs(f.Package)
		if err != nil {
			return nil, fmt.Errorf("find the directory of the package: %w", err)
		}
		schemas = cmp.Or(schemas, kubeconform.Directory(dir))
		if p.Getenv(renderhelmchart.DirectoryVariable) == "" {
			environ = append(environ, renderhelmchart.DirectoryVariable+"="+dir)
		}
	}
	if f.network {
		schemas += ",http://,https://"
	}
	return append(environ, kubeconform.LocationsVariable+"="+schemas), nil
}

// inProcess evaluates the curated functions in the command's own process.
type inProcess struct{ runtime.Builtin }

// Evaluate adds to the error of a tag that was refused which tags there are.
func (r inProcess) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	resp, err := r.Builtin.Evaluate(ctx, req)
	return resp, explainTag(err, r.StrictVersions)
}

// EvaluateList does as Evaluate.
func (r inProcess) EvaluateList(ctx context.Context, image string, list *fn.ResourceList) (*evaluationv1.Evaluation, error) {
	report, err := r.Builtin.EvaluateList(ctx, image, list)
	return report, explainTag(err, r.StrictVersions)
}

// embeddedRuntime is the embedded function runner.
type embeddedRuntime struct {
	Runtime
	strictVersions bool
}

// Evaluate does as that of inProcess.
func (r embeddedRuntime) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	resp, err := r.Runtime.Evaluate(ctx, req)
	return resp, explainTag(err, r.strictVersions)
}

// explainTag adds to the error of a curated function that was not found why: the image has a digest or, with strict versions,
// another tag.
func explainTag(err error, strictVersions bool) error {
	missing, ok := errors.AsType[*evaluation.NotFoundError](err)
	if !ok {
		return err
	}
	f, ok := functions.Lookup(reference.CatalogName(missing.Image))
	_, _, digest := reference.Split(missing.Image)
	switch {
	case !ok:
		return err
	case digest != "":
		return fmt.Errorf("%w: a digest names one image, and %s %s in krmfn is none: name a tag, or a function runner with --runner", missing, f.Name, f.Version)
	case !strictVersions:
		return err
	}
	return fmt.Errorf("%w: the version here is %s, with the tags %s: name one of them, or leave out --strict-versions",
		missing, f.Version, strings.Join(f.Tags(), " and "))
}

// endpoint is where a function runner is, for gRPC.
type endpoint struct {
	target  string
	options []grpc.DialOption
	// close ends what the connection needs; it is called after the connection is closed.
	close func()
}

// find returns the endpoint that --runner names.
func (f *Flags) find(ctx context.Context, p *program.Program) (endpoint, error) {
	if target, ok := strings.CutPrefix(f.Address, kubeScheme+":"); ok {
		return findInCluster(ctx, p, target)
	}
	return endpoint{target: f.Address, close: func() {}}, nil
}

// ConnectTo is Connect for the function runner that --runner names. It checks that the function runner serves, so that one
// that does not is known before any work is done.
func ConnectTo(ctx context.Context, p *program.Program, f *Flags) (Runtime, func(), error) {
	secure, err := f.secured()
	if err != nil {
		return nil, nil, err
	}
	at, err := f.find(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	conn, err := remote.Dial(at.target, f.Limits, append(at.options, secure...)...)
	if err != nil {
		at.close()
		return nil, nil, failure.Usage(fmt.Errorf("--runner is %q, want host:port or %s:%s", f.Address, kubeScheme, portforward.Form))
	}
	disconnect := func() error {
		defer at.close()
		return conn.Close()
	}
	if err := checkHealth(ctx, conn); err != nil {
		return nil, nil, errors.Join(unreachable(ctx, f.Address, f.explainPlainText(err)), disconnect())
	}
	return namedRunner{remote.New(conn, f.Limits), f.Address}, func() { p.Warn(disconnect()) }, nil
}

// namedRunner is the function runner that --runner names.
type namedRunner struct {
	*remote.Client
	address string
}

// Evaluate adds to the error of a function that the function runner lacks how to list its functions.
func (r namedRunner) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	resp, err := r.Client.Evaluate(ctx, req)
	if !errors.As(err, new(*evaluation.NotFoundError)) {
		return resp, err
	}
	advice := fmt.Sprintf("see `krmfn functions --runner %s`", r.address)
	if near := failure.SimilarFunctions(req.Image); near != "" {
		advice = "did you mean " + near + "? Otherwise " + advice
	}
	return resp, fmt.Errorf("%w: the function runner at %s does not have it: %s", err, r.address, advice)
}

func checkHealth(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	health := grpc_health_v1.NewHealthClient(conn)
	// The empty name says that a function runner lives, and that of its service that calls can succeed.
	resp, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: evaluatorgrpc.FunctionEvaluator_ServiceDesc.ServiceName})
	if status.Code(err) == codes.NotFound {
		// Porch's has the empty name only.
		resp, err = health.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	}
	switch {
	case status.Code(err) == codes.Unimplemented:
		return nil
	case err != nil:
		return err
	case resp.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING:
		return errors.New("it is up and does not serve calls: it has no functions, or is shutting down")
	}
	return nil
}

// unreachable words what is wrong with a function runner, unless the command itself ended the connection.
func unreachable(ctx context.Context, address string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	reason := err.Error()
	if s, ok := status.FromError(err); ok {
		reason = s.Message()
		// The part in front tells which layers of the connection found out.
		if _, cause, ok := strings.Cut(reason, `desc = "`); ok {
			reason = strings.TrimSuffix(cause, `"`)
		}
	}
	return failure.Runner(fmt.Errorf("the function runner at %s cannot be used: %s: check that it runs and that the address is right, or leave out --runner",
		address, reason))
}

// Tags returns what lists the tags of images, with the credentials of Docker's or Podman's configuration, until done is
// called. Without a function runner, the curated functions stand in for a registry that cannot be asked.
func (f *Flags) Tags() (_ render.TagLister, done func()) {
	client := registry.NewClient(registry.Options{Timeout: maxListTime})
	if f.Address != "" {
		return client, client.Close
	}
	known := functions.All().Tags
	if f.strictVersions {
		known = functions.All().OwnTags
	}
	return tags.WithBuiltin(client, known, f.ImagePrefix), client.Close
}

// CommandLines returns what evaluates functions that are command lines, until done is called. They are the user's own
// programs: they run where the user is, with all of the user's environment. Their output may have --max-resource-list-size
// bytes.
func (f *Flags) CommandLines(p *program.Program) (_ evaluation.Evaluator, done func()) {
	processes := process.NewRunner(process.Options{Limits: process.Limits{Stdout: f.Limits.MaxListSize}})
	return commandline.Evaluator{Runner: processes, Env: p.Environ, MaxTime: maxExecTime}, processes.Close
}
