// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
	"github.com/krmfn/krmfn/internal/wrapperapi"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
)

// hostile is a function that tries to access its wrapper server. It prints the resources that it could access.
const hostile = `
parent=/proc/$PPID
case $(cat $parent/comm) in wrapper-server) ;; *) echo "# $parent is not the wrapper server" ;; esac
cat $parent/environ >/dev/null 2>&1 && echo "# environment"
dd if=$parent/mem of=/dev/null bs=1 count=1 skip=4194304 2>/dev/null && echo "# memory"
cat $parent/maps 2>/dev/null | grep -q . && echo "# addresses"
cat $parent/auxv >/dev/null 2>&1 && echo "# auxiliary vector"
ls $parent/fd/ 2>/dev/null | grep -q . && echo "# files and connections"
ls $parent/map_files/ 2>/dev/null | grep -q . && echo "# mapped files"
(: >$parent/clear_refs) 2>/dev/null && echo "# page references"
(echo 1000 >$parent/oom_score_adj) 2>/dev/null && echo "# out-of-memory score"
env | grep -q '^KRMFN_\|CERTIFICATE' && echo "# variables of the wrapper server"
cat >/dev/null
printf 'kind: ResourceList\nitems: []\n'
`

// A function runs as the same user as its wrapper server, but can read neither the server's private key nor other callers' requests.
func TestHostileFunction(t *testing.T) {
	t.Parallel()
	authority := certificatestest.New(t, "authority")
	certificate, key := authority.Issue(t, 24*time.Hour, wrapperapi.RunnerName)
	pair, err := tls.X509KeyPair(append(certificate, authority.PEM...), key)
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := x509.ParseCertificate(pair.Certificate[1])
	if err != nil {
		t.Fatal(err)
	}
	address := serveHostile(t, "KRMFN_POD_UID=1", wrapperapi.AuthoritiesVariable+"="+wrapperapi.Fingerprint(trusted))
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true,
	})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // only the response matters
	resp, err := wrapperv1grpc.NewFunctionServiceClient(conn).Evaluate(t.Context(), &wrapperv1.EvaluateRequest{}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(resp.GetResourceList()); got != "kind: ResourceList\nitems: []\n" {
		t.Errorf("the function accessed:\n%s\n%v", got, resp.GetEvaluation())
	}
}

// serveHostile runs a wrapper server with the hostile function, as the user nobody if the test is root, and returns its address.
func serveHostile(t *testing.T, environ ...string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wrapper-server-*") //nolint:usetesting // the user nobody needs access, which a TempDir does not grant
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "wrapper-server")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address, health := freeAddress(t), freeAddress(t)
	command := exec.CommandContext(t.Context(), binary, "--tls", "--port", port(address), "--health-port", port(health), "--standby-processes=0",
		"--", "/bin/sh", "-c", hostile)
	command.Env, command.Stderr, command.Dir = append(environ, "PATH="+os.Getenv("PATH")), t.Output(), "/"
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 {
		// Root can access everything. Functions in function pods are not root, or lack the capabilities.
		command.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Wait() })
	return address
}

func port(address string) string { return address[strings.LastIndex(address, ":")+1:] }
