// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/internal/images/policy"
)

func TestSignatureErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"signatures: [{}]":                                           "signatures[0]: it names no signer",
		"signatures: [{keys: []}]":                                   "signatures[0]: it names no signer",
		"signatures: [{key: a}]":                                     `unknown field "signatures[0].key"`,
		"signatures:":                                                "signatures has no value",
		"signatures: [{prefix: '', keys: [{data: x}]}]":              `signatures[0]: prefix "" is not a registry path`,
		"signatures: [{keys: [{}]}]":                                 "keys[0]: set one of file and data",
		"signatures: [{keys: [{file: a, data: b}]}]":                 "keys[0]: set one of file and data",
		"signatures: [{keys: [{data: x}]}]":                          "signatures[0].keys[0] has no public key in PEM",
		"signatures: [{keys: [{file: team.pub}]}]":                   `file "team.pub" is not supported here`,
		"trustedRoot: root.json":                                     `trustedRoot: file "root.json" is not supported here`,
		"signatures: [{keyless: [{subject: a}]}]":                    "keyless[0]: issuer is empty",
		"signatures: [{keyless: [{issuer: a}]}]":                     "keyless[0]: set one of subject and subjectRegExp",
		"signatures: [{keyless: [{issuer: a, subject: b}]}]":         "keyless needs a trusted root",
		"signatures: [{keyless: [{issuer: a, subjectRegExp: '('}]}]": `the regular expression "("`,
		"signatures: [{attestations: [{predicateType: ''}]}]":        "attestations[0]: predicateType is empty",
	} {
		if _, err := policy.Parse([]byte(head + text + "\n")); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Parse(%s) = %v, want %s", text, err, want)
		}
	}
}

// The content of the files is part of the policy: if a key changes, the policy changes.
func TestKeysFromFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.yaml")
	write(t, file, head+"signatures: [{prefix: r.io/team, keys: [{file: team.pub}]}]\n")
	if _, err := policy.NewStore(file, nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "team.pub") {
		t.Fatalf("NewStore() with a missing key = %v, want an error with its name", err)
	}
	write(t, filepath.Join(dir, "team.pub"), newKey(t))
	s, err := policy.NewStore(file, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := s.Policy().Signatures("r.io/team/fn:v1")
	if err != nil || len(rules) != 1 || rules[0].Keys[0].Name != "team.pub" {
		t.Fatalf("Signatures() = %+v, %v", rules, err)
	}
	if others, err := s.Policy().Signatures("r.io/teams/fn:v1"); err != nil || len(others) != 0 {
		t.Errorf("Signatures() of another repository = %+v, %v; want none", others, err)
	}
	if changed, err := s.Load(); changed || err != nil {
		t.Errorf("Load() without a change = %v, error %v", changed, err)
	}
	write(t, filepath.Join(dir, "team.pub"), newKey(t))
	if changed, err := s.Load(); !changed || err != nil {
		t.Errorf("Load() after a change of the key = %v, error %v", changed, err)
	}
	if changed, err := s.Policy().Signatures("r.io/team/fn"); err != nil || changed[0].ID == rules[0].ID {
		t.Errorf("ID with another key is unchanged, error %v", err)
	}
}

func newKey(t *testing.T) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}
