// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package wrapperapi_test

import (
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/krmfn/krmfn/internal/wrapperapi"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		trailer metadata.MD
		want    bool
	}{
		{wrapperapi.Refusal(), true},
		{metadata.Pairs("krmfn-not-run", "1"), true},
		{nil, false},
		{metadata.Pairs("krmfn-not-run", ""), false},
		{metadata.Pairs("krmfn-not-run", "0"), false},
		{metadata.Pairs("content-type", "application/grpc"), false},
	} {
		if got := wrapperapi.Refused(tc.trailer); got != tc.want {
			t.Errorf("Refused(%v) = %v, want %v", tc.trailer, got, tc.want)
		}
	}
}

func TestHasBegun(t *testing.T) {
	t.Parallel()
	if !wrapperapi.HasBegun(wrapperapi.Begun()) {
		t.Error("HasBegun(Begun()) = false, want true")
	}
	if wrapperapi.HasBegun(nil) || wrapperapi.HasBegun(wrapperapi.Refusal()) {
		t.Error("HasBegun() of a header without Begun = true, want false")
	}
}
