// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package kptfile reads the Kptfile of a package, strictly, and checks its pipeline. The types are those of kpt's API,
// version kpt.dev/v1.
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

// FileName is the name of a Kptfile; a directory that has one is a package.
const FileName = kptfilev1.KptFileName

// Parse decodes the first document of a Kptfile. Everything in it must be known: an unknown or doubled field is an error
// that names it. dir is the directory of the package, for messages.
//
// Every error is a *ReadError; its cause is a *VersionError for versions that need a migration, and a *TypeError for
// anything that is no Kptfile.
func Parse(dir string, content []byte) (*kptfilev1.KptFile, error) {
	kf, err := parse(content)
	if err != nil {
		return nil, &ReadError{Dir: dir, Err: err}
	}
	return kf, nil
}

func parse(content []byte) (*kptfilev1.KptFile, error) {
	content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	// The version comes first: what an older version calls its fields is not the matter then.
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

// ReadError says that a Kptfile could not be read.
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

// ErrMissing is the cause of a *ReadError where a directory has no Kptfile.
var ErrMissing = errors.New("no Kptfile in this directory")

// VersionError says that a Kptfile is of a version that kpt has given up.
type VersionError struct {
	// Version is "v1alpha1" or "v1alpha2".
	Version string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("old resource version %q found in Kptfile", e.Version)
}

// TypeError says that a file of the name Kptfile holds something else.
type TypeError struct {
	// Type is what it holds: "apiVersion, Kind=kind".
	Type string
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("unknown resource type %q found in Kptfile", e.Type)
}

// Explain words an error of this package for people, in kpt's words and with what to do about it. It may have several
// lines. ok is false for other errors, which speak for themselves.
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
