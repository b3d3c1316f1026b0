// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/metric/noop"
	"golang.org/x/sync/errgroup"

	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/providers/signatures"
	"github.com/krmfn/krmfn/internal/server/configfile"
	"github.com/krmfn/krmfn/services/images/reference"
)

// The values of an image's signature.
const (
	signatureVerified = "verified"
	// signatureNotRequired is of images that the policy lets run unsigned.
	signatureNotRequired = "not required"
	signatureFailed      = "failed"
)

// verification is what --verify demands.
type verification struct {
	enabled                                           bool
	policyFile                                        string
	keys, predicateTypes                              []string
	identity, identityRegExp, oidcIssuer, trustedRoot string
}

func (v *verification) addFlags(set *pflag.FlagSet) {
	set.BoolVar(&v.enabled, "verify", false, "verify the signatures of the images")
	set.StringVar(&v.policyFile, "image-policy", "", "path of a function runner's image policy that --verify applies")
	set.StringArrayVar(&v.keys, "key", nil, "path of a public key in PEM that may have signed; may be repeated")
	set.StringVar(&v.identity, "certificate-identity", "", "subject of the certificate that may have signed, such as an email address or the URL of a workflow")
	set.StringVar(&v.identityRegExp, "certificate-identity-regexp", "", "regular expression that all of the subject must match")
	set.StringVar(&v.oidcIssuer, "certificate-oidc-issuer", "", "OpenID Connect issuer of the certificate")
	set.StringVar(&v.trustedRoot, "trusted-root", "", "path of Sigstore's trusted_root.json, against which certificates are verified")
	set.StringArrayVar(&v.predicateTypes, "predicate-type", nil, "verify an in-toto attestation of this type instead of the signature; may be repeated")
}

// keyless reports whether a flag for certificates is set.
func (v *verification) keyless() bool {
	return v.identity != "" || v.identityRegExp != "" || v.oidcIssuer != "" || v.trustedRoot != ""
}

// policy returns what --verify demands; nil without it.
func (v *verification) policy() (*policy.Policy, error) {
	signers := len(v.keys) > 0 || len(v.predicateTypes) > 0 || v.keyless()
	switch {
	case !v.enabled && (signers || v.policyFile != ""):
		return nil, errors.New("--key, --certificate-…, --trusted-root, --predicate-type and --image-policy say what --verify verifies: add --verify")
	case !v.enabled:
		return nil, nil //nolint:nilnil // a nil policy demands nothing
	case v.policyFile != "" && signers:
		return nil, errors.New("--image-policy already says who may sign: leave out --key, --certificate-…, --trusted-root and --predicate-type")
	case v.policyFile != "":
		p, err := policy.ReadFile(v.policyFile)
		if err != nil {
			return nil, err
		}
		return p, signatures.Check(p)
	case len(v.keys) == 0 && !v.keyless():
		return nil, errors.New("--verify needs to know who may sign: add --key, --certificate-identity with --certificate-oidc-issuer and --trusted-root, or --image-policy")
	}
	rule, err := v.rule()
	if err != nil {
		return nil, err
	}
	p, err := policy.ForSignatures(rule)
	if err != nil {
		return nil, err
	}
	return p, signatures.Check(p)
}

func (v *verification) rule() (policy.SignatureRule, error) {
	rule := policy.SignatureRule{Name: "--verify", PredicateTypes: v.predicateTypes}
	for _, file := range v.keys {
		text, err := readFile(file)
		if err != nil {
			return rule, fmt.Errorf("--key: %w", err)
		}
		keys, err := policy.ParseKeys(file, text)
		if err != nil {
			return rule, fmt.Errorf("--key: %w", err)
		}
		rule.Keys = append(rule.Keys, keys...)
	}
	if !v.keyless() {
		return rule, nil
	}
	if v.oidcIssuer == "" || v.trustedRoot == "" || (v.identity == "") == (v.identityRegExp == "") {
		return rule, errors.New("certificates are verified with --certificate-oidc-issuer, --trusted-root and one of --certificate-identity and --certificate-identity-regexp: give all three")
	}
	identity, err := policy.NewIdentity(v.oidcIssuer, v.identity, v.identityRegExp)
	if err != nil {
		return rule, fmt.Errorf("--certificate-identity-regexp: %w", err)
	}
	rule.Identities = []policy.Identity{identity}
	if rule.TrustedRoot, err = readFile(v.trustedRoot); err != nil {
		return rule, fmt.Errorf("--trusted-root: %w", err)
	}
	return rule, nil
}

func readFile(name string) ([]byte, error) {
	text, err := configfile.Read(name, policy.MaxFileSize)
	if err == nil && len(text) > policy.MaxFileSize {
		err = fmt.Errorf("%s has more than %d bytes", name, policy.MaxFileSize)
	}
	return text, err
}

// verify verifies the images of which the digests are known.
func verify(ctx context.Context, client *registry.Client, p *policy.Policy, list []*image) error {
	checker, err := signatures.NewChecker(ctx, client, noop.NewMeterProvider().Meter(""))
	if err != nil {
		return err
	}
	defer checker.Close()
	var group errgroup.Group
	group.SetLimit(maxAtOnce)
	for _, i := range list {
		if i.Problem != "" {
			i.Signature = signatureFailed
			continue
		}
		group.Go(func() error {
			var err error
			if i.Signature, err = verifyImage(ctx, checker, p, i); err != nil {
				i.Problem = err.Error()
			}
			return nil
		})
	}
	return group.Wait()
}

func verifyImage(ctx context.Context, checker *signatures.Checker, p *policy.Policy, i *image) (string, error) {
	if reference.IsLocal(i.Image) {
		return signatureFailed, errors.New("it is on this machine, and only images in registries have signatures")
	}
	rules, err := p.Signatures(i.Image)
	if err == nil {
		err = p.RefusedDigest(i.Image, i.Digest)
	}
	if err == nil {
		err = checker.Verify(ctx, p, i.Image, i.Digest)
	}
	switch {
	case err != nil:
		return signatureFailed, err
	case len(rules) == 0:
		return signatureNotRequired, nil
	}
	return signatureVerified, nil
}
