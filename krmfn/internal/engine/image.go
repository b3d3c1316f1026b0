// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Policy controls when an image is pulled.
type Policy string

// Policies, with the meaning of kpt's --image-pull-policy.
const (
	Always       Policy = "Always"
	IfNotPresent Policy = "IfNotPresent"
	Never        Policy = "Never"
)

// ImageError reports that the engine does not have an image and cannot pull it. It wraps *evaluation.NotFoundError, so that a chain
// asks the next evaluator.
type ImageError struct {
	// Engine is the engine's name. Image is the image of the request.
	Engine, Image string
	// Err is the cause.
	Err error
}

func (e *ImageError) Error() string { return fmt.Sprintf("%s: image %s: %v", e.Engine, e.Image, e.Err) }

// Unwrap returns an *evaluation.NotFoundError and Err.
func (e *ImageError) Unwrap() []error {
	return []error{&evaluation.NotFoundError{Image: e.Image}, e.Err}
}

// image is an image of the engine.
type image struct {
	// ref is the engine's name of the image. id is the digest of its config.
	ref, id string
	// command is the entrypoint followed by the cmd.
	command []string
}

// find returns an image. Depending on the policy, it pulls the image first.
func (e *Evaluator) find(ctx context.Context, ref string) (*image, error) {
	failed := func(err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &ImageError{Engine: e.client.Name, Image: ref, Err: err}
	}
	if reference.IsLocal(ref) {
		return nil, failed(errors.New("a container engine cannot run an image from a file: load it with " + e.client.Name + " load, or use the sandbox"))
	}
	if e.options.Policy != Always {
		i, err := e.present(ctx, ref)
		switch {
		case err == nil:
			return i, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case e.options.Policy == Never:
			return nil, failed(errors.New("the image is absent, and the pull policy is Never"))
		}
	}
	if err := e.pull(ctx, ref); err != nil {
		return nil, failed(fmt.Errorf("pull: %w", err))
	}
	i, err := e.inspect(ctx, ref)
	if err != nil {
		return nil, failed(err)
	}
	return i, nil
}

// present returns an image that the engine has. If there is none of this name, and the name has the prefix that is added to short
// names, it tries the short name, because locally built images have only that.
func (e *Evaluator) present(ctx context.Context, ref string) (*image, error) {
	i, err := e.inspect(ctx, ref)
	if err == nil {
		return i, nil
	}
	short, ok := strings.CutPrefix(ref, strings.TrimRight(e.options.Prefix, "/")+"/")
	if !ok || e.options.Prefix == "" || strings.ContainsAny(short, "/@") {
		return nil, err
	}
	i, err = e.inspect(ctx, short)
	if err == nil {
		e.options.warn(fmt.Sprintf("%s has no image %s: running the local image %s", e.client.Name, ref, short))
	}
	return i, err
}

// inspect returns an image of the engine.
func (e *Evaluator) inspect(ctx context.Context, ref string) (*image, error) {
	out, err := e.client.output(ctx, "image", "inspect", ref)
	if err != nil {
		return nil, err
	}
	var list []struct {
		ID     string `json:"Id"`
		Config struct{ Entrypoint, Cmd []string }
	}
	if err := json.Unmarshal(out, &list); err != nil || len(list) == 0 {
		return nil, fmt.Errorf("parse the output of %s image inspect: %w", e.client.Name, errors.Join(err, io.ErrUnexpectedEOF))
	}
	id := list[0].ID
	if !strings.Contains(id, ":") {
		id = "sha256:" + id
	}
	command := slices.Concat(list[0].Config.Entrypoint, list[0].Config.Cmd)
	if len(command) == 0 || command[0] == "" {
		return nil, errors.New("it has neither an entrypoint nor a cmd: set ENTRYPOINT to the function's program")
	}
	return &image{ref: ref, id: id, command: command}, nil
}

// pull makes the engine pull an image, and reports the progress.
func (e *Evaluator) pull(ctx context.Context, ref string) error {
	read, write := io.Pipe()
	var last bytes.Buffer
	cmd := e.client.command(ctx, "pull", ref)
	cmd.Stdout, cmd.Stderr = write, io.MultiWriter(write, &tail{&last})
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		e.options.pulling(ref, "")
		scanner := bufio.NewScanner(read)
		scanner.Split(scanProgress)
		for scanner.Scan() {
			if line := strings.TrimSpace(scanner.Text()); line != "" {
				e.options.pulling(ref, line)
			}
		}
		// Keep reading after a line that is too long for the scanner: a full pipe would block the engine.
		_, _ = io.Copy(io.Discard, read)
	}()
	err := cmd.Run()
	_ = write.Close()
	<-shown
	e.options.pulled(ref)
	if err != nil {
		return explain(ctx, err, last.Bytes())
	}
	return nil
}

// scanProgress is a bufio.SplitFunc. It splits at line feeds and carriage returns; engines use the latter to redraw progress.
func scanProgress(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// tail keeps the last bytes that are written to it.
type tail struct{ kept *bytes.Buffer }

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	const most = 8 << 10
	t.kept.Write(p)
	if over := t.kept.Len() - most; over > 0 {
		t.kept.Next(over)
	}
	return len(p), nil
}
