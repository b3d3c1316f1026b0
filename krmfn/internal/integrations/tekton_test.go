// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package integrations_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// task has the fields of a Task that ours uses.
type task struct {
	APIVersion string                `json:"apiVersion"`
	Kind       string                `json:"kind"`
	Metadata   struct{ Name string } `json:"metadata"`
	Spec       struct {
		Description string `json:"description"`
		Params      []struct {
			Name        string `json:"name"`
			Type        string `json:"type"`
			Description string `json:"description"`
			Default     any    `json:"default"`
		} `json:"params"`
		Workspaces []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"workspaces"`
		Steps []taskStep `json:"steps"`
	} `json:"spec"`
}

type taskStep struct {
	Name            string                  `json:"name"`
	Image           string                  `json:"image"`
	WorkingDir      string                  `json:"workingDir"`
	Command         []string                `json:"command"`
	Args            []string                `json:"args"`
	Env             []corev1.EnvVar         `json:"env"`
	SecurityContext *corev1.SecurityContext `json:"securityContext"`
}

// line is the command line of a step, with params in place of their names, as Tekton puts them there.
func (s taskStep) line(params map[string][]string) []string {
	line := s.Command
	for _, arg := range s.Args {
		if name, ok := strings.CutPrefix(arg, "$(params."); ok && strings.HasSuffix(name, "[*])") {
			line = append(line, params[strings.TrimSuffix(name, "[*])")]...)
			continue
		}
		for name, value := range params {
			if len(value) == 1 {
				arg = strings.ReplaceAll(arg, "$(params."+name+")", value[0])
			}
		}
		line = append(line, arg)
	}
	return line
}

func TestTekton(t *testing.T) {
	t.Parallel()
	var task task
	read(t, "integrations/tekton/task.yaml", &task)
	if task.APIVersion != "tekton.dev/v1" || task.Kind != "Task" || len(task.Spec.Steps) != 1 || len(task.Spec.Workspaces) != 1 {
		t.Fatalf("got %+v", task)
	}
	defaults := map[string][]string{}
	for _, p := range task.Spec.Params {
		if text, ok := p.Default.(string); ok {
			defaults[p.Name] = []string{text}
		}
		if p.Description == "" || p.Default == nil || (p.Type == "array") == (defaults[p.Name] != nil) {
			t.Errorf("param %+v", p)
		}
	}
	if image := defaults["image"]; image[0] != "ghcr.io/krmfn/krmfn:"+release(t) {
		t.Errorf("the image is %s", image)
	}
	step := task.Spec.Steps[0]
	if step.WorkingDir != "$(workspaces."+task.Spec.Workspaces[0].Name+".path)" {
		t.Errorf("it works in %s", step.WorkingDir)
	}
	workspace := t.TempDir()
	newPackage(t, filepath.Join(workspace, "shop"))
	environ := []string{"PATH=" + install(t), "HOME=" + t.TempDir()}
	params := func(check string, args ...string) map[string][]string {
		return map[string][]string{"dir": {"shop"}, "check": {check}, "args": args}
	}
	if got := execute(t, workspace, environ, step.line(params("true"))...); got.Code != 5 {
		t.Errorf("a check before the render: %+v", got)
	}
	if got := execute(t, workspace, environ, step.line(params("false", "--no-status", "--quiet"))...); got.Code != 0 || got.Err != "" {
		t.Errorf("a render: %+v", got)
	}
	if text, err := os.ReadFile(filepath.Join(workspace, "shop", "web.yaml")); err != nil || string(text) != rendered {
		t.Errorf("%v, rendered:\n%s", err, text)
	}
	if got := execute(t, workspace, environ, step.line(params("true"))...); got.Code != 0 {
		t.Errorf("a check after the render: %+v", got)
	}
	if text, err := os.ReadFile(filepath.Join(workspace, "shop", "Kptfile")); err != nil || string(text) != kptfile {
		t.Errorf("%v, with --no-status the Kptfile is\n%s", err, text)
	}
}
