// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/runner"
	"github.com/krmfn/krmfn/krmfn/internal/portforward/portforwardtest"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/services/evaluation"
)

const kubeRunner = "kube:" + portforwardtest.Namespace + "/" + portforwardtest.Name

// A function runner in a cluster can be used through the API server, and one pod replaces another.
func TestRunnerInCluster(t *testing.T) {
	t.Parallel()
	r := runningRunner(t)
	cluster := portforwardtest.Start(t)
	cluster.Set("a", portforwardtest.Pod{Address: r.Target()})
	environ := []string{"KUBECONFIG=" + cluster.Kubeconfig}
	list := invocation{args: []string{"functions", "--runner", kubeRunner}, environ: environ}.run(t.Context(), t).ok(t)
	contains(t, list.out, "set-labels ")

	cluster.Set("a", portforwardtest.Pod{Gone: true})
	cluster.Set("b", portforwardtest.Pod{Address: r.Target()})
	dir := newPackage(t, nil)
	address := "kube:" + portforwardtest.Context + "/" + portforwardtest.Namespace + "/" + portforwardtest.Name + ":grpc"
	krmfn(t, "fn", "render", dir, "--kubeconfig", cluster.Kubeconfig, "--runner", address).ok(t)
	if got := snapshot(t, dir)["web.yaml"]; got != rendered()["web.yaml"] {
		t.Errorf("got %s", got)
	}
}

func TestRunnerInClusterErrors(t *testing.T) {
	t.Parallel()
	cluster := portforwardtest.Start(t)
	forbidding := portforwardtest.Start(t)
	forbidding.Forbid = "create pods/portforward"
	forbidding.Set("a", portforwardtest.Pod{})
	refusing := portforwardtest.Start(t)
	refusing.Set("a", portforwardtest.Pod{Address: "127.0.0.1:1"})
	for name, tc := range map[string]struct {
		kubeconfig, address string
		code                int
		want                string
	}{
		"no kubeconfig":   {cluster.Kubeconfig + ".none", kubeRunner, failure.RunnerFailed, "there is no kubeconfig: set $KUBECONFIG"},
		"no such context": {cluster.Kubeconfig, "kube:other/ns/runner", failure.RunnerFailed, `the kubeconfig has no context "other"`},
		"no such service": {cluster.Kubeconfig, "kube:ns/runner", failure.RunnerFailed, "there is no Service runner in namespace ns"},
		"no ready pod":    {cluster.Kubeconfig, kubeRunner, failure.RunnerFailed, "no pod of Service porch-system/function-runner is ready"},
		"forbidden":       {forbidding.Kubeconfig, kubeRunner, failure.RunnerFailed, "you may not create pods/portforward in namespace porch-system"},
		"nobody listens":  {refusing.Kubeconfig, kubeRunner, failure.RunnerFailed, "connection refused"},
		"no namespace":    {cluster.Kubeconfig, "kube:runner", failure.Failed, `"runner" has no namespace`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newPackage(t, nil)
			before := snapshot(t, dir)
			got := invocation{
				args: []string{"render", dir, "--runner", tc.address}, environ: []string{"KUBECONFIG=" + tc.kubeconfig},
			}.run(t.Context(), t)
			if got.code != tc.code || strings.Count(got.err, "\n") != 1 {
				t.Errorf("exit code %d, want %d", got.code, tc.code)
			}
			contains(t, got.err, tc.want)
			if tc.code == failure.RunnerFailed {
				contains(t, got.err, "error: the function runner at "+tc.address+" cannot be used: ")
			}
			unchanged(t, dir, before)
		})
	}
}

// A connection that is lost in the middle of a command is replaced by one to another pod, which the command does not notice.
func TestRunnerInClusterReconnects(t *testing.T) {
	t.Parallel()
	address := serve(t, func(s *grpc.Server) { evaluatorgrpc.RegisterFunctionEvaluatorServer(s, porch{}) })
	cluster := portforwardtest.Start(t)
	for _, pod := range []string{"a", "b"} {
		cluster.Set(pod, portforwardtest.Pod{Address: address})
	}
	p := &program.Program{Environ: []string{"KUBECONFIG=" + cluster.Kubeconfig}}
	evaluator, disconnect, err := runner.ConnectTo(t.Context(), p, &runner.Flags{Address: kubeRunner})
	if err != nil {
		t.Fatal(err)
	}
	defer disconnect()
	for range 3 {
		if _, err := evaluator.Evaluate(t.Context(), evaluation.Request{Image: "echo", ResourceList: []byte("apiVersion: v1\nkind: List\n")}); err != nil {
			t.Fatal(err)
		}
		reached := cluster.Reached()
		cluster.Cut(reached[len(reached)-1])
	}
	if reached := cluster.Reached(); len(reached) < 3 || reached[0] == reached[1] {
		t.Errorf("reached the pods %v", reached)
	}
}

// With TLS, the function runner's certificate must be for the Service's DNS name.
func TestRunnerInClusterWithTLS(t *testing.T) {
	t.Parallel()
	authority := certificatestest.New(t, "authority")
	good, goodKey := authority.Pair(t, t.TempDir(), 2*time.Hour, "spiffe://test/krmfn")
	for host, code := range map[string]int{
		portforwardtest.Name + "." + portforwardtest.Namespace + ".svc": failure.OK, "another.svc": failure.RunnerFailed,
	} {
		address, trusted := secured(t, authority, "spiffe://test/*", host)
		cluster := portforwardtest.Start(t)
		cluster.Set("a", portforwardtest.Pod{Address: address})
		got := krmfn(t, "render", newPackage(t, nil), "--kubeconfig", cluster.Kubeconfig, "--runner", kubeRunner,
			"--runner-ca", trusted, "--runner-cert", good, "--runner-key", goodKey)
		if got.code != code {
			t.Errorf("exit code %d, want %d: %s", got.code, code, got.err)
		}
		if code != failure.OK {
			contains(t, got.err, "is not valid for function-runner.porch-system.svc")
		}
	}
}
