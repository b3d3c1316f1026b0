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
