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

// maxPath is the most bytes of a repository, without its registry, that a reference may have.
const maxPath = 255

// Rewrites are rules by which references get another prefix: that of a mirror, or the new one of what has moved. It is the
// value of a repeatable flag. The zero value has no rules. Set must be over before Apply is called; Apply may be called by
// any number of goroutines at once.
type Rewrites struct {
	// rules have the longest from first.
	rules []rewrite
}

// rewrite is one rule. Neither part ends with a slash.
type rewrite struct {
	from, to string
	// hub tells that from is of Docker Hub, and path what comes behind its host; "" means all of it.
	hub  bool
	path string
}

// Set adds rules, FROM=TO each, with commas between them. Either part is a registry, or a path in one; slashes at its end do
// not count. Errors name the rule: it has another form, a part is no valid path of a registry, or there is another rule for
// FROM. No rule is added then.
func (r *Rewrites) Set(value string) error {
	rules := slices.Clone(r.rules)
	for text := range strings.SplitSeq(value, ",") {
		rule, err := parseRewrite(text)
		if err != nil {
			return fmt.Errorf("image rewrite %q: %w", text, err)
		}
		if slices.ContainsFunc(rules, func(other rewrite) bool { return other.from == rule.from }) {
			return fmt.Errorf("image rewrite %q: there is another rule for %q: leave one of them out", text, rule.from)
		}
		rules = append(rules, rule)
	}
	slices.SortStableFunc(rules, func(a, b rewrite) int { return cmp.Compare(len(b.from), len(a.from)) })
	r.rules = rules
	return nil
}

// String returns the rules as Set takes them, those with the longest FROM first.
func (r *Rewrites) String() string {
	rules := make([]string, len(r.rules))
	for i, rule := range r.rules {
		rules[i] = rule.from + "=" + rule.to
	}
	return strings.Join(rules, ",")
}

// Type returns what stands for the value in the help.
func (*Rewrites) Type() string { return "FROM=TO" }

// Apply returns the reference as the rules have it, with its tag and digest. FROM matches whole path elements, and also a
// whole repository; of the rules that match the longest FROM counts, and what it makes is not rewritten again.
//
// FROM is compared with the reference as it is written. Only a FROM of docker.io matches each way to write what is on Docker
// Hub: docker.io=r.io makes r.io/library/alpine of alpine, and r.io/team/fn of team/fn and of index.docker.io/team/fn.
//
// A rule does not match where what it makes would be no reference: a TO that is a registry alone in place of a whole
// repository, or a path beyond 255 bytes. Nothing is allocated where no rule matches.
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
		// Both spellings of the host are one rule.
		rule.hub, rule.path, rule.from = true, path, strings.TrimRight(hubHost+"/"+path, "/")
	}
	return rule, nil
}

// apply returns the repository with the prefix replaced, where the rule matches.
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

// cutHub returns what of a repository of Docker Hub is behind the rule's path; "" for nothing.
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

// CutPrefix returns what is behind a prefix of whole path elements; "" for nothing.
func CutPrefix(repository, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(repository, prefix)
	if !ok || rest == "" {
		return "", ok
	}
	return strings.CutPrefix(rest, "/")
}

// How references name Docker Hub, and the images there that belong to nobody.
const (
	hubHost       = "docker.io"
	formerHubHost = "index.docker.io"
	library       = "library/"
)

func isHub(host string) bool { return host == hubHost || host == formerHubHost }

// isHost tells whether something without a slash behind it is a registry, where it stands before one.
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

// officialName returns the name of an image on Docker Hub that belongs to nobody: alpine, or library/alpine.
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
