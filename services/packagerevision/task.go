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

	"github.com/krmfn/krmfn/services/packagerevision/packagecontext"
	"github.com/krmfn/krmfn/services/render/kptfile"
	"github.com/krmfn/krmfn/services/render/yamlprint"
)

// TaskType is why the files of a draft change, in the words of Porch's API.
type TaskType string

// The tasks that create a revision, and the reasons for what happens to one later.
const (
	TaskInit    TaskType = "init"
	TaskClone   TaskType = "clone"
	TaskEdit    TaskType = "edit"
	TaskUpgrade TaskType = "upgrade"
	TaskRender  TaskType = "render"
	TaskPush    TaskType = "push"
)

// Mutation is the change that a task makes: given all files of the draft, it returns the files that are to take their place.
// It may change the map that it is given.
type Mutation func(ctx context.Context, files map[string]string) (map[string]string, error)

// Task is how a revision comes to be.
type Task struct {
	// Type is one of those that create.
	Type TaskType
	// Mutation is the change. Init and Edit make those of their types; cloning and upgrading know about upstreams, and so
	// are the host's.
	Mutation Mutation
}

// soleTask returns the task of a list that must have exactly one. An empty list means an empty package, with the last element of
// its path as its name.
func soleTask(tasks []Task, at string) (Task, error) {
	switch {
	case len(tasks) == 0 && at == "":
		return Task{}, errors.New("cannot make an empty package without a path: its last element is the package's name")
	case len(tasks) == 0:
		return Task{Type: TaskInit, Mutation: Init{Name: path.Base(at)}.Mutate}, nil
	case len(tasks) > 1:
		return Task{}, errors.New("task list must contain exactly 1 task")
	case tasks[0].Mutation == nil:
		return Task{}, fmt.Errorf("the %s task has no mutation", tasks[0].Type)
	}
	return tasks[0], nil
}

// Edit returns the mutation of an edit: the draft begins as another revision of the package, whose files are given.
func Edit(source map[string]string) Mutation {
	return func(context.Context, map[string]string) (map[string]string, error) { return maps.Clone(source), nil }
}

// Init makes an empty package, as `kpt pkg init` does.
type Init struct {
	// Name is the package's name, the last element of its path.
	Name string
	// Description, Keywords and Site go to the Kptfile. The description's default is the one of kpt.
	Description string
	Keywords    []string
	Site        string
}

// placeholderName is the name in the context of a package that has not been deployed.
const placeholderName = "example"

// Mutate is the Mutation. It fails where there is a package already.
func (i Init) Mutate(_ context.Context, files map[string]string) (map[string]string, error) {
	if _, ok := files[kptfile.FileName]; ok {
		return nil, errors.New("cannot make an empty package: there is a Kptfile already")
	}
	if i.Name == "" {
		return nil, errors.New("cannot make a package without a name")
	}
	if i.Description == "" {
		i.Description = "sample description"
	}
	kf, err := i.kptfile()
	if err != nil {
		return nil, fmt.Errorf("make the Kptfile of %s: %w", i.Name, err)
	}
	placeholder, err := packagecontext.Placeholder(placeholderName)
	if err != nil {
		return nil, fmt.Errorf("make the context of %s: %w", i.Name, err)
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
