// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a size whose simulation takes about a second.
var small = Size{Replicas: 3, Functions: 20, Rate: 50, MaxPods: 2}

// Limits that every simulation must meet.
const (
	maxCreationsPerPod = 1.2
	maxCalm            = 30
)

func play(t *testing.T, size Size, event Event) (result Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { result = run(t, size, event) })
	return result
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, event := range []Event{None, Rollout, NodeLost, APIServerAway, RestartAll} {
		t.Run(string(event), func(t *testing.T) {
			t.Parallel()
			check(t, play(t, small, event))
		})
	}
}

func check(t *testing.T, r Result) {
	t.Helper()
	all := Phase{}
	for name, phase := range map[string]Phase{"first calls": r.First, "before": r.Before, "after": r.After} {
		if phase.Failed > 0 {
			t.Errorf("%s: %d of %d calls failed, want 0: %v", name, phase.Failed, phase.Calls, r.Errors)
		}
		all.Requests.Created += phase.Requests.Created
		all.Requests.Collisions += phase.Requests.Collisions
		all.Requests.Get += phase.Requests.Get
	}
	if all.CreationsPerPod() > maxCreationsPerPod {
		t.Errorf("requests per created pod = %.2f, want at most %g: %+v", all.CreationsPerPod(), maxCreationsPerPod, all.Requests)
	}
	if r.Calm < 0 || r.Calm > maxCalm {
		t.Errorf("calls were slow for %d seconds (-1 means to the end), want at most %d", r.Calm, maxCalm)
	}
}

var (
	reportFile = flag.String("report", "", "file that the results at scale are written to, as JSON; without one, a small size is tried")
	sizes      = []Size{{1, 10, 10, 2}, {2, 50, 100, 2}, {5, 100, 500, 2}, {10, 500, 1000, 2}, {10, 5000, 2000, 2}, {20, 1000, 5000, 8}, {50, 500, 10000, 8}, {50, 5000, 2000, 2}}
	eventful   = []Size{{10, 500, 1000, 2}, {50, 500, 2000, 2}}
)

// measurement is a result, and the maximum number of pods that a single replica needs for the same load.
type measurement struct {
	Result
	Ideal int
}

// TestSizes compares the number of pods of several replicas and of a single replica. With -report, it runs all sizes and events.
func TestSizes(t *testing.T) { //nolint:paralleltest // it logs the memory per replica
	if *reportFile == "" {
		measure(t, small, None)
		return
	}
	var report []measurement
	add := func(size Size, event Event) {
		report = append(report, measure(t, size, event))
		text, err := json.Marshal(report)
		if err == nil {
			err = os.WriteFile(*reportFile, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, size := range eventful {
		for _, event := range []Event{Rollout, NodeLost, APIServerAway, RestartAll} {
			add(size, event)
		}
	}
	for _, size := range sizes {
		add(size, None)
	}
}

// ideals caches the maximum numbers of pods of a single replica.
var ideals = map[Size]int{}

func measure(t *testing.T, size Size, event Event) measurement {
	t.Helper()
	m := measurement{Result: play(t, size, event)}
	alone := size
	alone.Replicas = 1
	if ideals[alone] == 0 {
		ideals[alone] = play(t, alone, None).Pods
	}
	m.Ideal = ideals[alone]
	t.Logf("%v, %s: %d pods (%d by one replica), %.2f requests per pod, calm after %d s, %+v", size, event, m.Pods, m.Ideal, m.First.CreationsPerPod(), m.Calm, m.After)
	check(t, m.Result)
	if most := 1.15*float64(m.Ideal) + 3; float64(m.Pods) > most {
		t.Errorf("%v: pods = %d, want at most 15%% plus 3 more than the %d of one replica", size, m.Pods, m.Ideal)
	}
	return m
}
