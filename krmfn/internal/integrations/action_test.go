// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package integrations_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// action has the fields of an action.yml that ours uses.
type action struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Inputs      map[string]struct {
		Description string `json:"description"`
		Default     string `json:"default"`
	} `json:"inputs"`
	Runs struct {
		Using string `json:"using"`
		Steps []struct {
			Name  string            `json:"name"`
			If    string            `json:"if"`
			Shell string            `json:"shell"`
			Env   map[string]string `json:"env"`
			Run   string            `json:"run"`
		} `json:"steps"`
	} `json:"runs"`
}

var input = regexp.MustCompile(`^\$\{\{ inputs\.(\w+) \}\}$`)

// run runs the steps as GitHub does, and returns what the last one left that ran.
func (a *action) run(t *testing.T, dir string, given map[string]string) (got outcome) {
	t.Helper()
	path := os.Getenv("PATH")
	temporary := t.TempDir()
	paths := filepath.Join(temporary, "path")
	for _, step := range a.Runs.Steps {
		environ := []string{"PATH=" + path, "HOME=" + temporary, "RUNNER_TEMP=" + temporary, "GITHUB_PATH=" + paths}
		for name, value := range step.Env {
			match := input.FindStringSubmatch(value)
			if match == nil {
				t.Fatalf("%s is %s", name, value)
			}
			of, known := a.Inputs[match[1]]
			text, ok := given[match[1]]
			if !ok {
				text = of.Default
			}
			if !known {
				t.Errorf("there is no input %s", match[1])
			}
			environ = append(environ, name+"="+text)
		}
		if strings.Contains(step.Run, "${{") {
			t.Errorf("%s: an input in a script may be any command", step.Name)
		}
		got = execute(t, dir, environ, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		if got.Code != 0 {
			return got
		}
		if added, err := os.ReadFile(paths); err == nil {
			path = strings.TrimSpace(string(added)) + ":" + path
		}
	}
	return got
}

// releases serves a release of krmfn whose checksums are right, or wrong.
func releases(t *testing.T, version string, right bool) string {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	// A link in the archive would be as good, but for tar's distrust of absolute ones.
	script := "#!/bin/sh\nexec " + filepath.Join(install(t), "krmfn") + " \"$@\"\n"
	if err := archive.WriteHeader(&tar.Header{Name: "krmfn", Mode: 0o755, Size: int64(len(script))}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write([]byte(script)); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("krmfn-%s-%s-%s.tar.gz", version, runtime.GOOS, runtime.GOARCH)
	content := packed.Bytes()
	sum := sha256.Sum256(content)
	if !right {
		content = append(content, 'x')
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /download/"+version+"/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
	mux.HandleFunc("GET /download/"+version+"/checksums.txt", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "%x  other.tar.gz\n%x  %s\n", sha256.Sum256(nil), sum, name)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/download"
}

func TestAction(t *testing.T) {
	t.Parallel()
	var a action
	read(t, "integrations/github-action/action.yml", &a)
	version := release(t)
	if a.Runs.Using != "composite" || a.Inputs["version"].Default != version {
		t.Errorf("it uses %s and installs %s", a.Runs.Using, a.Inputs["version"].Default)
	}
	dir := t.TempDir()
	newPackage(t, filepath.Join(dir, "my package"))
	given := map[string]string{"url": releases(t, version, true), "dir": "my package"}
	if got := a.run(t, dir, given); got.Code != 5 || !strings.Contains(got.Out+got.Err, "web.yaml") {
		t.Errorf("a check before the render: %+v", got)
	}
	given["args"] = "render --no-status"
	if got := a.run(t, dir, given); got.Code != 0 {
		t.Errorf("a render: %+v", got)
	}
	delete(given, "args")
	if got := a.run(t, dir, given); got.Code != 0 {
		t.Errorf("a check after the render: %+v", got)
	}
	given["url"] = releases(t, version, false)
	if got := a.run(t, dir, given); got.Code != 1 || !strings.Contains(got.Out+got.Err, "FAILED") {
		t.Errorf("a wrong checksum: %+v", got)
	}
	given["version"] = "v9.9.9"
	if got := a.run(t, dir, given); got.Code == 0 {
		t.Errorf("a release that does not exist: %+v", got)
	}
}

// The hook's entry is a check, which is given the arguments of the user's configuration.
func TestPreCommitHook(t *testing.T) {
	t.Parallel()
	var hooks []struct {
		ID            string `json:"id"`
		Name          string `json:"name"`
		Description   string `json:"description"`
		Entry         string `json:"entry"`
		Language      string `json:"language"`
		PassFilenames bool   `json:"pass_filenames"`
		Files         string `json:"files"`
	}
	read(t, ".pre-commit-hooks.yaml", &hooks)
	hook := hooks[0]
	files := regexp.MustCompile(hook.Files)
	if hook.Language != "system" || hook.PassFilenames || !files.MatchString("a/Kptfile") || !files.MatchString("Kptfile") || files.MatchString("README.md") {
		t.Errorf("got %+v", hook)
	}
	dir := t.TempDir()
	newPackage(t, filepath.Join(dir, "shop"))
	environ := []string{"PATH=" + install(t), "HOME=" + dir}
	if got := execute(t, dir, environ, append(strings.Fields(hook.Entry), "shop")...); got.Code != 5 || !strings.Contains(got.Out+got.Err, "web.yaml") {
		t.Errorf("got %+v", got)
	}
}
