// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"cmp"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

var (
	casesDir   = flag.String("cases", "testdata/cases", "directory of the end-to-end cases; kpt's own are in its e2e/testdata")
	kptProgram = flag.String("kpt", "", "run the end-to-end cases with this kpt, too")
)

// TestCases runs the end-to-end cases of a directory. A case has the form of kpt's own: a directory with .expected in it
// is a package; .expected says how kpt is called on a copy of it, and what must come of that. krmfn takes kpt's place, and its
// functions are evaluated in the command's process or in their own. Ours are archives of such directories, one file for
// each case; a directory of kpt's runs as it is.
//
// With -kpt, kpt runs each case, too, and what is expected must come of that, but for what only a later release of kpt does.
// A case that kpt fails says why: it is one of docs/kpt-differences.md.
func TestCases(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal(err)
	}
	tools := []tool{krmfnTool(t, false), krmfnTool(t, true)}
	if *kptProgram != "" {
		tools = append(tools, realKpt(t))
	}
	cases := findCases(t)
	if len(cases) == 0 {
		t.Error("there are no cases")
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := c.read(t.TempDir()); err != nil {
				t.Fatal(err)
			}
			switch runtime := cmp.Or(os.Getenv("KPT_FN_RUNTIME"), "docker"); {
			case c.Skip:
				t.Skip("the case says so")
			case len(c.Runtimes) > 0 && !slices.Contains(c.Runtimes, runtime):
				t.Skipf("it is not for %s", runtime)
			case !c.Sequential:
				t.Parallel()
			}
			for _, p := range tools {
				c.check(t, p)
			}
		})
	}
}

// findCases returns the cases, unread.
func findCases(t *testing.T) (cases []*testCase) {
	t.Helper()
	err := filepath.WalkDir(*casesDir, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == expectedDir:
			dir := filepath.Dir(file)
			cases = append(cases, &testCase{name: filepath.Base(dir), dir: dir})
			return fs.SkipDir
		case filepath.Ext(file) == ".txtar":
			cases = append(cases, &testCase{name: strings.TrimSuffix(entry.Name(), ".txtar"), archive: file})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

const expectedDir = ".expected"

// testCase is a case, with the fields of kpt's config.yaml. What is unknown in it counts as little as in kpt.
type testCase struct {
	TestType        string            `yaml:"testType"`
	ExitCode        int               `yaml:"exitCode"`
	StdErr          string            `yaml:"stdErr"`
	StdErrRegEx     string            `yaml:"stdErrRegEx"`
	StdErrStrip     []string          `yaml:"stdErrStripLines"`
	StdOut          string            `yaml:"stdOut"`
	ActualStrip     []string          `yaml:"actualStripLines"`
	DiffStripRegEx  string            `yaml:"diffStripRegEx"`
	Skip            bool              `yaml:"skip"`
	Sequential      bool              `yaml:"sequential"`
	Runtimes        []string          `yaml:"runtimes"`
	ImagePullPolicy string            `yaml:"imagePullPolicy"`
	AllowExec       bool              `yaml:"allowExec"`
	AllowWasm       bool              `yaml:"allowWasm"`
	NoTruncate      bool              `yaml:"disableOutputTruncate"`
	Exec            string            `yaml:"execPath"`
	Image           string            `yaml:"image"`
	Tag             string            `yaml:"tag"`
	Args            map[string]string `yaml:"args"`
	Network         bool              `yaml:"network"`
	IncludeMeta     bool              `yaml:"includeMetaResources"`
	FnConfig        string            `yaml:"fnConfig"`

	// KptFails is a field of ours: why kpt fails the case.
	KptFails string `yaml:"kptFails"`

	// name is the name of the directory, or of the archive that read unpacks into a directory.
	name, archive, dir string
}

// read unpacks the archive, if there is one, into a directory, and reads config.yaml.
func (c *testCase) read(dir string) error {
	if c.archive != "" {
		c.dir = filepath.Join(dir, c.name)
		if err := unpack(c.archive, c.dir); err != nil {
			return err
		}
	}
	content, err := os.ReadFile(c.expected("config.yaml"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return yaml.Unmarshal(content, c)
}

// unpack writes the files of an archive. Those that name an interpreter can be executed.
func unpack(file, dir string) error {
	archive, err := txtar.ParseFile(file)
	if err == nil {
		err = txtar.Write(archive, dir)
	}
	if err != nil {
		return err
	}
	for _, f := range archive.Files {
		if bytes.HasPrefix(f.Data, []byte("#!")) {
			if err := os.Chmod(filepath.Join(dir, f.Name), 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *testCase) expected(name string) string { return filepath.Join(c.dir, expectedDir, name) }

// has reports whether the case has a file with an expected result or with settings.
func (c *testCase) has(name string) bool {
	_, err := os.Stat(c.expected(name))
	return err == nil
}
