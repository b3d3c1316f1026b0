// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kptfile

import (
	"errors"
	"fmt"
	"path"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/krmfn/krmfn/services/images/reference"
)

// ConfigReader checks a functionConfig file and returns an error unless it contains exactly one KRM resource. path is clean,
// relative to the package and inside it.
type ConfigReader func(path string) error

// Validate checks the pipeline of a Kptfile, mutators before validators, and returns the first error. Its cause is a
// *kptfilev1.ValidateError with field, value and reason.
func Validate(kf *kptfilev1.KptFile, config ConfigReader) error {
	if kf.Pipeline == nil {
		return nil
	}
	for _, list := range []struct {
		field     string
		functions []kptfilev1.Function
	}{
		{"mutators", kf.Pipeline.Mutators},
		{"validators", kf.Pipeline.Validators},
	} {
		for i := range list.functions {
			f := &list.functions[i]
			if err := validateFunction(f, fmt.Sprintf("pipeline.%s[%d]", list.field, i), config); err != nil {
				return fmt.Errorf("invalid pipeline: function %q: %w", f.Image, err)
			}
		}
	}
	return nil
}

func validateFunction(f *kptfilev1.Function, field string, config ConfigReader) error {
	switch {
	case f.Image == "" && f.Exec == "":
		return invalid(field, "", "must specify a functon (`image` or `exec`) to execute")
	case f.Image != "" && f.Exec != "":
		return invalid(field, "", "must not specify both `image` and `exec` at the same time")
	}
	if f.Image != "" {
		if err := reference.Validate(f.Image); err != nil {
			return invalid(field+".image", f.Image, err.Error())
		}
	}
	if f.ConfigPath == "" {
		return nil
	}
	if len(f.ConfigMap) != 0 {
		return invalid(field, "", "functionConfig must not specify both `configMap` and `configPath` at the same time")
	}
	err := validateConfigPath(f.ConfigPath)
	if err == nil {
		err = config(path.Clean(f.ConfigPath))
	}
	if err != nil {
		return invalid(field+".configPath", f.ConfigPath, err.Error())
	}
	return nil
}

func validateConfigPath(p string) error {
	clean := path.Clean(p)
	switch {
	case strings.TrimSpace(p) == "":
		return errors.New("path must not be empty")
	case path.IsAbs(clean):
		return errors.New("path must be relative")
	case strings.Contains(clean, ".."):
		return errors.New("path must not be outside the package")
	}
	return nil
}

// invalid does not wrap the cause, because kptfilev1.ValidateError has only a reason text.
func invalid(field, value, reason string) error {
	return &kptfilev1.ValidateError{Field: field, Value: value, Reason: reason}
}
