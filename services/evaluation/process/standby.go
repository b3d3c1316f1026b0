// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/krmfn/krmfn/services/evaluation/process/internal/child"
)

// Standby says which processes are started ahead of their calls: after a call one for the next call of an equal command, which waits
// on its standard input.
type Standby struct {
	// Processes is how many may wait for each command; 0 means none.
	Processes int
	// Total is how many may wait for all commands together. Beyond it the one that waits longest is ended, if it waits for a while
	// already: commands that are used in turn must not end each other's. Default 16.
	Total int
	// IdleTime is how long one may wait. Default 30 s.
	IdleTime time.Duration
	// Log is told of each command that gets none any more; nil for nobody.
	Log *slog.Logger
}

// Fate is what became of a process that was started ahead of its call.
type Fate string

const (
	// FateUsed means that a call was handed to the process.
	FateUsed Fate = "used"
	// FateIdle means that no call came.
	FateIdle Fate = "idle"
	// FateEvicted means that the process had to make room for others.
	FateEvicted Fate = "evicted"
	// FateReplaced means that the program was changed or replaced meanwhile.
	FateReplaced Fate = "replaced"
	// FateRefused means that the process did something else than to wait for its input. The command gets no more until its program is
	// replaced.
	FateRefused Fate = "refused"
)

// AllFates lists them.
var AllFates = []Fate{FateUsed, FateIdle, FateEvicted, FateReplaced, FateRefused}

const (
	defaultTotal    = 16
	defaultIdleTime = 30 * time.Second
	// settledPart is the part of the idle time that one waits at least before it makes room for another.
	settledPart = 6
	// mostRefused is how many programs are known at once that get no standby processes.
	mostRefused = 1000
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

// waiting is a process that waits for its input, as child.Child describes it.
type waiting interface {
	Waits() (why string)
	Outdated(c child.Command) bool
	Expendable(end func())
	End()
}

// key says which calls a process can answer.
type key struct {
	// program is the command without its limits.
	program              string
	memoryLimit, maxData int64
}

func keyOf(c Command) key {
	return key{program: c.Key(), memoryLimit: c.MemoryLimit, maxData: c.MaxData}
}

// spare is a process that has been started ahead of its call, or is being.
type spare struct {
	key key
	// started is closed when process is set. It stays nil where the start fails.
	started chan struct{}
	process waiting
	since   time.Time
	// expiry is nil before the process waits.
	expiry *time.Timer
}

// store has the processes that wait for their calls. It may be used by any number of goroutines at once.
type store struct {
	Standby
	start func(Command) (waiting, error)

	mu     sync.Mutex
	closed bool
	pace   pace
	// spares are in the order in which they were started, which is that in which their commands were used.
	spares []*spare
	// refused are the files of programs that get none.
	refused map[string]child.File
	fates   map[Fate]int64
	// work counts goroutines and timers. It grows only before the store is closed, or while it is above 0.
	work sync.WaitGroup
}

func newStore(s Standby, start func(Command) (waiting, error)) *store {
	return &store{Standby: s.withDefaults(), start: start, refused: map[string]child.File{}, fates: map[Fate]int64{}}
}

// begin notes that a call of the command begins. Where calls follow each other so closely that the next would find a process that is
// not ready yet, that is started now, if a processor is left for it.
func (s *store) begin(c Command) {
	s.mu.Lock()
	hurry := s.pace.begin(processors)
	s.mu.Unlock()
	if hurry {
		s.prepare(c)
	}
}

// done notes that a call of the command has ended, and prepares the next.
func (s *store) done(c Command) {
	s.mu.Lock()
	s.pace.end()
	s.mu.Unlock()
	s.prepare(c)
}

// prepare starts a process for the next call of a command, unless enough wait.
func (s *store) prepare(c Command) {
	if s.Processes <= 0 || c.NoStandby || len(c.Argv) == 0 {
		return
	}
	k := keyOf(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	there := 0
	for _, sp := range s.spares {
		if sp.key == k {
			there++
		}
	}
	if s.closed || there >= s.Processes || s.refuses(k, c) {
		return
	}
	if len(s.spares) >= s.Total {
		if time.Since(s.spares[0].since) < s.IdleTime/settledPart {
			return
		}
		s.end(s.spares[0], FateEvicted)
	}
	sp := &spare{key: k, started: make(chan struct{}), since: time.Now()}
	s.spares = append(s.spares, sp)
	s.work.Go(func() { s.fill(sp, c) })
}

// fill starts the process of a spare. Whoever has taken the spare out of the list meanwhile waits for that.
func (s *store) fill(sp *spare, c Command) {
	if p, err := s.start(c); err == nil {
		sp.process = p
	}
	close(sp.started)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch at := slices.Index(s.spares, sp); {
	case at < 0:
	case sp.process == nil:
		s.spares = slices.Delete(s.spares, at, at+1)
	default:
		s.work.Add(1)
		sp.expiry = time.AfterFunc(s.IdleTime, func() {
			defer s.work.Done()
			s.drop(sp, FateIdle)
		})
		sp.process.Expendable(func() { s.drop(sp, FateEvicted) })
	}
}

// take returns a process that waits for a call of the command, and nil where there is none.
func (s *store) take(c Command) waiting {
	if s.Processes <= 0 || c.NoStandby {
		return nil
	}
	k := keyOf(c)
	for {
		sp := s.next(k)
		if sp == nil {
			return nil
		}
		// It has been begun to start before this call came: nothing that could be started now is there earlier.
		<-sp.started
		if sp.process == nil {
			continue
		}
		sp.process.Expendable(nil)
		if sp.process.Outdated(c.Child()) {
			s.discard(sp, FateReplaced)
			continue
		}
		if why := sp.process.Waits(); why != "" {
			s.discard(sp, FateRefused)
			s.refuse(c, why)
			return nil
		}
		s.count(FateUsed)
		return sp.process
	}
}

// next takes the spare out of the list that waits longest for a call of a command.
func (s *store) next(k key) *spare {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.spares, func(sp *spare) bool { return sp.key == k })
	if at < 0 {
		return nil
	}
	sp := s.spares[at]
	s.remove(at)
	return sp
}

// remove takes a spare out of the list. mu is held.
func (s *store) remove(at int) {
	if expiry := s.spares[at].expiry; expiry != nil && expiry.Stop() {
		s.work.Done()
	}
	s.spares = slices.Delete(s.spares, at, at+1)
}

// drop ends a spare unless it has been taken out of the list.
func (s *store) drop(sp *spare, fate Fate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.spares, sp) {
		s.end(sp, fate)
	}
}

// end takes a spare out of the list and ends it. mu is held, and the store is not closed.
func (s *store) end(sp *spare, fate Fate) {
	s.remove(slices.Index(s.spares, sp))
	s.discard(sp, fate)
}

// discard ends the process of a spare that is in the list no more, and does not wait for that.
func (s *store) discard(sp *spare, fate Fate) {
	s.work.Go(func() {
		<-sp.started
		if sp.process != nil {
			sp.process.End()
			s.count(fate)
		}
	})
}

func (s *store) count(fate Fate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fates[fate]++
}

// counted returns how many processes there were by their fates.
func (s *store) counted() map[Fate]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.fates)
}

// size returns how many processes there are, and how many there may be.
func (s *store) size() (processes, most int) {
	if s.Processes <= 0 {
		return 0, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.spares), s.Total
}

// refuses tells whether a command gets no standby processes, until its program is replaced. mu is held.
func (s *store) refuses(k key, c Command) bool {
	file, refused := s.refused[k.program]
	return refused && file == c.Program()
}

// refuse gives the command no more standby processes.
func (s *store) refuse(c Command, why string) {
	k, file := keyOf(c), c.Program()
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, refused := s.refused[k.program]; refused && known == file {
		return
	}
	if len(s.refused) >= mostRefused {
		clear(s.refused)
	}
	s.refused[k.program] = file
	for _, sp := range slices.Clone(s.spares) {
		if sp.key.program == k.program {
			s.end(sp, FateRefused)
		}
	}
	s.Log.Warn("the function gets no more standby processes, its calls take longer", "command", c.Argv[0], "reason", why)
}

// close ends all that waits. Nobody takes or prepares any more.
func (s *store) close() {
	s.mu.Lock()
	s.closed = true
	for _, sp := range slices.Clone(s.spares) {
		s.end(sp, FateIdle)
	}
	s.mu.Unlock()
	s.work.Wait()
}
