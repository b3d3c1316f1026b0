// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kubeconform

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/yannh/kubeconform/pkg/loader"
	"github.com/yannh/kubeconform/pkg/registry"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/krmfn/krmfn/functions/kubeconform/schemas"
)

// schemaSource finds the schema of a kind. It returns nil when it has none.
type schemaSource interface {
	Schema(apiVersion, kind string) (*jsonschema.Schema, error)
}

// schemaSources asks sources in turn, for the first that has a schema. One that fails does not keep the next from being
// asked: its error is returned only when no other has the schema. They are asked once per kind, also when the answer was an
// error: it may have come from a server that does not answer, and took its time.
type schemaSources struct {
	sources []schemaSource
	answers map[string]schemaAnswer // by apiVersion/kind
}

type schemaAnswer struct {
	schema *jsonschema.Schema
	err    error
}

func newSchemaSources(o options) (*schemaSources, error) {
	s := &schemaSources{answers: map[string]schemaAnswer{}}
	for _, location := range o.locations {
		if location == bundledSchemas {
			s.sources = append(s.sources, schemas.Kubernetes(o.strict))
			continue
		}
		source, err := newSchemaLocation(location, o.strict)
		if err != nil {
			return nil, err
		}
		s.sources = append(s.sources, source)
	}
	return s, nil
}

func (s *schemaSources) Schema(apiVersion, kind string) (*jsonschema.Schema, error) {
	id := apiVersion + "/" + kind
	answer, ok := s.answers[id]
	if !ok {
		answer.schema, answer.err = s.ask(apiVersion, kind)
		s.answers[id] = answer
	}
	return answer.schema, answer.err
}

func (s *schemaSources) ask(apiVersion, kind string) (*jsonschema.Schema, error) {
	var failures []error
	for _, source := range s.sources {
		schema, err := source.Schema(apiVersion, kind)
		if err == nil && schema != nil {
			return schema, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

// schemaLocation is the schemas at a path or URL template, in the syntax of github.com/yannh/kubeconform.
type schemaLocation struct {
	registry registry.Registry
	loader   jsonschema.URLLoader // of what a schema refers to
}

// anyRelease stands for the Kubernetes release in location templates that have it.
const anyRelease = "master"

// newSchemaLocation checks the template. The error names it.
func newSchemaLocation(template string, strict bool) (*schemaLocation, error) {
	schemas, err := registry.New(strings.TrimPrefix(template, "file://"), "", strict, false, false)
	if err != nil {
		return nil, fmt.Errorf("schema location %q: %w", template, err)
	}
	web, err := loader.NewHTTPURLLoader(false, nil)
	if err != nil {
		return nil, fmt.Errorf("schema location %q: %w", template, err)
	}
	return &schemaLocation{
		registry: schemas,
		loader:   jsonschema.SchemeURLLoader{"file": jsonschema.FileLoader{}, "http": web, "https": web},
	}, nil
}

// Schema reads and compiles the schema of a kind. What is not there, or is there but is no JSON document, as the page
// that a web server has for what it does not find, is no schema and no error.
func (l *schemaLocation) Schema(apiVersion, kind string) (*jsonschema.Schema, error) {
	path, document, err := l.registry.DownloadSchema(kind, apiVersion, anyRelease)
	var missing *loader.NotFoundError
	var noJSON *loader.NonJSONResponseError
	if errors.As(err, &missing) || errors.As(err, &noJSON) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read schema of %s %s: %w", apiVersion, kind, err)
	}
	if document == nil { // the document "null", which the compiler panics at
		return nil, nil
	}

	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft4)
	compiler.UseLoader(l.loader)
	compiler.RegisterFormat(&jsonschema.Format{Name: "duration", Validate: validateDuration})
	if err := compiler.AddResource(path, document); err != nil {
		return nil, fmt.Errorf("read schema %s: %w", path, err)
	}
	schema, err := compiler.Compile(path)
	if err != nil {
		return nil, fmt.Errorf("compile schema %s: %w", path, err)
	}
	return schema, nil
}

// isoDuration is the form of ISO 8601 durations, apart from that something must follow P and T.
const isoDuration = `^P(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+S)?)?)$`

// validateDuration accepts the durations of Kubernetes (1h30m), which custom resources have, besides those of JSON
// schema (PT1H30M).
func validateDuration(value any) error {
	text, ok := value.(string)
	if !ok {
		return nil
	}
	if _, err := strfmt.ParseDuration(text); err == nil {
		return nil
	}
	iso, err := regexp.MatchString(isoDuration, text)
	if last := text[max(len(text)-1, 0):]; err != nil || !iso || last == "P" || last == "T" {
		return errors.New("want a form such as 1h30m or PT1H30M")
	}
	return nil
}
