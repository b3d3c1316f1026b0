// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/krmfn/krmfn/internal/process"
)

// TestPool makes random concurrent calls. It checks the limits on workers and that each call gets its own answer.
func TestPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(noDeadline{t}, func(rt *rapid.T) {
			perCommand, total := rapid.IntRange(1, 3).Draw(rt, "workers per command"), rapid.IntRange(1, 4).Draw(rt, "workers")
			th := newFakePool(t, perCommand, total)
			var calls sync.WaitGroup
			defer func() {
				th.Close()
				calls.Wait()
				if n := th.alive(); n != 0 {
					rt.Errorf("%d workers alive after Close", n)
				}
			}()
			names, lists := rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"x", "x", "x", "spend", "wear", "die", "untouched", "hang"})
			rt.Repeat(map[string]func(*rapid.T){
				"call": func(rt *rapid.T) {
					name, list := names.Draw(rt, "command"), lists.Draw(rt, "call")
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					calls.Go(func() {
						defer cancel()
						out, err := th.Pool.Run(ctx, process.Command{Argv: []string{os.Args[0], name}, Worker: true}, []byte(list))
						if (err != nil) != (list == "hang" && string(out.Stdout) != "process") || len(out.Stdout) == 0 {
							rt.Errorf("call %s: stdout %q, error %v", list, out.Stdout, err)
						}
					})
				},
				"time passes": func(rt *rapid.T) {
					time.Sleep(time.Duration(rapid.IntRange(1, 40_000).Draw(rt, "milliseconds")) * time.Millisecond)
				},
				"sweep": func(*rapid.T) {
					for _, h := range th.fakes {
						h.leave()
					}
				},
				"": func(rt *rapid.T) {
					synctest.Wait()
					th.mu.Lock()
					defer th.mu.Unlock()
					perCommandAlive, alive := map[string]int{}, 0
					for _, h := range th.fakes {
						if h.ended.Err() == nil {
							perCommandAlive[h.command.Argv[1]]++
							alive++
						}
					}
					for name, n := range perCommandAlive {
						if n > perCommand {
							rt.Errorf("command %s has %d workers, want at most %d", name, n, perCommand)
						}
					}
					if alive > total || alive != th.size {
						rt.Errorf("%d workers alive, want at most %d, and size %d", alive, total, th.size)
					}
				},
			})
		})
	})
}

// noDeadline hides the method Deadline of testing.T, which panics in a synctest bubble.
type noDeadline struct{ testing.TB }
