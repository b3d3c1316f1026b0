// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/cluster/injection"
	"github.com/krmfn/krmfn/internal/server/logging"
)

// reload is the interval at which the loader reads the ConfigMap of the template.
const reload = 10 * time.Second

// TemplateSource configures where the template of pods comes from.
type TemplateSource struct {
	// Cluster reports the version of the cluster.
	Cluster injection.Cluster
	// Namespace and ConfigMap name a ConfigMap with a template. If ConfigMap is empty, the default template applies.
	Namespace, ConfigMap string
	ConfigMaps           ConfigMaps
	// WrapperImage is the image of the wrapper server. Injection is how the wrapper server gets into pods whose template does not contain
	// it.
	WrapperImage string
	Injection    injection.Method
	// Env is the environment of injected wrapper servers.
	Env []corev1.EnvVar
	// AssignedUser leaves the user of pods of the default template to admission.
	AssignedUser bool
	// Reloaded is called after each read of the ConfigMap with whether the template has changed, or why it is not used. It may be nil.
	Reloaded func(changed bool, err error)
	// Trust returns the clients that wrapper servers accept. If Trust is nil, they accept all clients. Trust applies to injected wrapper
	// servers, and with TrustAlways also to wrapper servers from a ConfigMap, which may not support it.
	Trust       func() []string
	TrustAlways bool
	Log         *slog.Logger
}

// TemplateLoader provides the current template. Its methods are safe for concurrent use.
type TemplateLoader struct {
	source  TemplateSource
	current atomic.Pointer[podtemplate.Template]
	logged  logging.Once

	// mu guards the inputs of the current template, and serialises changes of current.
	mu     sync.Mutex
	method injection.Method
	// configMap is the current ConfigMap, or nil.
	configMap *corev1.ConfigMap
}

// LoadTemplate returns a loader that has loaded the template. Errors name the invalid field of the ConfigMap.
func LoadTemplate(ctx context.Context, source TemplateSource) (*TemplateLoader, error) {
	l := &TemplateLoader{source: source}
	var cm *corev1.ConfigMap
	if source.ConfigMap != "" {
		var err error
		if cm, err = l.fetch(ctx); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.put(source.method(ctx), cm)
	return l, err
}

// put builds the template from an injection method and a ConfigMap, which may be nil, and reports whether the template has changed. On
// error, the current template stays. The caller must hold the lock.
func (l *TemplateLoader) put(method injection.Method, cm *corev1.ConfigMap) (changed bool, err error) {
	template, err := l.source.builtin(method)
	if err == nil && cm != nil {
		template, err = podtemplate.Parse(cm, template)
	}
	if err == nil && l.source.Trust != nil && (template.Injected || l.source.TrustAlways) {
		template, err = template.Secured(l.source.Trust())
	}
	if err != nil {
		return false, err
	}
	l.method, l.configMap = method, cm
	before := l.current.Swap(template)
	return before == nil || before.Version != template.Version, nil
}

func (s *TemplateSource) builtin(method injection.Method) (*podtemplate.Template, error) {
	template, err := podtemplate.Default(s.WrapperImage, method, s.Env...)
	if err != nil || !s.AssignedUser {
		return template, err
	}
	return template.WithAssignedUser()
}

// method returns the configured method, or the one that the version of the cluster supports.
func (s *TemplateSource) method(ctx context.Context) injection.Method {
	if s.Injection != injection.Auto {
		return s.Injection
	}
	found, err := injection.Detect(ctx, s.Cluster)
	if err != nil {
		s.Log.Warn("the version of Kubernetes is not known, so that function pods get an init container", "err", err)
	}
	return found
}

// Current returns the current template.
func (l *TemplateLoader) Current() *podtemplate.Template { return l.current.Load() }

// wrapperAdvice returns what to change in the ConfigMap if the wrapper server that its template contains is not krmfn's. It returns an
// empty string if the function runner injects the wrapper server.
func (l *TemplateLoader) wrapperAdvice() string {
	template := l.Current()
	if template.Injected || len(template.Pod.Spec.InitContainers) == 0 {
		return ""
	}
	init := template.Pod.Spec.InitContainers[0]
	return fmt.Sprintf("the wrapper server comes from image %s of init container %s, which is not krmfn's: write %s there, in ConfigMap %s",
		init.Image, init.Name, l.source.WrapperImage, l.source.ConfigMap)
}

// RefuseImageVolumes switches from image volumes to an init container, unless image volumes were configured explicitly, and reports
// whether the template has changed.
func (l *TemplateLoader) RefuseImageVolumes(reason string) bool {
	if l.source.Injection != injection.Auto {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if changed, err := l.put(injection.InitContainer, l.configMap); err != nil || !changed {
		return false
	}
	l.source.Log.Warn("image volumes do not work here, function pods get an init container from now on, which takes about a second longer: "+
		"say so with --wrapper-injection=init-container", "reason", reason)
	return true
}

// Watch applies changes of the ConfigMap until ctx ends, and calls changed after each. An invalid ConfigMap does not replace the current
// template.
func (l *TemplateLoader) Watch(ctx context.Context, changed func()) {
	if l.source.ConfigMap == "" {
		return
	}
	_ = wait.PollUntilContextCancel(ctx, reload, false, func(ctx context.Context) (bool, error) { // it ends with ctx
		if l.refresh(ctx) {
			changed()
		}
		return false, nil
	})
}

// refresh reads the ConfigMap and reports whether the template has changed.
func (l *TemplateLoader) refresh(ctx context.Context) bool {
	cm, err := l.fetch(ctx)
	if ctx.Err() != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := false
	if err == nil {
		changed, err = l.put(l.method, cm)
	}
	if l.logged.New(err) {
		l.source.Log.Error("the function pod template is not used, the one before it stays in force", "err", err)
	}
	if l.source.Reloaded != nil {
		l.source.Reloaded(changed, err)
	}
	if changed {
		l.source.Log.Info("function pod template changed", "configmap", l.source.ConfigMap, "version", l.Current().Version)
	}
	return changed
}

// Trust applies the current result of TemplateSource.Trust, and reports whether the template has changed.
func (l *TemplateLoader) Trust() (changed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.put(l.method, l.configMap)
}

func (l *TemplateLoader) fetch(ctx context.Context) (*corev1.ConfigMap, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	cm, err := l.source.ConfigMaps.Get(ctx, l.source.ConfigMap, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the function pod template from ConfigMap %s in namespace %s: %w", l.source.ConfigMap, l.source.Namespace, err)
	}
	return cm, nil
}
