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

	"github.com/krmfn/krmfn/services/server/configfile"
)

type dockerConfig struct {
	// entries and helpers have the most specific place first.
	entries []entry[authn.AuthConfig]
	helpers []entry[string]
	// store is the helper for all registries, or "".
	store string
}

// entry is what holds for the repositories of a place.
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

// helperName is what may follow docker-credential- in the name of a program: no path.
var helperName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// The fields that are understood, or mean nothing here.
var (
	fileFields  = []string{"auths", "credHelpers", "credsStore"}
	entryFields = []string{"auth", "username", "password", "email", "serveraddress", "identitytoken", "registrytoken"}
)

// maxProblems bounds the problems that are reported for one file.
const maxProblems = 20

// parseDockerConfig reads a docker config file. Problems name single keys that are not understood, and are left out; the
// error is that nothing is. Neither has anything of a value: encoding/json's own errors would quote it.
func parseDockerConfig(content []byte) (*dockerConfig, []string, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(content, &fields); err != nil || fields == nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, nil, fmt.Errorf("the docker config is no JSON, as byte %d of %d shows", syntax.Offset, len(content))
		}
		return nil, nil, errors.New("the docker config is no JSON object")
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
		problems = append(problems, "credsStore is not understood: want the end of a program's name, docker-credential-NAME")
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
		return []string{fmt.Sprintf("auths has an entry for %s that is not understood: want auth (base64 of user:password), "+
			"username and password, identitytoken or registrytoken", shown(key))}
	}
	problems := unknown(" in the entry for "+shown(key), fields, entryFields)
	if where.version {
		problems = append(problems, fmt.Sprintf("auths has key %s, of which nodes take the end for a repository: leave it out", shown(key)))
	}
	switch {
	case auth.Username != "" && auth.Password != "", auth.Auth != "", auth.IdentityToken != "", auth.RegistryToken != "":
		c.entries = append(c.entries, entry[authn.AuthConfig]{where, auth})
	case auth.Username != "" || auth.Password != "":
		problems = append(problems, fmt.Sprintf("auths has an entry for %s with only one of username and password", shown(key)))
	}
	// One without anything, which docker writes where a helper has the credentials, says nothing.
	return problems
}

func (c *dockerConfig) addHelper(key string, raw json.RawMessage) []string {
	where, err := parsePlace(key)
	if err != nil {
		return []string{fmt.Sprintf("credHelpers has key %s, which is %v", shown(key), err)}
	}
	var name string
	if json.Unmarshal(raw, &name) != nil || name != "" && !helperName.MatchString(name) {
		return []string{fmt.Sprintf("credHelpers has an entry for %s that is not understood: want the end of a program's name, docker-credential-NAME", shown(key))}
	}
	if name != "" {
		c.helpers = append(c.helpers, entry[string]{where, name})
	}
	return nil
}

// unknown names the keys that are not among the known ones, however these are capitalised.
func unknown(where string, fields map[string]json.RawMessage, known []string) []string {
	var problems []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, key) }) {
			problems = append(problems, fmt.Sprintf("key %s%s is not used: those used are %s", shown(key), where, strings.Join(known, ", ")))
		}
	}
	return problems
}

// maxKey is the most bytes of a key that is named.
const maxKey = 100

// shown quotes a key, without the credentials that a URL may have before its host.
func shown(key string) string {
	if at := strings.LastIndex(key, "@"); at >= 0 {
		key = "…" + key[at:]
	}
	if len(key) > maxKey {
		key = strings.ToValidUTF8(key[:maxKey], "") + "…"
	}
	return fmt.Sprintf("%q", key)
}

// readFile reads a file of at most maxFile bytes. The error has the file's name.
func readFile(name string) ([]byte, error) {
	content, err := configfile.Read(name, maxFile)
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("read %s: it is larger than %d bytes", name, maxFile)
	}
	return content, err
}
