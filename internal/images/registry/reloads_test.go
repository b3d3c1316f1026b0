// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// Changes and problems of certificate authorities are reported even if no registry is used.
func TestAuthorityReloads(t *testing.T) {
	t.Parallel()
	one, two, dir := newAuthority(t, "one"), newAuthority(t, "two"), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var changes int
		var last error
		trust := registry.NewTrust(registry.TrustOptions{Dir: dir, Reloaded: func(changed bool, err error) {
			mu.Lock()
			defer mu.Unlock()
			if last = err; changed {
				changes++
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { trust.Run(ctx) })
		check := func(file, content string, wantChanges int, problem string) {
			t.Helper()
			if file != "" {
				write(t, filepath.Join(dir, file), content)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if changes != wantChanges {
				t.Errorf("with %s: %d changes, want %d", file, changes, wantChanges)
			}
			if problem == "" && last != nil || problem != "" && (last == nil || !strings.Contains(last.Error(), problem)) {
				t.Errorf("with %s: error = %v, want %q", file, last, problem)
			}
		}
		check("", "", 0, "has neither ca.crt nor ca.pem")
		check("ca.crt", one.pem, 1, "")
		check("", "", 1, "")
		check("r.io:5000/ca.crt", two.pem, 2, "")
		check("r.io:5000/ca.crt", "no certificate", 2, "r.io:5000/ca.crt has no valid certificate in PEM")
		check("ca.crt", two.pem, 3, "r.io:5000/ca.crt has no valid certificate in PEM")
		if err := os.RemoveAll(filepath.Join(dir, "r.io:5000")); err != nil {
			t.Error(err)
		}
		check("", "", 4, "")
		cancel()
		running.Wait()
	})
}
