// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package wrapperapi_test

import (
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/krmfn/krmfn/internal/wrapperapi"
)

func TestTarget(t *testing.T) {
	t.Parallel()
	mine := wrapperapi.Target{PodUID: "1", Function: wrapperapi.FunctionName("r.io/fn:v1", "sha256:a")}
	if got := wrapperapi.TargetOf(metadata.Pairs(mine.Metadata()...)); got != mine {
		t.Errorf("TargetOf() = %+v, want %+v", got, mine)
	}
	for _, tc := range []struct {
		meant wrapperapi.Target
		want  bool
	}{
		{mine, true},
		{wrapperapi.Target{}, true},
		{wrapperapi.Target{PodUID: "1"}, true},
		{wrapperapi.Target{PodUID: "2", Function: mine.Function}, false},
		{wrapperapi.Target{PodUID: "1", Function: "r.io/other:v1@sha256:a"}, false},
		{wrapperapi.Target{PodUID: "1", Function: "r.io/fn:v1@sha256:b"}, false},
	} {
		if got := mine.Matches(tc.meant); got != tc.want {
			t.Errorf("Matches(%+v) = %v, want %v", tc.meant, got, tc.want)
		}
	}
	if got, want := wrapperapi.FunctionName("r.io/fn@sha256:a", "sha256:a"), "r.io/fn@sha256:a"; got != want {
		t.Errorf("FunctionName() = %s, want %s", got, want)
	}
}

func TestMisdirectionIsARefusal(t *testing.T) {
	t.Parallel()
	if trailer := wrapperapi.Misdirection(); !wrapperapi.Refused(trailer) || !wrapperapi.Misdirected(trailer) {
		t.Error("Refused() or Misdirected() = false, want true")
	}
	if wrapperapi.Misdirected(wrapperapi.Refusal()) {
		t.Error("Misdirected(Refusal()) = true, want false")
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	want := wrapperapi.Load{Running: 3, Waiting: 12}
	if got, ok := wrapperapi.LoadOf(metadata.Join(wrapperapi.Begun(), want.Metadata())); !ok || got != want {
		t.Errorf("LoadOf() = %+v, %v, want %+v", got, ok, want)
	}
	for _, text := range []string{"", "3", "3/", "-1/2", "a/b", "1/2/3", "99999999999/1"} {
		if got, ok := wrapperapi.LoadOf(metadata.Pairs("krmfn-load", text)); ok {
			t.Errorf("LoadOf(%q) = %+v, want none", text, got)
		}
	}
}

func TestNoRoomIsARefusal(t *testing.T) {
	t.Parallel()
	if trailer := wrapperapi.NoRoom(); !wrapperapi.Refused(trailer) || !wrapperapi.Busy(trailer) || wrapperapi.Busy(wrapperapi.Refusal()) {
		t.Error("Busy() does not distinguish NoRoom() from Refusal()")
	}
}
