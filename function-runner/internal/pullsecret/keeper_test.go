// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pullsecret

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	one = `{"auths":{"r.io":{"auth":"T05FCg=="}}}`
	two = `{"auths":{"r.io":{"auth":"VFdPCg=="}}}`
)

var secrets = schema.GroupResource{Resource: "secrets"}

type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// harness has a cluster, a docker config file, and a Keeper for them.
type harness struct {
	*Keeper
	client *fake.Clientset
	file   string
	log    *logText
}

func newHarness(t *testing.T, content string, objects ...runtime.Object) *harness {
	t.Helper()
	h := &harness{client: fake.NewClientset(objects...), file: filepath.Join(t.TempDir(), ".dockerconfigjson"), log: &logText{}}
	h.write(t, content)
	h.Keeper = New(Config{
		Client: h.client.CoreV1().Secrets("fns"), Namespace: "fns", Name: "auth-secret", File: h.file, Log: slog.New(slog.NewTextHandler(h.log, nil)),
	})
	return h
}

func (h *harness) write(t *testing.T, content string) {
	t.Helper()
	// Replace the file by a rename, like a mounted Secret.
	next := h.file + ".next"
	if err := os.WriteFile(next, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, h.file); err != nil {
		t.Fatal(err)
	}
}

// found returns the content of the Secret, or an empty string if there is none.
func (h *harness) found(t *testing.T) string {
	t.Helper()
	secret, err := h.client.CoreV1().Secrets("fns").Get(t.Context(), "auth-secret", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(secret.Data[corev1.DockerConfigJsonKey])
}

// verbs returns the requests since its last call.
func (h *harness) verbs() []string {
	var verbs []string
	for _, action := range h.client.Actions() {
		verbs = append(verbs, action.GetVerb()+" "+action.GetNamespace()+" "+action.GetResource().Resource)
	}
	h.client.ClearActions()
	return verbs
}

func secret(change func(*corev1.Secret)) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "auth-secret", Namespace: "fns"}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(two)},
	}
	change(s)
	return s
}

func TestCreateAndUpdate(t *testing.T) {
	t.Parallel()
	h := newHarness(t, one)
	for _, step := range []struct {
		content string
		want    []string
	}{
		{one, []string{"get fns secrets", "create fns secrets"}},
		{one, nil},
		{two, []string{"get fns secrets", "update fns secrets"}},
		{two, nil},
	} {
		h.write(t, step.content)
		if err := h.attempt(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, h.verbs()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if got := h.found(t); got != step.content {
			t.Errorf("content of the Secret = %s, want %s", got, step.content)
		}
		h.client.ClearActions()
	}
	made, err := h.client.CoreV1().Secrets("fns").Get(t.Context(), "auth-secret", metav1.GetOptions{})
	if err != nil || made.Type != corev1.SecretTypeDockerConfigJson || made.Labels[managedBy] != manager {
		t.Errorf("labels of the Secret = %v, error %v, want %s managed by %s", made.Labels, err, corev1.SecretTypeDockerConfigJson, manager)
	}
}

func TestExistingSecret(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*corev1.Secret)
		want   string
	}{
		"of Porch":        {change: func(*corev1.Secret) {}},
		"without data":    {change: func(s *corev1.Secret) { s.Data = nil }},
		"with other keys": {change: func(s *corev1.Secret) { s.Data["other"] = []byte("kept") }},
		"other type":      {change: func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }, want: "has the type Opaque, want kubernetes.io/dockerconfigjson"},
		"other type, same": {change: func(s *corev1.Secret) {
			s.Type, s.Data[corev1.DockerConfigJsonKey] = corev1.SecretTypeOpaque, []byte(one)
		}, want: "has the type Opaque"},
		"of another":      {change: func(s *corev1.Secret) { s.Labels = map[string]string{managedBy: "Helm"} }, want: `is managed by "Helm"`},
		"immutable":       {change: func(s *corev1.Secret) { s.Immutable = new(true) }, want: "is immutable"},
		"immutable, same": {change: func(s *corev1.Secret) { s.Immutable, s.Data[corev1.DockerConfigJsonKey] = new(true), []byte(one) }},
		"leaving": {change: func(s *corev1.Secret) {
			s.DeletionTimestamp, s.Finalizers = new(metav1.Now()), []string{"a/b"}
		}, want: "is being deleted"},
		"leaving, same": {change: func(s *corev1.Secret) {
			s.DeletionTimestamp, s.Finalizers, s.Data[corev1.DockerConfigJsonKey] = new(metav1.Now()), []string{"a/b"}, []byte(one)
		}, want: "is being deleted"},
	} {
		h := newHarness(t, one, secret(tc.change))
		before := h.found(t)
		err := h.attempt(t.Context())
		if tc.want == "" && (err != nil || h.found(t) != one) {
			t.Errorf("%s: attempt() = %v, content = %s, want nil and the file's content", name, err, h.found(t))
		}
		if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || h.found(t) != before) {
			t.Errorf("%s: attempt() = %v, want %q and an unchanged Secret", name, err, tc.want)
		}
		if tc.want != "" && strings.Contains(err.Error(), "auth\"") {
			t.Errorf("%s: attempt() = %v, want an error without the content", name, err)
		}
		for _, verb := range h.verbs() {
			if strings.Contains(verb, "delete") {
				t.Errorf("%s: request %q, want no delete requests", name, verb)
			}
		}
		if got, err := h.client.CoreV1().Secrets("fns").Get(t.Context(), "auth-secret", metav1.GetOptions{}); err != nil || name == "with other keys" && string(got.Data["other"]) != "kept" {
			t.Errorf("%s: the Secret or its other keys are lost: %v", name, err)
		}
	}
}

func TestFileThatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "S3CRET", `{"auths":"S3CRET"}`, `{"auths":{"r.io":"S3CRET"}}`, `{"credsStore":"S3CRET"}`, `null`, strings.Repeat(" ", maxFile+1)} {
		h := newHarness(t, content, secret(func(*corev1.Secret) {}))
		err := h.attempt(t.Context())
		if err == nil || strings.Contains(err.Error(), "S3CRET") || !strings.Contains(err.Error(), h.file) {
			t.Errorf("attempt() with %.20q = %v, want an error that names only the file", content, err)
		}
		if verbs := h.verbs(); verbs != nil {
			t.Errorf("requests with %.20q = %v, want none", content, verbs)
		}
	}
	h := newHarness(t, one)
	h.config.File += "-lost"
	if err := h.attempt(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("attempt() without a file = %v, want ErrNotExist", err)
	}
}

// react replaces the response to the first requests with a verb.
func (h *harness) react(verb string, times int, answer func() error) {
	h.client.PrependReactor(verb, "secrets", func(k8stesting.Action) (bool, runtime.Object, error) {
		if times == 0 {
			return false, nil, nil
		}
		times--
		return true, nil, answer()
	})
}

// Another replica has created or changed the Secret at the same time.
func TestRaces(t *testing.T) {
	t.Parallel()
	h := newHarness(t, one)
	h.react("create", 1, func() error {
		if err := h.client.Tracker().Add(secret(func(*corev1.Secret) {})); err != nil {
			t.Error(err)
		}
		return apierrors.NewAlreadyExists(secrets, "auth-secret")
	})
	h.react("update", 2, func() error { return apierrors.NewConflict(secrets, "auth-secret", errors.New("changed")) })
	if err := h.attempt(t.Context()); err != nil || h.found(t) != one {
		t.Errorf("attempt() = %v, want nil and the file's content", err)
	}
	lost := newHarness(t, one, secret(func(s *corev1.Secret) { s.ResourceVersion = "7" }))
	lost.client.PrependReactor("update", "secrets", func(action k8stesting.Action) (bool, runtime.Object, error) {
		// Without the resource version, the other replica's change would be lost.
		if sent := action.(k8stesting.UpdateAction).GetObject().(*corev1.Secret); sent.ResourceVersion != "7" {
			t.Errorf("resource version of the update = %q, want 7", sent.ResourceVersion)
		}
		return true, nil, apierrors.NewConflict(secrets, "auth-secret", errors.New("changed"))
	})
	if err := lost.attempt(t.Context()); err == nil || !strings.Contains(err.Error(), "Conflict, 409") || len(lost.verbs()) != 2*races {
		t.Errorf("attempt() with conflicts only = %v, want a Conflict", err)
	}
}

// Errors do not quote the API server's messages, which may contain the request.
func TestAnswersAreNotQuoted(t *testing.T) {
	t.Parallel()
	quoting := errors.New("denied: " + one)
	for want, err := range map[string]error{
		"get, create and update secrets in namespace fns": apierrors.NewForbidden(secrets, "auth-secret", quoting),
		"make the namespace fns":                          apierrors.NewNotFound(secrets, one),
		"BadRequest, 400":                                 apierrors.NewBadRequest(one),
		"InternalError, 500":                              apierrors.NewInternalError(quoting),
		"dial":                                            errors.New("dial tcp: refused"),
	} {
		h := newHarness(t, one)
		h.react("create", -1, func() error { return err })
		if got := h.attempt(t.Context()); got == nil || !strings.Contains(got.Error(), want) || strings.Contains(got.Error(), "T05F") {
			t.Errorf("attempt() = %v, want an error with %q and without the content", got, want)
		}
	}
}

// keep makes an attempt on a signal and at intervals. It backs off after errors, and logs each new error once.
func TestKeep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, one)
		h.react("get", 5, func() error { return apierrors.NewInternalError(errors.New("down")) })
		ctx, cancel := context.WithCancel(t.Context())
		changed := make(chan struct{}, 1)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			h.keep(ctx, changed)
		}()
		<-h.Tried()
		time.Sleep(time.Minute)
		synctest.Wait()
		if verbs := h.verbs(); len(verbs) != 7 {
			t.Errorf("requests = %v, want 7", verbs)
		}
		if text := h.log.String(); strings.Count(text, "not up to date") != 1 || strings.Count(text, "created") != 1 {
			t.Errorf("log = %s, want one error and one creation", text)
		}
		// Change the file.
		h.write(t, two)
		changed <- struct{}{}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := h.found(t); got != two {
			t.Errorf("content of the Secret = %s, want that of the changed file", got)
		}
		// Delete the Secret.
		if err := h.client.CoreV1().Secrets("fns").Delete(t.Context(), "auth-secret", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(recheck + time.Second)
		synctest.Wait()
		if got := h.found(t); got != two {
			t.Errorf("content of the deleted Secret = %q, want it restored", got)
		}
		// Many signals do not cause many requests, and an idle hour needs few requests.
		h.verbs()
		h.write(t, "broken")
		for range 100 {
			select {
			case changed <- struct{}{}:
			default:
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Hour)
		if verbs := h.verbs(); len(verbs) > 0 {
			t.Errorf("requests with an invalid file = %v, want none", verbs)
		}
		h.write(t, two)
		time.Sleep(time.Hour)
		if verbs := h.verbs(); len(verbs) < 10 || len(verbs) > 15 {
			t.Errorf("requests in an hour = %d, want 10 to 15", len(verbs))
		}
		// The last-use annotation is updated without a log line.
		kept, err := h.client.CoreV1().Secrets("fns").Get(ctx, "auth-secret", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		last, err := time.Parse(time.RFC3339, kept.Annotations[functionpod.LastUseAnnotation])
		if err != nil || time.Since(last) > renewal+recheck || kept.Labels[functionpod.PullSecretLabel] != functionpod.Keeper {
			t.Errorf("last use of the Secret = %v, labels %v, want a recent one and the keeper's label", last, kept.Labels)
		}
		if text := h.log.String(); strings.Count(text, "pull secret of the function pods updated") != 1 {
			t.Errorf("log = %s, want one update", text)
		}
		cancel()
		<-ended
	})
}

// Two replicas share a file, and watch it in the file system.
func TestRun(t *testing.T) {
	t.Parallel()
	h := newHarness(t, one)
	updated := make(chan struct{}, 10)
	h.client.PrependReactor("update", "secrets", func(k8stesting.Action) (bool, runtime.Object, error) {
		updated <- struct{}{}
		return false, nil, nil
	})
	other := New(h.config)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { h.Run(ctx) })
	group.Go(func() { other.Run(ctx) })
	<-h.Tried()
	<-other.Tried()
	if got := h.found(t); got != one {
		t.Errorf("content of the Secret = %q, want the file's", got)
	}
	h.write(t, two)
	<-updated
	cancel()
	group.Wait()
	if text := h.log.String(); strings.Contains(text, "T05F") || strings.Contains(text, "VFdP") || strings.Contains(text, "ERROR") {
		t.Errorf("log = %s, want no errors and no credentials", text)
	}
}

// Run works and ends even if the file's directory does not exist.
func TestRunWithoutDirectory(t *testing.T) {
	t.Parallel()
	h := newHarness(t, one)
	h.config.File = filepath.Join(h.file, "lost", "file")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.Run(ctx)
	}()
	<-h.Tried()
	cancel()
	<-ended
	if text := h.log.String(); strings.Count(text, "not up to date") != 1 {
		t.Errorf("log = %s, want one error", text)
	}
}
