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

// Policy says when an image is pulled.
type Policy string

// The policies, which mean what kpt's --image-pull-policy means.
const (
	Always       Policy = "Always"
	IfNotPresent Policy = "IfNotPresent"
	Never        Policy = "Never"
)

// ImageError says that an engine does not have an image and cannot get it. It is an *evaluation.NotFoundError, too: another evaluator
// may have the image.
type ImageError struct {
	// Engine is the engine's name, Image the image as it was asked for.
	Engine, Image string
	// Err is why.
	Err error
}

func (e *ImageError) Error() string { return fmt.Sprintf("%s: image %s: %v", e.Engine, e.Image, e.Err) }

// Unwrap returns what the error is beside itself, and why.
func (e *ImageError) Unwrap() []error {
	return []error{&evaluation.NotFoundError{Image: e.Image}, e.Err}
}

// image is an image that the engine has.
type image struct {
	// ref is what the engine knows it by, id the digest of its config.
	ref, id string
	// command is the entrypoint and then the cmd.
	command []string
}

// find returns an image, and pulls it first where the policy says so.
func (e *Evaluator) find(ctx context.Context, ref string) (*image, error) {
	failed := func(err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &ImageError{Engine: e.client.Name, Image: ref, Err: err}
	}
	if reference.IsLocal(ref) {
		return nil, failed(errors.New("a container engine runs no images from files: load it with " + e.client.Name + " load, or use the sandbox"))
	}
	if e.options.Policy != Always {
		i, err := e.present(ctx, ref)
		switch {
		case err == nil:
			return i, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case e.options.Policy == Never:
			return nil, failed(errors.New("it is not there, and the pull policy is Never"))
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

// present returns an image that the engine has, by its reference or, where it has the prefix of short names, by its short name: an image
// that was built here has no other.
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
		e.options.warn(fmt.Sprintf("%s has no image %s: its own image %s runs", e.client.Name, ref, short))
	}
	return i, err
}

// inspect returns what the engine knows of an image.
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
		return nil, fmt.Errorf("what %s image inspect says is not understood: %w", e.client.Name, errors.Join(err, io.ErrUnexpectedEOF))
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

// pull has the engine pull an image, and shows its progress.
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
		// A line too long to show must not stop the engine.
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

// scanProgress splits at line feeds and at carriage returns, by which progress is drawn over again.
func scanProgress(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// tail keeps the end of what is written.
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
