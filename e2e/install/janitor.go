// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

// Janitor is a pod janitor that runs as a process outside the cluster, with admin permissions, and sweeps periodically.
type Janitor struct {
	cmd         *exec.Cmd
	dir         string
	diagnostics bytes.Buffer
}

// Swept describes the action of a pod janitor on an object.
type Swept struct{ Kind, Name, Image, Reason, Detail, Action string }

// reports is the name of the file with a pod janitor's reports.
const reports = "reports.json"

// StartJanitor starts a pod janitor with additional flags. The caller must call Stop.
func (i *Installation) StartJanitor(ctx context.Context, flags ...string) (*Janitor, error) {
	program, err := binaries.Built(binaries.PodJanitor)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "krmfn-janitor-")
	if err != nil {
		return nil, err
	}
	out, err := os.Create(filepath.Join(dir, reports))
	if err != nil {
		return nil, err
	}
	defer out.Close() //nolint:errcheck // the process has its own
	j := &Janitor{dir: dir}
	arguments := append([]string{"--kubeconfig=" + i.helm.kubeconfig, "--namespace=" + i.Release.FunctionNamespace, "--format=json"}, flags...)
	j.cmd = exec.CommandContext(context.WithoutCancel(ctx), program, arguments...)
	j.cmd.Stdout, j.cmd.Stderr = out, &j.diagnostics
	if err := j.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the pod janitor: %w", err)
	}
	return j, nil
}

// Reports returns the number of sweeps and the objects that they changed. It omits objects that were left unchanged.
func (j *Janitor) Reports() (sweeps int, all []Swept, err error) {
	text, err := os.ReadFile(filepath.Join(j.dir, reports))
	if err != nil {
		return 0, nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	for decoder.More() {
		var report struct{ Objects []Swept }
		if err := decoder.Decode(&report); err != nil {
			// The process may still be writing the last report.
			break
		}
		sweeps++
		for _, object := range report.Objects {
			if object.Action != "left" {
				all = append(all, object)
			}
		}
	}
	return sweeps, all, nil
}

// Stop stops the pod janitor with SIGTERM, as Kubernetes does. It returns an error if the process does not exit with code 0.
func (j *Janitor) Stop() error {
	defer os.RemoveAll(j.dir) //nolint:errcheck // a temporary directory
	if err := j.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the pod janitor: %w: %s", err, j.diagnostics.String())
	}
	kill := time.AfterFunc(settleTimeout, func() { _ = j.cmd.Process.Kill() })
	defer kill.Stop()
	if err := j.cmd.Wait(); err != nil {
		return fmt.Errorf("pod janitor: %w: %s", err, j.diagnostics.String())
	}
	return nil
}
