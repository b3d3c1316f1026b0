// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kubeconform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaLoader loads schemas and the documents they refer to from permitted locations.
type schemaLoader struct {
	ctx       context.Context //nolint:containedctx // jsonschema.URLLoader has none
	permitted permitted
	client    *http.Client
}

// errNoJSON reports that a server's response is not a JSON document.
var errNoJSON = errors.New("not a JSON document")

// Load implements jsonschema.URLLoader for references in schemas.
func (l *schemaLoader) Load(location string) (any, error) {
	_, document, err := l.load(location)
	return document, err
}

// check returns an error if a location is not permitted, whether or not it exists.
func (l *schemaLoader) check(location string) error {
	if isURL(location) {
		if parsed, err := url.Parse(location); err != nil || !l.permitted.permits(parsed) {
			return notPermitted(location)
		}
		return nil
	}
	file, _, err := l.permitted.open(filepath.FromSlash(pathOf(location)))
	if err == nil {
		return file.Close()
	}
	if errors.Is(err, errNotPermitted) {
		return err
	}
	return nil
}

// load loads the document at a URL or path. It returns the location, with relative paths made absolute.
func (l *schemaLoader) load(location string) (string, any, error) {
	if isURL(location) {
		document, err := l.get(location)
		return location, document, err
	}
	file, path, err := l.permitted.open(filepath.FromSlash(pathOf(location)))
	if err != nil {
		return location, nil, err
	}
	defer file.Close() //nolint:errcheck // only read from
	text, err := readAtMost(file)
	if err != nil {
		return path, nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	return path, document, err
}

func (l *schemaLoader) get(location string) (any, error) {
	request, err := http.NewRequestWithContext(l.ctx, http.MethodGet, location, http.NoBody)
	if err != nil || !l.permitted.permits(request.URL) {
		return nil, notPermitted(location)
	}
	response, err := l.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // only read from
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, fs.ErrNotExist
	default:
		return nil, fmt.Errorf("%s: the server answers %s", location, response.Status)
	}
	text, err := readAtMost(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", location, err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, errNoJSON
	}
	return document, nil
}
