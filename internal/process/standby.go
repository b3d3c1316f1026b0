// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/krmfn/krmfn/internal/process/internal/child"
)

// Standby configures standby processes. After a call, the runner starts a process for the next call of an equal command. It waits for
// its input on standard input.
type Standby struct {
	// Processes is the maximum number of standby processes per command. 0 disables standby processes.
	Processes int
	// Total is the maximum number of standby processes of all commands. The default is 16. When it is reached, a new standby process
	// evicts the oldest one, but only if that one is older than a sixth of IdleTime. Otherwise commands that are called in turn would
	// evict each other's processes.
	Total int
	// IdleTime is the maximum time that a standby process waits for a call. The default is 30 seconds.
	IdleTime time.Duration
	// Log gets a warning for each command that does not support standby processes. Nil discards it.
	Log *slog.Logger
}

// StandbyOutcome is what happened to a standby process.
type StandbyOutcome string

const (
	// StandbyUsed means that the process got a call.
	StandbyUsed StandbyOutcome = "used"
	// StandbyIdle means that no call came within the idle time.
	StandbyIdle StandbyOutcome = "idle"
	// StandbyEvicted means that the process was ended in favour of another command's, or so that orphans could be collected.
	StandbyEvicted StandbyOutcome = "evicted"
	// StandbyReplaced means that the executable changed after the process started.
	StandbyReplaced StandbyOutcome = "replaced"
	// StandbyRefused means that the process exited, wrote, or closed a stream before it got input. The command gets no standby processes
	// until its executable changes.
	StandbyRefused StandbyOutcome = "refused"
)

// AllStandbyOutcomes lists all outcomes.
var AllStandbyOutcomes = []StandbyOutcome{StandbyUsed, StandbyIdle, StandbyEvicted, StandbyReplaced, StandbyRefused}

const (
	defaultTotal    = 16
	defaultIdleTime = 30 * time.Second
	// evictableDivisor defines when a standby process can be evicted: after IdleTime divided by evictableDivisor.
	evictableDivisor = 6
	// maxUnsupported is the maximum number of executables recorded in store.unsupported.
	maxUnsupported = 1000
)

func (s Standby) withDefaults() Standby {
	if s.Total <= 0 {
		s.Total = defaultTotal
	}
	if s.IdleTime <= 0 {
		s.IdleTime = defaultIdleTime
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	return s
}

// childProcess is a running standby process. child.Child implements it and documents the methods.
type childProcess interface {
	WhyNotIdle() (why string)
	Outdated(c child.Command) bool
	Expendable(end func())
	End()
}

// key identifies the calls that a standby process can answer.
type key struct {
	// program is Command.Key.
	program              string
	memoryLimit, maxData int64
}

func keyOf(c Command) key {
	return key{program: c.Key(), memoryLimit: c.MemoryLimit, maxData: c.MaxData}
}

// standbyProcess is a process that is starting or waiting for its call.
type standbyProcess struct {
	key key
	// started is closed when process is set, or when the start has failed and process stays nil.
	started chan struct{}
	process childProcess
	since   time.Time
	// expiry ends the process after the idle time. It is nil until the process has started.
	expiry *time.Timer
}

// store holds the standby processes. It is safe for concurrent use.
type store struct {
	Standby
	start func(Command) (childProcess, error)

	mu     sync.Mutex
	closed bool
	pace   pace
	// idle contains the standby processes that no call has taken, sorted by start time, oldest first.
	idle []*standbyProcess
	// unsupported holds the executables that do not support standby processes, by Command.Key.
	unsupported map[string]child.File
	outcomes    map[StandbyOutcome]int64
	// work counts goroutines and timers. To satisfy sync.WaitGroup, it must not grow from 0 once the store is closed.
	work sync.WaitGroup
}

func newStore(s Standby, start func(Command) (childProcess, error)) *store {
	return &store{Standby: s.withDefaults(), start: start, unsupported: map[string]child.File{}, outcomes: map[StandbyOutcome]int64{}}
}

// begin records the start of a call. If the next call is likely to come before a process started at the end of this call would be
// ready, begin starts that process.
func (s *store) begin(c Command) {
	s.mu.Lock()
	hurry := s.pace.begin(processors)
	s.mu.Unlock()
	if hurry {
		s.prepare(c)
	}
}

// done records the end of a call and starts a process for the next one.
func (s *store) done(c Command) {
	s.mu.Lock()
	s.pace.end()
	s.mu.Unlock()
	s.prepare(c)
}

// prepare starts a standby process for the command unless it has enough of them.
func (s *store) prepare(c Command) {
	if s.Processes <= 0 || c.NoStandby || len(c.Argv) == 0 {
		return
	}
	k := keyOf(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	for _, sp := range s.idle {
		if sp.key == k {
			count++
		}
	}
	if s.closed || count >= s.Processes || s.isUnsupported(k, c) {
		return
	}
	if len(s.idle) >= s.Total {
		if time.Since(s.idle[0].since) < s.IdleTime/evictableDivisor {
			return
		}
		s.removeAndEnd(s.idle[0], StandbyEvicted)
	}
	sp := &standbyProcess{key: k, started: make(chan struct{}), since: time.Now()}
	s.idle = append(s.idle, sp)
	s.work.Go(func() { s.launch(sp, c) })
}

// launch starts the process. If a caller has removed sp from the list in the meantime, that caller waits for sp.started and owns the
// process.
func (s *store) launch(sp *standbyProcess, c Command) {
	if p, err := s.start(c); err == nil {
		sp.process = p
	}
	close(sp.started)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch at := slices.Index(s.idle, sp); {
	case at < 0:
	case sp.process == nil:
		s.idle = slices.Delete(s.idle, at, at+1)
	default:
		s.work.Add(1)
		sp.expiry = time.AfterFunc(s.IdleTime, func() {
			defer s.work.Done()
			s.endIfIdle(sp, StandbyIdle)
		})
		sp.process.Expendable(func() { s.endIfIdle(sp, StandbyEvicted) })
	}
}

// take returns a standby process for the command, or nil if there is none.
func (s *store) take(c Command) childProcess {
	if s.Processes <= 0 || c.NoStandby {
		return nil
	}
	k := keyOf(c)
	for {
		sp := s.pop(k)
		if sp == nil {
			return nil
		}
		// This process began to start before the call came, so it is ready earlier than a new one.
		<-sp.started
		if sp.process == nil {
			continue
		}
		sp.process.Expendable(nil)
		if sp.process.Outdated(c.Child()) {
			s.endAsync(sp, StandbyReplaced)
			continue
		}
		if why := sp.process.WhyNotIdle(); why != "" {
			s.endAsync(sp, StandbyRefused)
			s.markUnsupported(c, why)
			return nil
		}
		s.count(StandbyUsed)
		return sp.process
	}
}

// pop removes the oldest standby process with key k from the list and returns it, or nil.
func (s *store) pop(k key) *standbyProcess {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.idle, func(sp *standbyProcess) bool { return sp.key == k })
	if at < 0 {
		return nil
	}
	sp := s.idle[at]
	s.remove(at)
	return sp
}

// remove removes the standby process at an index of the list. The caller holds mu.
func (s *store) remove(at int) {
	if expiry := s.idle[at].expiry; expiry != nil && expiry.Stop() {
		s.work.Done()
	}
	s.idle = slices.Delete(s.idle, at, at+1)
}

// endIfIdle ends a standby process unless a call has taken it.
func (s *store) endIfIdle(sp *standbyProcess, outcome StandbyOutcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.idle, sp) {
		s.removeAndEnd(sp, outcome)
	}
}

// removeAndEnd removes a standby process from the list and ends it. The caller holds mu. The store must not be closed.
func (s *store) removeAndEnd(sp *standbyProcess, outcome StandbyOutcome) {
	s.remove(slices.Index(s.idle, sp))
	s.endAsync(sp, outcome)
}

// endAsync ends the process of a standby process that has been removed from the list. It does not wait for the process to exit.
func (s *store) endAsync(sp *standbyProcess, outcome StandbyOutcome) {
	s.work.Go(func() {
		<-sp.started
		if sp.process != nil {
			sp.process.End()
			s.count(outcome)
		}
	})
}

func (s *store) count(outcome StandbyOutcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes[outcome]++
}

// counts returns the number of standby processes that ended, by outcome.
func (s *store) counts() map[StandbyOutcome]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.outcomes)
}

// size returns the current and the maximum number of standby processes.
func (s *store) size() (processes, most int) {
	if s.Processes <= 0 {
		return 0, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.idle), s.Total
}

// isUnsupported reports whether the command's executable is known not to support standby processes. The caller holds mu.
func (s *store) isUnsupported(k key, c Command) bool {
	file, unsupported := s.unsupported[k.program]
	return unsupported && file == c.Program()
}

// markUnsupported disables standby processes for the command until its executable changes.
func (s *store) markUnsupported(c Command, why string) {
	k, file := keyOf(c), c.Program()
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, unsupported := s.unsupported[k.program]; unsupported && known == file {
		return
	}
	if len(s.unsupported) >= maxUnsupported {
		clear(s.unsupported)
	}
	s.unsupported[k.program] = file
	for _, sp := range slices.Clone(s.idle) {
		if sp.key.program == k.program {
			s.removeAndEnd(sp, StandbyRefused)
		}
	}
	s.Log.Warn("the function does not support standby processes, its calls take longer", "command", c.Argv[0], "reason", why)
}

// close ends all standby processes and waits for them. Later calls of prepare have no effect.
func (s *store) close() {
	s.mu.Lock()
	s.closed = true
	for _, sp := range slices.Clone(s.idle) {
		s.removeAndEnd(sp, StandbyIdle)
	}
	s.mu.Unlock()
	s.work.Wait()
}
