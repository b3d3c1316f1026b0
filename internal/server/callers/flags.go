// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package callers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/internal/server/certificates"
)

// Flags configure who may call.
type Flags struct {
	// Clients are the names of accepted client certificates; empty means all valid certificates.
	Clients []string
	// Audience is the required audience of tokens; empty means that tokens are ignored.
	Audience string
	// ServiceAccounts are the accounts whose tokens are accepted, as NAMESPACE/NAME.
	ServiceAccounts []string
}

// AddTo adds the flags to a set.
func (f *Flags) AddTo(set *pflag.FlagSet) {
	set.StringSliceVar(&f.Clients, "allowed-clients", nil, "comma-separated list of client certificates to accept, by URI (such as a SPIFFE ID) or DNS name; a trailing * matches any suffix; empty means every certificate signed by --client-ca-file")
	set.StringVar(&f.Audience, "token-audience", "", "audience of the Kubernetes service account tokens to accept in place of a client certificate, checked with a TokenReview; empty means that tokens are not accepted")
	set.StringSliceVar(&f.ServiceAccounts, "allowed-service-accounts", nil, "comma-separated list of service accounts whose tokens to accept, NAMESPACE/NAME; a trailing * matches any suffix")
}

// Enabled reports whether callers are authorised at all.
func (f *Flags) Enabled(tls *certificates.ServerFlags) bool {
	return tls.Files.Authorities != "" || f.Audience != ""
}

// Problems returns the errors in the flags.
func (f *Flags) Problems(tls *certificates.ServerFlags) []error {
	var problems []error
	if len(f.Clients) > 0 && tls.Files.Authorities == "" {
		problems = append(problems, errors.New("--allowed-clients needs --client-ca-file"))
	}
	if f.Audience != "" && !tls.Enabled() {
		problems = append(problems, errors.New("--token-audience needs --tls-cert-file and --tls-key-file: without TLS, tokens can be read on the network"))
	}
	if (f.Audience == "") != (len(f.ServiceAccounts) == 0) {
		problems = append(problems, errors.New("--token-audience and --allowed-service-accounts must be set together, because every pod can get a token for any audience"))
	}
	for _, account := range f.ServiceAccounts {
		if namespace, name, ok := strings.Cut(account, "/"); account != "*" && (!ok || namespace == "" || name == "") {
			problems = append(problems, fmt.Errorf("--allowed-service-accounts is %q, want NAMESPACE/NAME, optionally with a trailing *", account))
		}
	}
	for _, pattern := range slices.Concat(f.Clients, f.ServiceAccounts) {
		if pattern == "" || strings.Contains(strings.TrimSuffix(pattern, "*"), "*") {
			problems = append(problems, fmt.Errorf("%q is not a valid caller: * is allowed only at the end", pattern))
		}
	}
	return problems
}
