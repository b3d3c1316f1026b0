// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/krmfn/krmfn/internal/server/configfile"
)

type dockerConfig struct {
	// entries and helpers are sorted, the most specific place first.
	entries []entry[authn.AuthConfig]
	helpers []entry[string]
	// store is the helper for all registries, or "".
	store string
}

// entry is a value for the repositories of a place.
type entry[T any] struct {
	place place
	value T
}

// all returns the credentials for a repository, the most specific first.
func (c *dockerConfig) all(w wanted) []authn.AuthConfig { return matching(c.entries, w) }

// helper returns the helper for a repository, or "".
func (c *dockerConfig) helper(w wanted) string {
	if names := matching(c.helpers, w); len(names) > 0 {
		return names[0]
	}
	return ""
}

// helperName matches a valid end of a program's name docker-credential-NAME. It matches no paths.
var helperName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Fields that are used, or can be ignored.
var (
	fileFields  = []string{"auths", "credHelpers", "credsStore"}
	entryFields = []string{"auth", "username", "password", "email", "serveraddress", "identitytoken", "registrytoken"}
)

// maxProblems is the maximum number of reported problems per file.
const maxProblems = 20

// parseDockerConfig parses a docker config file. Problems describe invalid keys, which are skipped. The error means that the whole file
// is invalid. Neither contains values; errors of encoding/json would quote them.
func parseDockerConfig(content []byte) (*dockerConfig, []string, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(content, &fields); err != nil || fields == nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, nil, fmt.Errorf("the docker config is not valid JSON: error at byte %d of %d", syntax.Offset, len(content))
		}
		return nil, nil, errors.New("the docker config is not a JSON object")
	}
	var file struct {
		Auths       map[string]json.RawMessage `json:"auths"`
		CredHelpers map[string]json.RawMessage `json:"credHelpers"`
		CredsStore  string                     `json:"credsStore"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, nil, errors.New("the docker config needs auths as an object, credHelpers as an object and credsStore as a string")
	}
	c, problems := &dockerConfig{}, unknown("", fields, fileFields)
	for _, key := range slices.Sorted(maps.Keys(file.Auths)) {
		problems = append(problems, c.addAuth(key, file.Auths[key])...)
	}
	for _, key := range slices.Sorted(maps.Keys(file.CredHelpers)) {
		problems = append(problems, c.addHelper(key, file.CredHelpers[key])...)
	}
	switch {
	case helperName.MatchString(file.CredsStore):
		c.store = file.CredsStore
	case file.CredsStore != "":
		problems = append(problems, "credsStore is invalid: want the end of a program's name, docker-credential-NAME")
	}
	slices.SortStableFunc(c.entries, func(a, b entry[authn.AuthConfig]) int { return a.place.compare(b.place) })
	slices.SortStableFunc(c.helpers, func(a, b entry[string]) int { return a.place.compare(b.place) })
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], fmt.Sprintf("and %d problems more", more))
	}
	return c, problems, nil
}

func (c *dockerConfig) addAuth(key string, raw json.RawMessage) []string {
	where, err := parsePlace(key)
	if err != nil {
		return []string{fmt.Sprintf("auths has key %s, which is %v", shown(key), err)}
	}
	var fields map[string]json.RawMessage
	var auth authn.AuthConfig
	if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(raw, &auth) != nil {
		return []string{fmt.Sprintf("auths has an invalid entry for %s: want auth (base64 of user:password), "+
			"username and password, identitytoken or registrytoken", shown(key))}
	}
	problems := unknown(" in the entry for "+shown(key), fields, entryFields)
	if where.version {
		problems = append(problems, fmt.Sprintf("auths has key %s, whose end nodes take for a repository: remove it", shown(key)))
	}
	switch {
	case auth.Username != "" && auth.Password != "", auth.Auth != "", auth.IdentityToken != "", auth.RegistryToken != "":
		c.entries = append(c.entries, entry[authn.AuthConfig]{where, auth})
	case auth.Username != "" || auth.Password != "":
		problems = append(problems, fmt.Sprintf("auths has an entry for %s with only one of username and password", shown(key)))
	}
	// Docker writes an empty entry if a helper has the credentials. Ignore it.
	return problems
}

func (c *dockerConfig) addHelper(key string, raw json.RawMessage) []string {
	where, err := parsePlace(key)
	if err != nil {
		return []string{fmt.Sprintf("credHelpers has key %s, which is %v", shown(key), err)}
	}
	var name string
	if json.Unmarshal(raw, &name) != nil || name != "" && !helperName.MatchString(name) {
		return []string{fmt.Sprintf("credHelpers has an invalid entry for %s: want the end of a program's name, docker-credential-NAME", shown(key))}
	}
	if name != "" {
		c.helpers = append(c.helpers, entry[string]{where, name})
	}
	return nil
}

// unknown returns a problem for each key that is not known, ignoring case.
func unknown(where string, fields map[string]json.RawMessage, known []string) []string {
	var problems []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, key) }) {
			problems = append(problems, fmt.Sprintf("key %s%s is unknown: use %s", shown(key), where, strings.Join(known, ", ")))
		}
	}
	return problems
}

// maxKey is the maximum length of a key in a problem, in bytes.
const maxKey = 100

// shown quotes a key. It removes credentials before the host of a URL.
func shown(key string) string {
	if at := strings.LastIndex(key, "@"); at >= 0 {
		key = "…" + key[at:]
	}
	if len(key) > maxKey {
		key = strings.ToValidUTF8(key[:maxKey], "") + "…"
	}
	return fmt.Sprintf("%q", key)
}

// readFile reads a file of at most maxFile bytes. Errors contain the file's name.
func readFile(name string) ([]byte, error) {
	content, err := configfile.Read(name, maxFile)
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("read %s: it is larger than %d bytes", name, maxFile)
	}
	return content, err
}
