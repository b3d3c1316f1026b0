// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package signatures_test

import (
	"crypto"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/providers/signatures"
	"github.com/krmfn/krmfn/internal/providers/signatures/signaturetest"
)

const (
	issuer  = "https://issuer.example.org"
	subject = "release@example.org"
)

// sigstore issues certificates and logs signatures.
type sigstore struct{ *ca.VirtualSigstore }

func newSigstore(t testing.TB) sigstore {
	t.Helper()
	s, err := ca.NewVirtualSigstore()
	check(t, err)
	return sigstore{s}
}

// root returns the trusted root. It contains the transparency log if logged is set.
func (s sigstore) root(t testing.TB, logged bool) []byte {
	t.Helper()
	logs := map[string]*root.TransparencyLog{}
	for id, log := range s.RekorLogs() {
		if !logged {
			break
		}
		var err error
		log.ID, err = hex.DecodeString(id)
		check(t, err)
		log.SignatureHashFunc = crypto.SHA256
		logs[id] = log
	}
	trusted, err := root.NewTrustedRoot(root.TrustedRootMediaType01, s.FulcioCertificateAuthorities(), nil, s.TimestampingAuthorities(), logs)
	check(t, err)
	text, err := trusted.MarshalJSON()
	check(t, err)
	return text
}

// policy returns a policy that requires the given signers, as YAML in one line, and trusts this sigstore.
func (s sigstore) policy(t testing.TB, logged bool, signers, more string) *policy.Policy {
	t.Helper()
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "trusted_root.json"), s.root(t, logged), 0o600))
	file := filepath.Join(dir, "policy.yaml")
	check(t, os.WriteFile(file, []byte(head+"trustedRoot: trusted_root.json\nsignatures: [{keyless: [{"+signers+"}]"+more+"}]\n"), 0o600))
	p, err := policy.ReadFile(file)
	check(t, err)
	check(t, signatures.Check(p))
	return p
}

// simple returns a signature of an image, in the form that cosign stores under a tag.
func (s sigstore) simple(t testing.TB, who string, at time.Time) maker {
	t.Helper()
	return func(image name.Digest) (registry.Attached, error) {
		payload := signaturetest.SimplePayload(image)
		entity, err := s.SignAtTimeWithVersion(who, issuer, payload, at, "v0.1")
		check(t, err)
		e := s.evidence(t, entity)
		logged, err := json.Marshal(map[string]any{
			"SignedEntryTimestamp": e.entry.GetInclusionPromise().GetSignedEntryTimestamp(),
			"Payload": map[string]any{
				"body": e.entry.GetCanonicalizedBody(), "integratedTime": e.entry.GetIntegratedTime(), "logIndex": e.entry.GetLogIndex(),
				"logID": hex.EncodeToString(e.entry.GetLogId().GetKeyId()),
			},
		})
		check(t, err)
		stamp, err := json.Marshal(map[string]any{"SignedRFC3161Timestamp": e.stamp})
		check(t, err)
		return registry.Attached{MediaType: registry.MediaTypeSimpleSigning, Content: payload, Annotations: map[string]string{
			"dev.cosignproject.cosign/signature":   base64.StdEncoding.EncodeToString(e.signature),
			"dev.sigstore.cosign/certificate":      string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.certificate})),
			"dev.sigstore.cosign/bundle":           string(logged),
			"dev.sigstore.cosign/rfc3161timestamp": string(stamp),
		}}, nil
	}
}

// bundle returns a bundle with the given predicate type, logged at the given time.
func (s sigstore) bundle(t testing.TB, who, predicateType string, at time.Time) maker {
	t.Helper()
	return func(image name.Digest) (registry.Attached, error) {
		statement := signaturetest.Statement(image, predicateType)
		entity, err := s.AttestAtTime(who, issuer, statement, at, true)
		check(t, err)
		e := s.evidence(t, entity)
		text, err := protojson.Marshal(&protobundle.Bundle{
			MediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
			VerificationMaterial: &protobundle.VerificationMaterial{
				Content:     &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: e.certificate}},
				TlogEntries: []*protorekor.TransparencyLogEntry{e.entry},
				TimestampVerificationData: &protobundle.TimestampVerificationData{
					Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: e.stamp}},
				},
			},
			Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &dsse.Envelope{
				PayloadType: "application/vnd.in-toto+json", Payload: statement, Signatures: []*dsse.Signature{{Sig: e.signature}},
			}},
		})
		check(t, err)
		return registry.Attached{MediaType: "application/vnd.dev.sigstore.bundle.v0.3+json", Content: text}, nil
	}
}

// evidence proves who signed, and when.
type evidence struct {
	signature, certificate, stamp []byte
	entry                         *protorekor.TransparencyLogEntry
}

// evidence returns the log entry and the timestamp of an entity.
func (s sigstore) evidence(t testing.TB, entity *ca.TestEntity) evidence {
	t.Helper()
	content, err := entity.SignatureContent()
	check(t, err)
	verification, err := entity.VerificationContent()
	check(t, err)
	entries, err := entity.TlogEntries()
	check(t, err)
	stamps, err := entity.Timestamps()
	check(t, err)
	return evidence{content.Signature(), verification.Certificate().Raw, stamps[0], s.promised(t, entries[0])}
}

// promised adds to a log entry what a bundle needs.
func (s sigstore) promised(t testing.TB, entry *tlog.Entry) *protorekor.TransparencyLogEntry {
	t.Helper()
	e := entry.TransparencyLogEntry()
	var body struct{ APIVersion, Kind string }
	check(t, json.Unmarshal(e.GetCanonicalizedBody(), &body))
	e.KindVersion = &protorekor.KindVersion{Kind: body.Kind, Version: body.APIVersion}
	promise, err := s.RekorSignPayload(tlog.RekorPayload{
		Body: entry.Body(), IntegratedTime: e.GetIntegratedTime(), LogIndex: e.GetLogIndex(), LogID: hex.EncodeToString(e.GetLogId().GetKeyId()),
	})
	check(t, err)
	e.InclusionPromise = &protorekor.InclusionPromise{SignedEntryTimestamp: promise}
	return e
}

// unlogged removes the log entry from a signature.
func unlogged(m maker) maker {
	return func(image name.Digest) (registry.Attached, error) {
		a, err := m(image)
		delete(a.Annotations, "dev.sigstore.cosign/bundle")
		return a, err
	}
}

func TestKeyless(t *testing.T) {
	t.Parallel()
	ours, others := newSigstore(t), newSigstore(t)
	exact := fmt.Sprintf("issuer: %q, subject: %q", issuer, subject)
	attests := ", attestations: [{predicateType: '" + provenance + "'}]"
	now := time.Now().Add(5 * time.Minute)
	for title, tc := range map[string]struct {
		signers, more string
		unlogged      bool
		attach        func(t testing.TB, image, other name.Digest)
		want          string
	}{
		"unsigned":                   {want: "wants a signature by " + subject + " of " + issuer + ", but none was found"},
		"tag":                        {attach: tag(ours.simple(t, subject, now))},
		"tag, regular expression":    {signers: "issuer: '" + issuer + "', subjectRegExp: '.*@example[.]org'", attach: tag(ours.simple(t, subject, now))},
		"tag, part of subject":       {signers: "issuer: '" + issuer + "', subjectRegExp: 'release@example'", attach: tag(ours.simple(t, subject, now)), want: "does not match"},
		"tag, other subject":         {attach: tag(ours.simple(t, "me@example.org", now)), want: `the certificate identity "me@example.org" of issuer "` + issuer + `" does not match`},
		"tag, other issuer":          {signers: "issuer: 'https://other.example.org', subject: '" + subject + "'", attach: tag(ours.simple(t, subject, now)), want: "does not match"},
		"tag, other authority":       {attach: tag(others.simple(t, subject, now)), want: "a certificate's signature is not valid: "},
		"tag, certificate expired":   {attach: tag(ours.simple(t, subject, time.Now().Add(30*time.Minute))), want: "a certificate's signature is not valid: "},
		"tag, changed":               {attach: tag(changed(ours.simple(t, subject, now))), want: "a certificate's signature is not valid: "},
		"tag, other image":           {attach: tagOfOther(ours.simple(t, subject, now)), want: "it is about another image"},
		"tag, not logged":            {attach: tag(unlogged(ours.simple(t, subject, now))), want: "log"},
		"tag, no log":                {unlogged: true, attach: tag(unlogged(ours.simple(t, subject, now)))},
		"tag, key":                   {attach: tag(newSigner(t).Simple), want: "it was signed with a key, and the rule wants a certificate"},
		"bundle":                     {attach: refer(ours.bundle(t, subject, signaturetest.PredicateSign, now))},
		"bundle, other subject":      {attach: refer(ours.bundle(t, "me@example.org", signaturetest.PredicateSign, now)), want: "does not match"},
		"bundle, other authority":    {attach: refer(others.bundle(t, subject, signaturetest.PredicateSign, now)), want: "a certificate's signature is not valid: "},
		"bundle, expired":            {attach: refer(ours.bundle(t, subject, signaturetest.PredicateSign, time.Now().Add(30*time.Minute))), want: "a certificate's signature is not valid: "},
		"bundle, other image":        {attach: referOfOther(ours.bundle(t, subject, signaturetest.PredicateSign, now)), want: "it is about another image"},
		"attestation":                {more: attests, attach: refer(ours.bundle(t, subject, provenance, now))},
		"attestation missing":        {more: attests, attach: refer(ours.bundle(t, subject, signaturetest.PredicateSign, now)), want: "wants an attestation of type"},
		"attestation, other subject": {more: attests, attach: refer(ours.bundle(t, "me@example.org", provenance, now)), want: "does not match"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, true)
			image, other := s.image(t), s.image(t)
			if tc.attach != nil {
				tc.attach(t, image, other)
			}
			signers := tc.signers
			if signers == "" {
				signers = exact
			}
			p := ours.policy(t, !tc.unlogged, signers, tc.more)
			judge(t, s.checker(t).Verify(t.Context(), p, image.Context().Name(), image.DigestStr()), image, tc.want)
		})
	}
}

// A rule for a key does not accept a signature with a certificate.
func TestCertificateForKey(t *testing.T) {
	t.Parallel()
	s := newServer(t, true)
	image := s.image(t)
	tag(newSigstore(t).simple(t, subject, time.Now().Add(5*time.Minute)))(t, image, image)
	p := parse(t, keyRule(t, newSigner(t), ""))
	err := s.checker(t).Verify(t.Context(), p, image.String(), image.DigestStr())
	judge(t, err, image, "it was signed with a certificate, and the rule wants a key")
}
