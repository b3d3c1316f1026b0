// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/krmfn/internal/images/unpacked"
	"github.com/krmfn/krmfn/krmfn/internal/images/unpacked/imagetest"
	"github.com/krmfn/krmfn/krmfn/internal/sandbox/sandboxtest"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostile is a program that tries what a function must not be able to do.
var hostile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "hostile-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "hostile")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", file, "./testdata/hostile")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(file)
})

// program returns the hostile program. If HOSTILE_PROGRAM is set, the program is read from that file, for machines without a Go
// toolchain.
func program(t testing.TB) []byte {
	t.Helper()
	if file := os.Getenv("HOSTILE_PROGRAM"); file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	content, err := hostile()
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// machine is an evaluator with its image cache.
type machine struct {
	*Evaluator
	runner *process.Runner
	cache  *unpacked.Cache
}

// newMachine returns a machine. try skips the test if the kernel does not permit sandboxes.
func newMachine(t testing.TB, limits Limits) *machine {
	t.Helper()
	// Do not use the test's directory for scratch: it is private, and root's functions run as another user.
	runner := process.NewRunner(process.Options{Standby: process.Standby{Processes: 1}})
	t.Cleanup(runner.Close)
	cache, err := unpacked.Open(t.TempDir(), unpacked.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cache.Close)
	e, err := New(cache, runner, limits)
	if err != nil {
		t.Fatal(err)
	}
	return &machine{e, runner, cache}
}

// try runs the hostile program in an image with the given config.
func (m *machine) try(ctx context.Context, t testing.TB, config v1.Config, stdin string, args ...string) (process.Outcome, error) {
	t.Helper()
	config.Entrypoint = append([]string{"/fn"}, args...)
	image, err := m.cache.Image(ctx, imagetest.Layout(t, imagetest.Image(t, v1.ConfigFile{Config: config}, []imagetest.Entry{{Name: "fn", Content: program(t)}, {
		Name: "etc/passwd", Content: []byte("app:x:1001:1002::/home/app:/bin/sh\n"),
	}})))
	if err != nil {
		t.Fatal(err)
	}
	if !m.permitted {
		switch err := m.check(ctx, image); {
		case errors.As(err, new(*RefusedError)):
			sandboxtest.SkipRefused(t, err)
		case err != nil:
			t.Fatal(err)
		}
		m.permitted = true
	}
	command, err := m.sandbox.command(image, false)
	if err != nil {
		t.Fatal(err)
	}
	command.NoStandby = true
	return m.runner.Run(ctx, command, []byte(stdin))
}

// output runs the hostile program, which must exit with code 0, and returns its standard output.
func output(t *testing.T, limits Limits, config v1.Config, args ...string) string {
	t.Helper()
	outcome, err := newMachine(t, limits).try(t.Context(), t, config, "input", args...)
	if err != nil || outcome.ExitCode != 0 {
		t.Fatalf("exit code %d, error %v, standard error %s", outcome.ExitCode, err, outcome.Stderr)
	}
	return string(outcome.Stdout)
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config v1.Config
		want   string
	}{
		"nothing":     {want: "input / HOME=/tmp TMPDIR=/tmp"},
		"environment": {config: v1.Config{Env: []string{"GREETING=hello", "HOME=/home"}}, want: "input / hello HOME=/home TMPDIR=/tmp"},
		"directory":   {config: v1.Config{WorkingDir: "/work"}, want: "input /work HOME=/tmp TMPDIR=/tmp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(strings.Fields(output(t, Limits{}, tc.config, "echo")), " ")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	for user, want := range map[string]string{
		"": "uid 0 gid 0", "0": "uid 0 gid 0", "65532:65533": "uid 65532 gid 65533", "app": "uid 1001 gid 1002", "app:7": "uid 1001 gid 7",
	} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			want := "pid 1 " + want + " host function\n" + "CapInh 0\nCapPrm 0\nCapEff 0\nCapBnd 0\nCapAmb 0\nNoNewPrivs 1\nSeccomp 2\n"
			got := strings.ReplaceAll(output(t, Limits{}, v1.Config{User: user}, "identity"), "0000000000000000", "0")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnknownUser(t *testing.T) {
	t.Parallel()
	m := newMachine(t, Limits{})
	image, err := m.cache.Image(t.Context(), imagetest.Layout(t, imagetest.Image(t, v1.ConfigFile{Config: v1.Config{User: "ghost", Cmd: []string{"/fn"}}})))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.sandbox.command(image, false); err == nil || !strings.Contains(err.Error(), `user "ghost"`) {
		t.Errorf("command() = %v, want an error with the user", err)
	}
}

func TestCannotReadHome(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	secret := filepath.Join(home, "secret")
	if err := os.WriteFile(secret, []byte("TOP"+"SECRET"), 0o644); err != nil {
		t.Fatal(err)
	}
	// The parent of this process may have passed it files without the close-on-exec flag.
	inherited, err := unix.Open(secret, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(inherited) }()
	if got := output(t, Limits{}, v1.Config{}, "read", secret, "/../../.."+secret, "/proc/1/root"+secret, "/etc/shadow", "/sys/kernel/uevent_helper"); got != "" {
		t.Error(got)
	}
}

func TestCannotWrite(t *testing.T) {
	t.Parallel()
	want := "/fn false\n/new false\n/dev/new false\n/proc/sys/kernel/core_pattern false\n/proc/self/oom_score_adj false\n/tmp/new true\n/dev/shm/new true\n/dev/null true\n"
	got := output(t, Limits{}, v1.Config{}, "write", "/fn", "/new", "/dev/new", "/proc/sys/kernel/core_pattern", "/proc/self/oom_score_adj", "/tmp/new", "/dev/shm/new", "/dev/null")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := output(t, Limits{}, v1.Config{}, "files"); got != "" {
		t.Error(got)
	}
}

func TestCannotReachNetwork(t *testing.T) {
	t.Parallel()
	tcp, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	abstract, err := new(net.ListenConfig).Listen(t.Context(), "unix", fmt.Sprintf("@krmfn-sandbox-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	got := output(t, Limits{}, v1.Config{}, "dial", "tcp!"+tcp.Addr().String(), "unix!"+abstract.Addr().String(), "tcp!1.1.1.1:53", "udp!1.1.1.1:53")
	if diff := cmp.Diff("loopback true\n", got); diff != "" {
		t.Error(diff)
	}
}

func TestSystemCalls(t *testing.T) {
	t.Parallel()
	for _, user := range []string{"", "65532"} {
		if got := output(t, Limits{}, v1.Config{User: user}, "syscalls"); got != "" {
			t.Errorf("user %q: %s", user, got)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	if got := output(t, Limits{Tmp: 8 << 20}, v1.Config{}, "fill"); got != "full\n" {
		t.Error(got)
	}
	if got := output(t, Limits{Processes: 40}, v1.Config{}, "bomb"); got != "bounded\n" {
		t.Error(got)
	}
	outcome, err := newMachine(t, Limits{Memory: 256 << 20}).try(t.Context(), t, v1.Config{}, "", "memory")
	if err != nil || outcome.ExitCode != 2 || !strings.Contains(string(outcome.Stderr), "out of memory") {
		t.Errorf("memory: error %v, exit code %d, stdout %s, stderr %.200s; want exit code 2", err, outcome.ExitCode, outcome.Stdout, outcome.Stderr)
	}
}

// RLIMIT_DATA covers private memory only. The sandbox refuses other memory, or the memory belongs to files in /tmp and /dev/shm, whose
// size is limited.
func TestBoundsSharedMemory(t *testing.T) {
	t.Parallel()
	want := "file true\n"
	if version, err := landlock.LandlockGetABIVersion(); err != nil || version < 1 {
		want = "NOT BOUNDED /dev/zero\n" + want
	}
	if got := output(t, Limits{Memory: 256 << 20, Tmp: 64 << 20}, v1.Config{}, "shared"); got != want {
		t.Errorf("stdout = %q, want %q", got, want)
	}
}

// survivors counts the processes on this machine that have a unique argument.
func survivors(t *testing.T, argument string) int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Error(err)
	}
	count := 0
	for _, line := range lines {
		if text, err := os.ReadFile(line); err == nil && strings.Contains(string(text), argument) {
			count++
		}
	}
	return count
}

func TestNoProcessRemains(t *testing.T) {
	t.Parallel()
	m := newMachine(t, Limits{})
	mark := fmt.Sprintf("mark-%d", os.Getpid())
	outcome, err := m.try(t.Context(), t, v1.Config{}, "", "fork", mark)
	if err != nil || string(outcome.Stdout) != "started true\nstarted true\nstarted true\n" {
		t.Errorf("stdout = %s, error %v", outcome.Stdout, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() {
		for ctx.Err() == nil && survivors(t, mark) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	})
	_, err = m.try(ctx, t, v1.Config{}, "", "sleep", mark)
	cancel()
	watch.Wait()
	if !errors.As(err, new(*process.KilledError)) {
		t.Errorf("Run() = %v, want a KilledError", err)
	}
	if n := survivors(t, mark); n != 0 {
		t.Errorf("%d processes remain, want 0", n)
	}
}

func TestCommandNotFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t, Limits{})
	for command, want := range map[string]string{"/none": "no such file", "none": "file does not exist", "/proc/self/exe": "", "/dev/null": "permission denied"} {
		ref := imagetest.Layout(t, imagetest.Image(t, v1.ConfigFile{Config: v1.Config{Cmd: []string{command}}}))
		resp, err := m.Evaluate(t.Context(), evaluation.Request{Image: ref})
		if errors.As(err, new(*RefusedError)) {
			sandboxtest.SkipRefused(t, err)
		}
		if err != nil || resp.Report.GetFailure() == nil || !strings.Contains(string(resp.Report.GetStderr()), want) {
			t.Errorf("%s: error %v, report %v; want a failure", command, err, resp.Report)
		}
	}
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	m := newMachine(t, Limits{})
	ref := imagetest.Layout(t, imagetest.Image(t, v1.ConfigFile{Config: v1.Config{Entrypoint: []string{"/fn", "list"}}}, []imagetest.Entry{{Name: "fn", Content: program(t)}}))
	const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
	const calls = 8
	refused := make(chan error, calls)
	var work sync.WaitGroup
	for range calls {
		work.Go(func() {
			resp, err := m.Evaluate(t.Context(), evaluation.Request{Image: ref, ResourceList: []byte(list)})
			if errors.As(err, new(*RefusedError)) {
				refused <- err
				return
			}
			if err != nil || string(resp.ResourceList) != list || resp.Report.GetEvaluator() != evaluationv1.Evaluator_EVALUATOR_SANDBOX {
				t.Errorf("Evaluate() = %s, report %v, error %v", resp.ResourceList, resp.Report, err)
			}
		})
	}
	work.Wait()
	if len(refused) > 0 {
		sandboxtest.SkipRefused(t, <-refused)
	}
}

// A standby process is started for a function that has run twice, not for one that runs once.
func TestStandby(t *testing.T) {
	t.Parallel()
	m := newMachine(t, Limits{})
	ref := imagetest.Layout(t, imagetest.Image(t, v1.ConfigFile{Config: v1.Config{Entrypoint: []string{"/fn", "list"}}}, []imagetest.Entry{{Name: "fn", Content: program(t)}}))
	for call, want := range []int64{0, 0, 1} {
		_, err := m.Evaluate(t.Context(), evaluation.Request{Image: ref, ResourceList: []byte("kind: ResourceList\nitems: []\n")})
		if errors.As(err, new(*RefusedError)) {
			sandboxtest.SkipRefused(t, err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if used := m.runner.StandbyOutcomes()[process.StandbyUsed]; used != want {
			t.Errorf("%d standby processes used before call %d, want %d", used, call, want)
		}
	}
}

// A function cannot pretend that the kernel refused the sandbox.
func TestFunctionCannotFakeRefusal(t *testing.T) {
	t.Parallel()
	m := newMachine(t, Limits{})
	ref := imagetest.Layout(t, imagetest.Image(t, v1.ConfigFile{Config: v1.Config{Entrypoint: []string{"/fn", "claim"}}}, []imagetest.Entry{{Name: "fn", Content: program(t)}}))
	resp, err := m.Evaluate(t.Context(), evaluation.Request{Image: ref})
	if errors.As(err, new(*RefusedError)) {
		sandboxtest.SkipRefused(t, err)
	}
	if err != nil || resp.Report.GetExitCode() != 125 {
		t.Errorf("Evaluate(): error %v, report %v; want exit code 125", err, resp.Report)
	}
}

func TestHint(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		proc fstest.MapFS
		want string
	}{
		"namespaces disabled": {err: unix.ENOSPC, proc: fstest.MapFS{"sys/user/max_user_namespaces": {Data: []byte("0\n")}}, want: "user.max_user_namespaces=10000"},
		"old kernel":          {err: fmt.Errorf("mount_setattr: %w", unix.ENOSYS), want: "Linux 5.12"},
		"container":           {err: unix.EPERM, proc: fstest.MapFS{"self/status": {Data: []byte("Name:\tx\nSeccomp:\t2\n")}}, want: "seccomp=unconfined"},
		"unknown":             {err: unix.EPERM, want: "security module"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := hint(tc.err, tc.proc); !strings.Contains(got, tc.want) {
				t.Errorf("hint() = %q, want it to contain %q", got, tc.want)
			}
		})
	}
}

// BenchmarkCall alternates between a program without a sandbox, in a new sandbox, and in a standby process. A pause before each call
// gives the standby process time to start.
func BenchmarkCall(b *testing.B) {
	m := newMachine(b, Limits{})
	image, err := m.cache.Image(b.Context(), imagetest.Layout(b, imagetest.Image(b, v1.ConfigFile{Config: v1.Config{Entrypoint: []string{"/fn", "list"}}}, []imagetest.Entry{{Name: "fn", Content: program(b)}})))
	if err != nil {
		b.Fatal(err)
	}
	boxed, err := m.sandbox.command(image, false)
	if err != nil {
		b.Fatal(err)
	}
	fresh := boxed
	fresh.NoStandby = true
	ways := []struct {
		name    string
		command process.Command
	}{
		{"bare", process.Command{Argv: []string{filepath.Join(image.Root, "fn"), "list"}, NoStandby: true}},
		{"sandbox", fresh},
		{"ahead", boxed},
	}
	list := []byte("kind: ResourceList\nitems: []\n")
	took := make([][]time.Duration, len(ways))
	for b.Loop() {
		for i, way := range ways {
			time.Sleep(30 * time.Millisecond)
			begin := time.Now()
			if outcome, err := m.runner.Run(b.Context(), way.command, list); err != nil || outcome.ExitCode != 0 {
				b.Fatalf("%s, error %v", outcome.Stderr, err)
			}
			took[i] = append(took[i], time.Since(begin))
		}
	}
	for i, way := range ways {
		slices.Sort(took[i])
		b.ReportMetric(float64(took[i][len(took[i])/2].Microseconds()), "median-µs/"+way.name)
	}
}
