// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/krmfn/internal/engine"
	"github.com/krmfn/krmfn/krmfn/internal/engine/entrypoint"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

const (
	ref  = "example.com/fn:v1"
	list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
)

// client finds the client of a fake engine in PATH.
func (f fakeEngine) client(t *testing.T) engine.Client {
	t.Helper()
	c, err := engine.Find(f.name, []string{"PATH=/no/such:" + f.dir, "FAKE_ENGINE=" + f.dir, "GOCOVERDIR=" + f.dir})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// recorder records an evaluator's progress messages and warnings.
type recorder struct {
	mu      sync.Mutex
	pulling []string
	warned  []string
}

// evaluator returns an evaluator that uses a fake engine.
func (f fakeEngine) evaluator(t *testing.T, o engine.Options) (*engine.Evaluator, *recorder) {
	t.Helper()
	s := &recorder{}
	o.Pulling = func(image, line string, goesOn bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pulling = append(s.pulling, fmt.Sprint(image, "|", line, "|", goesOn))
	}
	o.Warn = func(text string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.warned = append(s.warned, text)
	}
	e := engine.New(f.client(t), o)
	t.Cleanup(e.Close)
	return e, s
}

func evaluate(ctx context.Context, e evaluation.Evaluator, image, marker string) (evaluation.Response, error) {
	return e.Evaluate(ctx, evaluation.Request{Image: image, ResourceList: []byte(list + marker)})
}

// succeeds evaluates once and returns the function's standard error.
func succeeds(t *testing.T, e evaluation.Evaluator, image string) string {
	t.Helper()
	resp, err := evaluate(t.Context(), e, image, "")
	if err != nil {
		t.Fatal(err)
	}
	if resp.Report.GetFailure() != nil || string(resp.ResourceList) != list {
		t.Fatalf("Evaluate() = %v, want success", resp)
	}
	return string(resp.Report.GetStderr())
}

const warning = "docker: WARNING: The requested image's platform (linux/arm64) does not match the detected host platform (linux/amd64)"

func TestContainerIsReused(t *testing.T) {
	t.Parallel()
	f := newFake(t, engine.Docker, ref)
	e, recorded := f.evaluator(t, engine.Options{Entrypoint: "/krmfn", Env: []string{"FOO=bar"}})
	var calls sync.WaitGroup
	for range 5 {
		calls.Go(func() {
			resp, err := evaluate(t.Context(), e, ref, "")
			if got := string(resp.Report.GetStderr()); err != nil || got != "hello from arg bar\n" {
				t.Errorf("standard error = %q, error %v", got, err)
			}
		})
	}
	calls.Wait()
	resp, err := evaluate(t.Context(), e, ref, "# fail")
	if err != nil || resp.Report.GetExitCode() != 3 || resp.Report.GetEvaluator() != evaluationv1.Evaluator_EVALUATOR_ENGINE {
		t.Errorf("Evaluate() = %v, error %v; want exit code 3", resp, err)
	}
	if got, want := resp.Report.GetImplementation(), "sha256:1234 (docker)"; got != want {
		t.Errorf("implementation = %q, want %q", got, want)
	}
	e.Close()
	// On a busy machine, calls may wait longer than busyWait, and start a second container.
	if n := len(f.runs(t)); n < 1 || n > 2 {
		t.Errorf("%d containers for 6 calls, want 1 or 2", n)
	}
	f.none(t)
	if diff := cmp.Diff([]string{warning}, recorded.warned); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// The engine's standard error is read concurrently with a container's output, so its warnings may come after the greeting.
func TestLateWarningIsReported(t *testing.T) {
	t.Parallel()
	f := newFake(t, engine.Docker, ref)
	if err := os.WriteFile(f.path("late"), []byte("WARNING: late"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, recorded := f.evaluator(t, engine.Options{Entrypoint: "/krmfn"})
	succeeds(t, e, ref)
	e.Close()
	if diff := cmp.Diff([]string{warning, "docker: WARNING: late"}, recorded.warned); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// none checks that no container runs.
func (f fakeEngine) none(t *testing.T) {
	t.Helper()
	if left, _ := os.ReadDir(f.path("containers")); len(left) > 0 {
		t.Errorf("containers = %v, want none", left)
	}
}

// Without an entrypoint, with mounts, or if the engine refuses the entrypoint, each call gets a new container.
func TestNewContainerForEachCall(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options engine.Options
		refuse  bool
		runs    int
	}{
		"no entrypoint":                 {runs: 2},
		"engine refuses the entrypoint": {options: engine.Options{Entrypoint: "/krmfn"}, refuse: true, runs: 3},
		"mounts":                        {options: engine.Options{Entrypoint: "/krmfn", Mounts: []engine.Mount{{Type: "tmpfs", Target: "/x"}}}, runs: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, engine.Docker, ref)
			if test.refuse {
				f.touch("refuse")
			}
			e, recorded := f.evaluator(t, test.options)
			for range 2 {
				if got := succeeds(t, e, ref); got != "hello from alone \n" {
					t.Errorf("standard error = %q, want a new container's", got)
				}
			}
			if n := len(f.runs(t)); n != test.runs {
				t.Errorf("%d containers, want %d", n, test.runs)
			}
			if diff := cmp.Diff([]string{warning}, recorded.warned); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunArguments(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`krmfn-[a-z0-9]{16}`)
	current := fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
	kept := []string{"--mount", "type=bind,source=/krmfn,target=/krm-function-entrypoint,readonly", "--entrypoint", "/krm-function-entrypoint", ref, entrypoint.Name, "FN", "arg"}
	common := func(network, user string, privileges ...string) []string {
		return append([]string{
			"run", "--rm", "-i", "--name", "NAME", "--label", "dev.krmfn.function=true", "--network", network, "--user", user,
			"--security-opt=no-new-privileges", "--pull", "never", "--memory", "4g", "--memory-swap", "4g", "--pids-limit", "512",
		}, privileges...)
	}
	for _, test := range []struct {
		options engine.Options
		want    []string
	}{
		{engine.Options{}, append(common("none", "65534:65534", "--cap-drop", "ALL"), ref)},
		{engine.Options{Entrypoint: "/krmfn"}, append(common("none", "65534:65534", "--cap-drop", "ALL"), kept...)},
		{engine.Options{
			Network: true, CurrentUser: true, Env: []string{"A=b", "C"},
			Mounts: []engine.Mount{{Type: "bind", Source: "/a", Target: "/b"}, {Type: "tmpfs", Target: "/c", Writable: true}},
		}, append(common("host", current), "--mount", "type=bind,source=/a,target=/b,readonly", "--mount", "type=tmpfs,target=/c", "-e", "A=b", "-e", "C", ref)},
	} {
		for _, name := range engine.Names {
			f := newFake(t, name, ref)
			e, _ := f.evaluator(t, test.options)
			succeeds(t, e, ref)
			var got []string
			for _, arg := range f.runs(t)[0] {
				got = append(got, strings.ReplaceAll(names.ReplaceAllString(arg, "NAME"), f.path("fn"), "FN"))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: arguments (-want +got):\n%s", name, diff)
			}
		}
	}
}

// Podman fails if it cannot set a limit, so the client checks first. Docker and nerdctl discard such limits with a warning.
func TestUnsupportedLimits(t *testing.T) {
	t.Parallel()
	const podman = "podman: cannot limit the "
	const reason = " of functions, because systemd has not delegated these cgroup controllers to this user"
	for name, test := range map[string]struct {
		engine, controllers string
		want                []string
		warning             string
	}{
		"podman without delegation": {engine.Podman, "[]", nil, podman + "memory and processes" + reason},
		"podman without pids":       {engine.Podman, "[cpu memory]", []string{"--memory", "4g", "--memory-swap", "4g"}, podman + "processes" + reason},
		"podman with all":           {engine.Podman, "[cpuset cpu io memory pids]", []string{"--memory", "4g", "--memory-swap", "4g", "--pids-limit", "512"}, ""},
		"docker without check":      {engine.Docker, "[]", []string{"--memory", "4g", "--memory-swap", "4g", "--pids-limit", "512"}, ""},
		"nerdctl without check":     {engine.Nerdctl, "[]", []string{"--memory", "4g", "--memory-swap", "4g", "--pids-limit", "512"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, test.engine, ref)
			if err := os.WriteFile(f.path("controllers"), []byte(test.controllers+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			e, recorded := f.evaluator(t, engine.Options{})
			succeeds(t, e, ref)
			succeeds(t, e, ref)
			for _, args := range f.runs(t) {
				var got []string
				for i, arg := range args {
					if slices.Contains([]string{"--memory", "--memory-swap", "--pids-limit"}, arg) {
						got = append(got, arg, args[i+1])
					}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("limits (-want +got):\n%s", diff)
				}
			}
			warnings := slices.DeleteFunc(recorded.warned, func(text string) bool { return strings.Contains(text, "platform") })
			if want := strings.Fields(test.warning); strings.Join(warnings, "|") != strings.Join(want, " ") {
				t.Errorf("warnings = %q, want %q once", warnings, test.warning)
			}
		})
	}
}

// An engine's warnings about limits are not part of the function's standard error.
func TestDiscardedLimits(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"WARNING: Your kernel does not support memory limit capabilities or the cgroup is not mounted. Limitation discarded.",
		`time="2026-01-01T00:00:00Z" level=warning msg="cgroup manager is set to \"none\", discarding resource limit requests."`,
	} {
		f := newFake(t, engine.Docker, ref)
		if err := os.WriteFile(f.path("warning"), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		e, recorded := f.evaluator(t, engine.Options{})
		if got := succeeds(t, e, ref); got != "hello from alone \n" {
			t.Errorf("standard error = %q, want only the function's", got)
		}
		if !slices.Contains(recorded.warned, "docker: "+line) {
			t.Errorf("warnings = %q, want %q", recorded.warned, line)
		}
	}
}

func TestPullPolicies(t *testing.T) {
	t.Parallel()
	progress := []string{ref + "||true", ref + "|v1: Pulling from example/fn|true", ref + "|0123: Downloading|true", ref + "|0123: Pull complete|true", ref + "||false"}
	failing := []string{ref + "||true", ref + "|Error response from daemon: manifest unknown|true", ref + "||false"}
	for name, test := range map[string]struct {
		policy              engine.Policy
		present, obtainable bool
		pulling             []string
		want                string
	}{
		"present":                              {engine.IfNotPresent, true, true, nil, ""},
		"absent":                               {engine.IfNotPresent, false, true, progress, ""},
		"absent from the registry":             {engine.IfNotPresent, false, false, failing, "docker: image " + ref + ": pull: Error response from daemon: manifest unknown"},
		"always":                               {engine.Always, true, true, progress, ""},
		"never":                                {engine.Never, true, true, nil, ""},
		"never, and absent":                    {engine.Never, false, true, nil, "docker: image " + ref + ": the image is absent, and the pull policy is Never"},
		"always, and absent from the registry": {engine.Always, true, false, failing, "docker: image " + ref + ": pull: Error response from daemon: manifest unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, engine.Docker)
			if test.present {
				f.touch("images", file(ref))
			}
			if test.obtainable {
				f.touch("registry", file(ref))
			}
			e, recorded := f.evaluator(t, engine.Options{Policy: test.policy})
			_, err := evaluate(t.Context(), e, ref, "")
			if got := fmt.Sprint(err); err != nil && got != test.want || err == nil && test.want != "" {
				t.Errorf("Evaluate() = %v, want %q", err, test.want)
			}
			if err != nil && !errors.As(err, new(*evaluation.NotFoundError)) {
				t.Error("the error is not a NotFoundError")
			}
			if diff := cmp.Diff(test.pulling, recorded.pulling); diff != "" {
				t.Errorf("progress (-want +got):\n%s", diff)
			}
		})
	}
}

// A locally built image has a short name only.
func TestShortName(t *testing.T) {
	t.Parallel()
	f := newFake(t, engine.Docker, "myfn:latest")
	e, recorded := f.evaluator(t, engine.Options{Prefix: "ghcr.io/catalog/"})
	succeeds(t, e, "ghcr.io/catalog/myfn:latest")
	want := "docker has no image ghcr.io/catalog/myfn:latest: running the local image myfn:latest"
	if len(recorded.warned) == 0 || recorded.warned[0] != want {
		t.Errorf("warnings = %q, want %q", recorded.warned, want)
	}
	if _, err := evaluate(t.Context(), e, "ghcr.io/catalog/myfn@sha256:12", ""); err == nil {
		t.Error("Evaluate() of a digest used an image without a digest")
	}
	if _, err := evaluate(t.Context(), e, "oci:"+f.dir, ""); err == nil || !strings.Contains(err.Error(), "cannot run an image from a file") {
		t.Errorf("Evaluate() of an image file = %v", err)
	}
}

// After a call is canceled, no container runs.
func TestCanceled(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"", "/krmfn"} {
		f := newFake(t, engine.Docker, ref)
		e, _ := f.evaluator(t, engine.Options{Entrypoint: program})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for entries, _ := os.ReadDir(f.path("containers")); len(entries) == 0; entries, _ = os.ReadDir(f.path("containers")) {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		resp, err := evaluate(ctx, e, ref, "# hang")
		if err == nil && resp.Report.GetFailure().GetReason() != evaluationv1.FailureReason_FAILURE_REASON_CANCELED {
			t.Errorf("Evaluate() = %v, error %v; want CANCELED", resp, err)
		}
		f.none(t)
		cancel()
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"", "/krmfn"} {
		f := newFake(t, engine.Docker, ref)
		e, _ := f.evaluator(t, engine.Options{Entrypoint: program, MaxTime: 300 * time.Millisecond})
		resp, err := evaluate(t.Context(), e, ref, "# hang")
		if err != nil || resp.Report.GetFailure().GetReason() != evaluationv1.FailureReason_FAILURE_REASON_DEADLINE {
			t.Errorf("Evaluate() = %v, error %v; want DEADLINE", resp, err)
		}
		f.none(t)
	}
}

func TestEngineFails(t *testing.T) {
	t.Parallel()
	f := newFake(t, engine.Docker, ref)
	f.touch("broken")
	e, _ := f.evaluator(t, engine.Options{Entrypoint: "/krmfn"})
	_, err := evaluate(t.Context(), e, ref, "")
	if _, ok := errors.AsType[*engine.ContainerError](err); !ok || err.Error() != "docker cannot run the image "+ref+": Error response from daemon: no space left on device." {
		t.Errorf("Evaluate() = %v, want a ContainerError with the engine's message", err)
	}
}

// If a container ends, its call fails, and the next call gets a new container.
func TestContainerEnds(t *testing.T) {
	t.Parallel()
	f := newFake(t, engine.Docker, ref)
	e, _ := f.evaluator(t, engine.Options{Entrypoint: "/krmfn"})
	succeeds(t, e, ref)
	if err := os.RemoveAll(f.path("containers")); err != nil {
		t.Fatal(err)
	}
	_, err := evaluate(t.Context(), e, ref, "# hang")
	if _, ok := errors.AsType[*engine.ContainerError](err); !ok {
		t.Errorf("Evaluate() = %v, want a ContainerError", err)
	}
	succeeds(t, e, ref)
}

func TestPing(t *testing.T) {
	t.Parallel()
	for _, name := range engine.Names {
		f := newFake(t, name)
		if err := f.client(t).Ping(t.Context()); err != nil {
			t.Error(err)
		}
		f.touch("down")
		want := name + " does not answer: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
		if err := f.client(t).Ping(t.Context()); err == nil || err.Error() != want {
			t.Errorf("Ping() = %v, want %s", err, want)
		}
	}
	if _, err := engine.Find(engine.Docker, []string{"PATH=" + t.TempDir()}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Find() = %v, want ErrNotExist", err)
	}
}
