// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// one returns the task of a list that must have exactly one. An empty list means an empty package with the name given.
func one(tasks []Task, name string) (Task, error) {
	switch {
	case len(tasks) == 0:
		return Task{Type: TaskInit, Mutation: Init{Name: name}.Mutate}, nil
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
