// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfigs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/krmfn/krmfn/internal/server/logging"
)

const (
	// Finalizer is the finalizer that Porch's function runner adds to objects. This function runner needs no finalizer, and only removes
	// it.
	Finalizer = "config.porch.kpt.dev/functionconfig-function-runner"
	// reporter is the prefix of each status.error that a function runner writes. A function runner removes only errors with this prefix.
	reporter = "function-runner: "
	// maxError is the maximum length of a status.error, in bytes.
	maxError = 1024

	observedField, errorField = "functionRunnerObservedGeneration", "error"
)

// change is a merge patch for an object. The patch contains the resource version that it applies to, so that only one replica succeeds,
// and a later version does not get the report on an earlier one.
type change struct {
	patch       []byte
	subresource []string
	// content identifies what the patch reports, regardless of the resource version.
	content string
}

// text returns the wanted status.error, or an empty string for none.
func (v *verdict) text() string {
	if len(v.problems) == 0 {
		return ""
	}
	text := strings.ToValidUTF8(strings.ReplaceAll(reporter+strings.Join(v.problems, "; "), "\n", " "), "?")
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError-len("…")], "") + "…"
	}
	return text
}

// change returns the patch that the object needs, or nil if it needs none.
func (v *verdict) change() *change {
	if v.object.GetDeletionTimestamp() != nil {
		return v.release()
	}
	observed, _, _ := unstructured.NestedInt64(v.object.Object, "status", observedField)
	current, _, _ := unstructured.NestedString(v.object.Object, "status", errorField)
	status := map[string]any{}
	if generation := v.object.GetGeneration(); observed != generation {
		status[observedField] = generation
	}
	wanted := v.text()
	switch {
	case wanted != "" && wanted != current:
		status[errorField] = wanted
	case wanted == "" && strings.HasPrefix(current, reporter):
		status[errorField] = nil
	}
	if len(status) == 0 {
		return nil
	}
	content := fmt.Sprint(v.object.GetGeneration(), " ", wanted)
	return &change{patch: v.patch(map[string]any{}, map[string]any{"status": status}), subresource: []string{"status"}, content: content}
}

// release returns the patch that removes the finalizer from an object that is being deleted.
func (v *verdict) release() *change {
	finalizers := v.object.GetFinalizers()
	left := slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == Finalizer })
	if len(left) == len(finalizers) {
		return nil
	}
	return &change{patch: v.patch(map[string]any{"finalizers": left}, map[string]any{}), content: Finalizer}
}

func (v *verdict) patch(metadata, fields map[string]any) []byte {
	metadata["resourceVersion"], fields["metadata"] = v.object.GetResourceVersion(), metadata
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err) // these values can always be marshalled
	}
	return text
}

const (
	// fieldManager is the field manager of patches.
	fieldManager = "krm-function-runner"
	// writesPerSecond and writeBurst limit the rate of patches for all objects.
	writesPerSecond, writeBurst = 2, 20
	// writeTimeout is the timeout of one patch.
	writeTimeout = 10 * time.Second
	// repeatAfter is the minimum time between two equal reports on an object whose status has changed in between. Another replica may
	// disagree, and both would overwrite each other continuously.
	repeatAfter = 10 * time.Minute
)

// writer patches the objects one at a time.
type writer struct {
	f       *Follower
	limiter flowcontrol.RateLimiter
	wanted  chan struct{}

	// The following fields belong to run. said holds the latest report on each object, and logged prevents repeated log messages.
	said   map[types.UID]saying
	logged logging.Once
}

type saying struct {
	content string
	when    time.Time
}

func newWriter(f *Follower) *writer {
	return &writer{
		f: f, limiter: flowcontrol.NewTokenBucketRateLimiter(writesPerSecond, writeBurst), wanted: make(chan struct{}, 1),
		said: map[types.UID]saying{},
	}
}

// look makes the writer check all objects soon. It does not block.
func (w *writer) look() { signal(w.wanted) }

// run patches objects until ctx ends.
func (w *writer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wanted:
		}
		verdicts := w.f.state.Load().verdicts
		there := make(map[types.UID]bool, len(verdicts))
		for _, name := range slices.Sorted(maps.Keys(verdicts)) {
			there[verdicts[name].object.GetUID()] = true
			w.write(ctx, name)
		}
		maps.DeleteFunc(w.said, func(uid types.UID, _ saying) bool { return !there[uid] })
	}
}

// write patches an object if it needs a patch. A failed patch is retried at the next check of the objects.
func (w *writer) write(ctx context.Context, name string) {
	v := w.f.state.Load().verdicts[name]
	if v == nil {
		return
	}
	c, uid := v.change(), v.object.GetUID()
	if c == nil {
		return
	}
	if last := w.said[uid]; last.content == c.content && time.Since(last.when) < repeatAfter {
		return
	}
	if w.limiter.Wait(ctx) != nil {
		return
	}
	inTime, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err := w.f.config.Client.Patch(inTime, name, types.MergePatchType, c.patch, metav1.PatchOptions{FieldManager: fieldManager}, c.subresource...)
	switch {
	case err == nil:
		w.said[uid], w.logged = saying{c.content, time.Now()}, logging.Once{}
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		// The watch will deliver a later version.
	case apierrors.IsForbidden(err):
		w.said[uid] = saying{c.content, time.Now()}
		w.failed(ctx, "the status and the finalizers of FunctionConfig objects are not written, which takes permissions", errForbidden, "needed", needed, "err", err)
	default:
		w.failed(ctx, "a FunctionConfig object cannot be written", err, "name", name, "err", err)
	}
}

// errForbidden replaces all Forbidden errors in the log check, because their texts name different objects.
var errForbidden = errors.New("forbidden")

// failed logs a problem once.
func (w *writer) failed(ctx context.Context, message string, problem error, args ...any) {
	if ctx.Err() == nil && w.logged.New(problem) {
		w.f.config.Log.WarnContext(ctx, message, append(args, "namespace", w.f.config.Namespace)...)
	}
}
