// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlprint"
	"github.com/krmfn/krmfn/services/packagerevision/packagecontext"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// TaskType is the reason for a change of a draft's files, with the values of Porch's API.
type TaskType string

// Tasks that create a revision, and reasons for later changes.
const (
	TaskInit    TaskType = "init"
	TaskClone   TaskType = "clone"
	TaskEdit    TaskType = "edit"
	TaskUpgrade TaskType = "upgrade"
	TaskRender  TaskType = "render"
	TaskPush    TaskType = "push"
)

// Mutation is the change that a task makes. It gets all files of the draft and returns all new files. It may modify the map.
type Mutation func(ctx context.Context, files map[string]string) (map[string]string, error)

// Task creates a revision.
type Task struct {
	// Type is one of the types that create revisions.
	Type TaskType
	// Mutation is the change. Init.Mutate and Edit provide the mutations of their types. The host provides those for clone and
	// upgrade, which need access to upstream repositories.
	Mutation Mutation
}

// soleTask returns the only task of a list. For an empty list, it returns the task that creates an empty package, whose name is
// the last element of its path.
func soleTask(tasks []Task, at string) (Task, error) {
	switch {
	case len(tasks) == 0 && at == "":
		return Task{}, errors.New("cannot create an empty package without a path: its last element is the package's name")
	case len(tasks) == 0:
		return Task{Type: TaskInit, Mutation: Init{Name: path.Base(at)}.Mutate}, nil
	case len(tasks) > 1:
		return Task{}, errors.New("task list must contain exactly 1 task")
	case tasks[0].Mutation == nil:
		return Task{}, fmt.Errorf("the %s task has no mutation", tasks[0].Type)
	}
	return tasks[0], nil
}

// Edit returns the mutation of an edit: the draft starts with the files of another revision of the package.
func Edit(source map[string]string) Mutation {
	return func(context.Context, map[string]string) (map[string]string, error) { return maps.Clone(source), nil }
}

// Init creates an empty package, like `kpt pkg init`.
type Init struct {
	// Name is the package's name, which is the last element of its path.
	Name string
	// Description, Keywords and Site are written to the Kptfile. An empty Description means kpt's default.
	Description string
	Keywords    []string
	Site        string
}

// placeholderName is the name in the context of a package that is not deployed.
const placeholderName = "example"

// Mutate is the Mutation. It fails if there is already a Kptfile.
func (i Init) Mutate(_ context.Context, files map[string]string) (map[string]string, error) {
	if _, ok := files[kptfile.FileName]; ok {
		return nil, errors.New("cannot create an empty package: there is already a Kptfile")
	}
	if i.Name == "" {
		return nil, errors.New("cannot create a package without a name")
	}
	if i.Description == "" {
		i.Description = "sample description"
	}
	kf, err := i.kptfile()
	if err != nil {
		return nil, fmt.Errorf("encode the Kptfile of %s: %w", i.Name, err)
	}
	placeholder, err := packagecontext.Placeholder(placeholderName)
	if err != nil {
		return nil, fmt.Errorf("encode the context of %s: %w", i.Name, err)
	}
	if files == nil {
		files = map[string]string{}
	}
	files[kptfile.FileName] = kf
	files[packagecontext.FileName] = placeholder
	if _, ok := files[readmeFile]; !ok {
		files[readmeFile] = i.readme()
	}
	return files, nil
}

func (i Init) kptfile() (string, error) {
	kf := kptfilev1.KptFile{Info: &kptfilev1.PackageInfo{Site: i.Site, Description: i.Description, Keywords: i.Keywords}}
	kf.APIVersion, kf.Kind = kptfilev1.KptFileGVK().ToAPIVersionAndKind()
	kf.Name = i.Name
	kf.Annotations = map[string]string{"config.kubernetes.io/local-config": "true"}
	node, err := yamlprint.Value(kf)
	if err != nil {
		return "", err
	}
	content, err := yamlprint.Print(node, yaml.WideSequenceStyle)
	return string(content), err
}

const readmeFile = "README.md"

func (i Init) readme() string {
	return strings.NewReplacer("NAME", i.Name, "DESCRIPTION", i.Description).Replace(`# NAME

DESCRIPTION

The Kptfile lists the functions that the package's resources go through. Run them with:

    kpt fn render NAME
`)
}
