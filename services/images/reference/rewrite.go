// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxPath is the maximum length of a repository without its registry, in bytes.
const maxPath = 255

// Rewrites are rules that replace prefixes of references, for example with a mirror's. It is the value of a repeatable flag. The zero
// value has no rules. Apply is safe for concurrent use after the last call of Set.
type Rewrites struct {
	// rules are sorted by from, the longest first.
	rules []rewrite
}

// rewrite is a rule. from and to have no trailing slash.
type rewrite struct {
	from, to string
	// hub means that from is on Docker Hub. path is the part of from after the host; empty means all of Docker Hub.
	hub  bool
	path string
}

// Set adds comma-separated rules of the form FROM=TO. Both parts are a registry or a path in one; trailing slashes are ignored. It
// returns an error, and adds no rules, if a rule has another form, if a part is not a registry path, or if FROM already has a rule.
// Errors name the rule.
func (r *Rewrites) Set(value string) error {
	rules := slices.Clone(r.rules)
	for text := range strings.SplitSeq(value, ",") {
		rule, err := parseRewrite(text)
		if err != nil {
			return fmt.Errorf("image rewrite %q: %w", text, err)
		}
		if slices.ContainsFunc(rules, func(other rewrite) bool { return other.from == rule.from }) {
			return fmt.Errorf("image rewrite %q: there is another rule for %q: remove one of them", text, rule.from)
		}
		rules = append(rules, rule)
	}
	slices.SortStableFunc(rules, func(a, b rewrite) int { return cmp.Compare(len(b.from), len(a.from)) })
	r.rules = rules
	return nil
}

// String returns the rules in the form that Set accepts, the longest FROM first.
func (r *Rewrites) String() string {
	rules := make([]string, len(r.rules))
	for i, rule := range r.rules {
		rules[i] = rule.from + "=" + rule.to
	}
	return strings.Join(rules, ",")
}

// Type returns the placeholder of the value in the help.
func (*Rewrites) Type() string { return "FROM=TO" }

// Apply returns the rewritten reference, with its tag and digest. FROM matches whole path elements, or the whole repository. If several
// rules match, the one with the longest FROM is applied, once.
//
// FROM is compared with the reference as it is written. Only a FROM of docker.io matches all forms of a reference on Docker Hub:
// docker.io=r.io turns alpine into r.io/library/alpine, and both team/fn and index.docker.io/team/fn into r.io/team/fn.
//
// A rule does not match if the result would not be a reference: if TO is only a registry and FROM the whole repository, or if the path
// would exceed 255 bytes. Apply does not allocate if no rule matches.
func (r *Rewrites) Apply(ref string) string {
	if len(r.rules) == 0 {
		return ref
	}
	repository, _, _ := Split(ref)
	for i := range r.rules {
		if rewritten, ok := r.rules[i].apply(repository); ok {
			return rewritten + ref[len(repository):]
		}
	}
	return ref
}

func parseRewrite(text string) (rewrite, error) {
	from, to, ok := strings.Cut(text, "=")
	if !ok {
		return rewrite{}, errors.New("want FROM=TO, as in gcr.io/kpt-fn=" + CatalogPrefix)
	}
	for _, part := range []string{from, to} {
		if part == "" {
			return rewrite{}, errors.New("want a prefix on both sides of the equals sign")
		}
		if err := ValidatePrefix(part); err != nil {
			return rewrite{}, err
		}
	}
	rule := rewrite{from: strings.TrimRight(from, "/"), to: strings.TrimRight(to, "/")}
	if host, path, _ := strings.Cut(rule.from, "/"); isHub(host) {
		// docker.io and index.docker.io are the same FROM.
		rule.hub, rule.path, rule.from = true, path, strings.TrimRight(hubHost+"/"+path, "/")
	}
	return rule, nil
}

// apply returns the rewritten repository, and whether the rule matches.
func (rule *rewrite) apply(repository string) (string, bool) {
	var rest string
	ok := false
	if rule.hub {
		rest, ok = rule.cutHub(repository)
	} else {
		rest, ok = CutPrefix(repository, rule.from)
	}
	if !ok || rest == "" && isHost(rule.to) || len(pathOf(rule.to))+1+len(rest) > maxPath {
		return "", false
	}
	if rest == "" {
		return rule.to, true
	}
	return rule.to + "/" + rest, true
}

// cutHub returns the part of a Docker Hub repository after the rule's path, and whether the path matches.
func (rule *rewrite) cutHub(repository string) (string, bool) {
	path, ok := hubPath(repository)
	if !ok {
		return "", false
	}
	switch name, official := officialName(path); {
	case !official && rule.path == "":
		return path, true
	case !official:
		return CutPrefix(path, rule.path)
	case rule.path == "":
		return library + name, true
	case rule.path+"/" == library:
		return name, true
	default:
		return "", strings.TrimPrefix(rule.path, library) == name
	}
}

// CutPrefix returns the part of a repository after a prefix of whole path elements, and whether the prefix matches.
func CutPrefix(repository, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(repository, prefix)
	if !ok || rest == "" {
		return "", ok
	}
	return strings.CutPrefix(rest, "/")
}

// Hosts of Docker Hub, and the path of its official images.
const (
	hubHost       = "docker.io"
	formerHubHost = "index.docker.io"
	library       = "library/"
)

func isHub(host string) bool { return host == hubHost || host == formerHubHost }

// isHost reports whether the first element of a reference is a registry host.
func isHost(element string) bool {
	return element == "localhost" || !strings.Contains(element, "/") &&
		(strings.ContainsAny(element, ".:") || strings.ToLower(element) != element)
}

// hubPath returns the path of a repository on Docker Hub, as it is written.
func hubPath(repository string) (string, bool) {
	host, path, ok := strings.Cut(repository, "/")
	switch {
	case !ok:
		return repository, true
	case isHub(host):
		return path, true
	case isHost(host):
		return "", false
	}
	return repository, true
}

// officialName returns the name of an official image on Docker Hub, such as alpine or library/alpine, and whether it is one.
func officialName(path string) (string, bool) {
	name := strings.TrimPrefix(path, library)
	return name, !strings.Contains(name, "/")
}

func pathOf(prefix string) string {
	if host, path, _ := strings.Cut(prefix, "/"); isHost(host) {
		return path
	}
	return prefix
}
