// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kubeconform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/krmfn/krmfn/functions/kubeconform/schemas"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// schemaSource finds the schema of a kind. It returns nil if it has none.
type schemaSource interface {
	Schema(apiVersion, kind string) (*jsonschema.Schema, error)
}

// schemaSources tries sources in order until one has a schema. The error of a source is returned only if no other source has
// the schema. Results are cached per kind, including errors, because an unreachable server may take long to fail.
type schemaSources struct {
	sources []schemaSource
	answers map[string]schemaAnswer // by apiVersion/kind
	loader  *schemaLoader
}

type schemaAnswer struct {
	schema *jsonschema.Schema
	err    error
}

func newSchemaSources(ctx context.Context, o options) (*schemaSources, error) {
	permitted, err := permittedBy(function.ProgramOf(ctx).Environ)
	if err != nil {
		return nil, err
	}
	s := &schemaSources{answers: map[string]schemaAnswer{}, loader: &schemaLoader{ctx: ctx, permitted: permitted, client: permitted.client()}}
	for i, location := range o.locations {
		if location == bundledSchemas {
			s.sources = append(s.sources, schemas.Kubernetes(o.strict))
			continue
		}
		source, err := newSchemaLocation(location, o.strict, s.loader)
		if err != nil {
			field := "schema_location"
			if i > 0 {
				field = "additional_schema_locations"
			}
			return nil, fmt.Errorf("functionConfig: data.%s: %w", field, err)
		}
		s.sources = append(s.sources, source)
	}
	return s, nil
}

// close closes idle connections.
func (s *schemaSources) close() { s.loader.client.CloseIdleConnections() }

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

// schemaLocation has the schemas at a path or URL template, in the syntax of github.com/yannh/kubeconform.
type schemaLocation struct {
	template string
	strict   bool
	loader   *schemaLoader
}

// publicLayout is the layout of the public schema registry. It is appended to locations that do not name files.
const publicLayout = "/{{.NormalizedKubernetesVersion}}-standalone{{.StrictSuffix}}/{{.ResourceKind}}{{.KindSuffix}}.json"

// newSchemaLocation checks that the template is valid and the location permitted.
func newSchemaLocation(template string, strict bool, loader *schemaLoader) (*schemaLocation, error) {
	l := &schemaLocation{template: template, strict: strict, loader: loader}
	if !strings.HasSuffix(template, "json") {
		l.template += publicLayout
	}
	sample, err := l.path("v1", "Pod")
	if err != nil {
		return nil, fmt.Errorf("schema location %q: %w", template, err)
	}
	if err := loader.check(sample); err != nil {
		return nil, err
	}
	return l, nil
}

// locationField matches a field in a template. Other template actions are not supported, because actions such as loops are
// unbounded.
var locationField = regexp.MustCompile(`\{\{-?\s*\.(\w+)\s*-?\}\}`)

// path expands a location's template for a kind.
func (l *schemaLocation) path(apiVersion, kind string) (string, error) {
	group, version, grouped := strings.Cut(apiVersion, "/")
	suffix := "-" + strings.ToLower(strings.Split(group, ".")[0])
	if grouped {
		suffix += "-" + strings.ToLower(version)
	} else {
		version = group
	}
	fields := map[string]string{
		"NormalizedKubernetesVersion": "master", // any release
		"StrictSuffix":                "",
		"ResourceKind":                strings.ToLower(kind),
		"ResourceAPIVersion":          version,
		"Group":                       group,
		"KindSuffix":                  suffix,
	}
	if l.strict {
		fields["StrictSuffix"] = "-strict"
	}
	var err error
	if rest := locationField.ReplaceAllString(l.template, ""); strings.Contains(rest, "{{") {
		err = errors.New("only fields such as {{.ResourceKind}} are supported")
	}
	filled := locationField.ReplaceAllStringFunc(l.template, func(field string) string {
		name := locationField.FindStringSubmatch(field)[1]
		value, known := fields[name]
		if !known {
			err = fmt.Errorf("unknown field %q: want one of %q", name, slices.Sorted(maps.Keys(fields)))
		}
		return value
	})
	return filled, err
}

// Schema loads and compiles the schema of a kind. It returns nil for a missing document, and for one that is not JSON, because
// web servers may return an HTML page for a missing document.
func (l *schemaLocation) Schema(apiVersion, kind string) (*jsonschema.Schema, error) {
	path, err := l.path(apiVersion, kind)
	if err != nil {
		return nil, err
	}
	path, document, err := l.loader.load(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoJSON) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read schema of %s %s: %w", apiVersion, kind, err)
	}
	if document == nil { // the document "null" makes the compiler panic
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

// isoDuration matches ISO 8601 durations, except that it also accepts "P" and a trailing "T".
const isoDuration = `^P(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+S)?)?)$`

// validateDuration accepts Kubernetes durations (1h30m), which custom resources have, and those of JSON schema (PT1H30M).
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
