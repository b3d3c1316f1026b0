// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"

	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/images/unpacked"
	"github.com/krmfn/krmfn/krmfn/internal/sandbox"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// cacheVariable is the environment variable that says where the cache of images is.
const cacheVariable = "KRMFN_CACHE_DIR"

// hasSandbox reports whether this machine can have sandboxes. Whether the kernel permits them is known only after one has started.
func hasSandbox(p *program.Program) bool {
	return goruntime.GOOS == "linux" && cacheDir(p) != ""
}

// cacheDir is where unpacked images are; "" where the environment does not say.
func cacheDir(p *program.Program) string {
	if dir := p.Getenv(cacheVariable); dir != "" {
		return filepath.Join(dir, "images")
	}
	home := p.Getenv("HOME")
	if home != "" {
		home = filepath.Join(home, ".cache")
	}
	if dir := cmp.Or(p.Getenv("XDG_CACHE_HOME"), home); filepath.IsAbs(dir) {
		return filepath.Join(dir, "krmfn", "images")
	}
	return ""
}

// CacheDir is the directory of the cache of images, "" where the environment does not say.
func CacheDir(p *program.Program) string { return cacheDir(p) }

// OpenCache opens the cache of images.
func OpenCache(p *program.Program, o unpacked.Options) (*unpacked.Cache, error) {
	dir := cacheDir(p)
	if dir == "" {
		return nil, errors.New("there is no directory for the cache of images: set $" + cacheVariable + " or $HOME")
	}
	return unpacked.Open(dir, o)
}

// sandboxed runs images without a container engine. Nothing is made before the first function needs it.
type sandboxed struct {
	program *program.Program
	flags   *Flags

	mu        sync.Mutex
	evaluator evaluation.Evaluator
	// ends undo what was made, the last first.
	ends []func()
}

func connectSandbox(_ context.Context, p *program.Program, f *Flags) (Runtime, func(), error) {
	s := &sandboxed{program: p, flags: f}
	return s, s.close, nil
}

// Evaluate runs the image of a function.
func (s *sandboxed) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	evaluator, err := s.start()
	if err != nil {
		return evaluation.Response{}, fmt.Errorf("sandbox: %w", err)
	}
	resp, err := evaluator.Evaluate(ctx, req)
	if err != nil {
		return resp, fmt.Errorf("sandbox: %w", err)
	}
	return resp, nil
}

// ListFunctions lists none: any image may be a function.
func (*sandboxed) ListFunctions(context.Context) ([]*evaluatorv1.Function, error) { return nil, nil }

func (s *sandboxed) start() (evaluation.Evaluator, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.evaluator != nil {
		return s.evaluator, nil
	}
	client := registry.NewClient(registry.Options{})
	cache, err := OpenCache(s.program, unpacked.Options{
		Registry: client, Policy: unpacked.Policy(s.flags.policy.value), Pulling: s.pulling,
	})
	if err != nil {
		client.Close()
		return nil, err
	}
	processes := process.NewRunner(process.Options{
		Limits: process.Limits{Stdout: s.flags.Limits.MaxListSize}, Standby: process.Standby{Processes: 1},
	})
	s.ends = append(s.ends, processes.Close, cache.Close, client.Close)
	evaluator, err := sandbox.New(withEnvironment{cache, s.flags.environment(s.program.Environ)}, timed{processes}, sandbox.Limits{})
	if err != nil {
		return nil, err
	}
	s.evaluator = evaluator
	return evaluator, nil
}

// withEnvironment adds environment variables to those of images.
type withEnvironment struct {
	*unpacked.Cache
	env []string
}

// Image is the cache's. Variables of the same name give way.
func (w withEnvironment) Image(ctx context.Context, ref string) (unpacked.Image, error) {
	image, err := w.Cache.Image(ctx, ref)
	image.Env = overlay(image.Env, w.env)
	return image, err
}

// overlay returns the variables of base that over does not set, and those of over.
func overlay(base, over []string) []string {
	return append(slices.DeleteFunc(slices.Clone(base), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return slices.ContainsFunc(over, func(o string) bool { return strings.HasPrefix(o, key+"=") })
	}), over...)
}

// pulling shows that an image is pulled.
func (s *sandboxed) pulling(ref string, goesOn bool) {
	doing := ""
	if goesOn {
		doing = "pulling " + ref
	}
	s.program.Notices.Doing(doing, "")
}

func (s *sandboxed) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, end := range s.ends {
		end()
	}
	s.ends, s.evaluator = nil, nil
}

// timed ends processes that run longer than functions may, not counting the time to pull their image.
type timed struct{ *process.Runner }

// Run is the runner's, with less time.
func (t timed) Run(ctx context.Context, c process.Command, stdin []byte) (process.Outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxExecTime, &evaluation.TimeoutError{Limit: maxExecTime})
	defer cancel()
	return t.Runner.Run(ctx, c, stdin)
}
