// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// TestCases runs the end-to-end cases of testdata/cases. A case has the form of kpt's own: a directory with .expected in it
// is a package; .expected says how krmfn is called on a copy of it, and what must come of that, whether functions are evaluated
// in the command's process or in their own. Ours are archives of such
// directories, one file for each case; a directory of kpt's runs as it is.
func TestCases(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "krmfn")
	executable, err := os.Executable()
	if err == nil {
		err = os.Symlink(executable, program)
	}
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	run := func(c testCase) {
		n++
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.program = program
			c.read(t)
			c.run(t)
			c.isolated = true
			c.run(t)
		})
	}
	err = filepath.WalkDir("testdata/cases", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == expectedDir:
			dir := filepath.Dir(file)
			run(testCase{name: filepath.Base(dir), dir: dir})
			return fs.SkipDir
		case filepath.Ext(file) == ".txtar":
			run(testCase{name: strings.TrimSuffix(entry.Name(), ".txtar"), archive: file})
		}
		return nil
	})
	if err != nil || n == 0 {
		t.Errorf("%d cases, error %v", n, err)
	}
}

const expectedDir = ".expected"

// testCase is a case, with the fields of kpt's config.yaml that there is a case for.
type testCase struct {
	TestType        string            `yaml:"testType"`
	ExitCode        int               `yaml:"exitCode"`
	StdErr          string            `yaml:"stdErr"`
	StdErrRegEx     string            `yaml:"stdErrRegEx"`
	StdErrStrip     []string          `yaml:"stdErrStripLines"`
	StdOut          string            `yaml:"stdOut"`
	ActualStrip     []string          `yaml:"actualStripLines"`
	DiffStripRegEx  string            `yaml:"diffStripRegEx"`
	ImagePullPolicy string            `yaml:"imagePullPolicy"`
	AllowExec       bool              `yaml:"allowExec"`
	NoTruncate      bool              `yaml:"disableOutputTruncate"`
	Exec            string            `yaml:"execPath"`
	Image           string            `yaml:"image"`
	Tag             string            `yaml:"tag"`
	Args            map[string]string `yaml:"args"`
	Network         bool              `yaml:"network"`
	IncludeMeta     bool              `yaml:"includeMetaResources"`
	FnConfig        string            `yaml:"fnConfig"`

	// name is that of the directory, or of the archive that is unpacked into one; dir is the directory, program what is called.
	name, archive, dir, program string
	// isolated says that each function has a process of its own.
	isolated bool
}

// read unpacks the archive, if there is one, and reads config.yaml.
func (c *testCase) read(t *testing.T) {
	t.Helper()
	if c.archive != "" {
		c.unpack(t)
	}
	content, err := os.ReadFile(c.expected("config.yaml"))
	if err == nil {
		err = yaml.Unmarshal(content, c)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// unpack writes the files of the archive. Those that name an interpreter can be executed.
func (c *testCase) unpack(t *testing.T) {
	t.Helper()
	c.dir = filepath.Join(t.TempDir(), c.name)
	archive, err := txtar.ParseFile(c.archive)
	if err == nil {
		err = txtar.Write(archive, c.dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if bytes.HasPrefix(f.Data, []byte("#!")) {
			if err := os.Chmod(filepath.Join(c.dir, f.Name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (c *testCase) expected(name string) string { return filepath.Join(c.dir, expectedDir, name) }

// has tells whether the case has a file of what is expected, or of how to get there.
func (c *testCase) has(name string) bool {
	_, err := os.Stat(c.expected(name))
	return err == nil
}

// run runs the case on a fresh copy and compares.
func (c *testCase) run(t *testing.T) {
	t.Helper()
	temporary := t.TempDir()
	pkg, results := filepath.Join(temporary, c.name), filepath.Join(temporary, "results")
	if err := os.CopyFS(pkg, os.DirFS(c.dir)); err != nil {
		t.Fatal(err)
	}
	git(t, pkg, "init", "-q")
	first := commit(t, pkg)
	c.script(t, pkg, "setup.sh")
	cmd := exec.CommandContext(t.Context(), c.program, c.args(pkg, results)...)
	if c.has("exec.sh") {
		cmd = c.bash(t, pkg, "exec.sh")
	}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != c.ExitCode {
		t.Errorf("exit code %d, want %d: %v", code, c.ExitCode, err)
	}
	c.script(t, pkg, "teardown.sh")
	commit(t, pkg)
	c.compareStreams(t, stdout.String(), normal(stderr.String(), temporary))
	c.compare(t, "diff.patch", c.stripDiff(git(t, pkg, "diff", first, "HEAD")))
	if c.has("results.yaml") {
		content, err := os.ReadFile(filepath.Join(results, "results.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		c.compare(t, "results.yaml", strip(string(content), c.ActualStrip))
	}
}
