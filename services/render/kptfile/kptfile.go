// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package kptfile decodes, validates and edits Kptfiles. It uses kpt's API types, version kpt.dev/v1.
//
// [Parse] decodes a Kptfile strictly, [Validate] checks its pipeline, and [Explain] formats their errors like kpt. [Patch] and
// [SetRendered] edit a Kptfile and keep the comments and the order of fields of its other parts.
package kptfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// FileName is the name of a Kptfile. A directory with a Kptfile is a package.
const FileName = kptfilev1.KptFileName

// Parse decodes the first document of a Kptfile. An unknown or duplicate field is an error that names the field. dir is the
// package's directory, for error messages.
//
// Every error is a *ReadError. Its cause is a *VersionError for a version that needs a migration and a *TypeError for a
// resource that is not a Kptfile.
func Parse(dir string, content []byte) (*kptfilev1.KptFile, error) {
	kf, err := parse(content)
	if err != nil {
		return nil, &ReadError{Dir: dir, Err: err}
	}
	return kf, nil
}

func parse(content []byte) (*kptfilev1.KptFile, error) {
	content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	// Check the version first: a file of another version may have fields that are unknown here.
	var head yaml.TypeMeta
	if err := yaml.NewDecoder(bytes.NewReader(content)).Decode(&head); err != nil {
		return nil, decodeError(err)
	}
	if err := checkType(head); err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	kf := &kptfilev1.KptFile{}
	if err := decoder.Decode(kf); err != nil {
		return nil, decodeError(err)
	}
	return kf, nil
}

func decodeError(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	return err
}

func checkType(head yaml.TypeMeta) error {
	group, version, _ := strings.Cut(head.APIVersion, "/")
	switch {
	case group != kptfilev1.KptFileGVK().Group || head.Kind != kptfilev1.KptFileGVK().Kind:
	case version == kptfilev1.KptFileGVK().Version:
		return nil
	case version == "v1alpha1" || version == "v1alpha2":
		return &VersionError{Version: version}
	}
	return &TypeError{Type: fmt.Sprintf("%s, Kind=%s", head.APIVersion, head.Kind)}
}

// ReadError reports that a Kptfile could not be read.
type ReadError struct {
	// Dir is the directory of the package.
	Dir string
	// Err is the cause.
	Err error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("error reading Kptfile at %q: %v", e.Dir, e.Err)
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// ErrMissing is the cause of a *ReadError if the directory has no Kptfile.
var ErrMissing = errors.New("no Kptfile in this directory")

// VersionError reports a Kptfile version that kpt no longer supports.
type VersionError struct {
	// Version is "v1alpha1" or "v1alpha2".
	Version string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("old resource version %q found in Kptfile", e.Version)
}

// TypeError reports that a file named Kptfile contains a different type of resource.
type TypeError struct {
	// Type is the type found, in the form "apiVersion, Kind=kind".
	Type string
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("unknown resource type %q found in Kptfile", e.Type)
}

// Explain returns the message that kpt prints for an error of this package, with advice. The message may have several lines. ok
// is false for other errors, whose own text is sufficient.
func Explain(err error) (text string, ok bool) {
	if invalid, ok := errors.AsType[*kptfilev1.ValidateError](err); ok {
		return invalid.Error(), true
	}
	var read *ReadError
	if !errors.As(err, &read) {
		return "", false
	}
	var version *VersionError
	var unknown *TypeError
	switch {
	case errors.Is(read.Err, ErrMissing):
		return fmt.Sprintf("Error: No Kptfile found at %q.", read.Dir), true
	case errors.As(read.Err, &version):
		return fmt.Sprintf("Error: Kptfile at %q has an old version (%q) of the Kptfile schema.\n%s",
			read.Dir, version.Version, migration(version.Version)), true
	case errors.As(read.Err, &unknown):
		return fmt.Sprintf("Error: Kptfile at %q has an unknown resource type (%q).", read.Dir, unknown.Type), true
	default:
		return fmt.Sprintf("Error: Kptfile at %q can't be read.\n\nDetails:\n%v", read.Dir, read.Err), true
	}
}

func migration(version string) string {
	if version == "v1alpha1" {
		return "Please update the package to the latest format by following https://kpt.dev/installation/migration."
	}
	return `Please run "kpt fn eval <PKG_PATH> -i ghcr.io/kptdev/krm-functions-catalog/fix:latest ` +
		`--include-meta-resources" to upgrade the package and retry.`
}
