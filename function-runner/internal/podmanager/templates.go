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
	"github.com/krmfn/krmfn/services/cluster/injection"
	"github.com/krmfn/krmfn/services/server/logging"
)

// reload is how often the ConfigMap of the template is read.
const reload = 10 * time.Second

// TemplateSource says where the template of pods comes from.
type TemplateSource struct {
	// Cluster tells its version.
	Cluster injection.Cluster
	// Namespace and ConfigMap name one of the ConfigMaps; without one the default template is in force.
	Namespace, ConfigMap string
	ConfigMaps           ConfigMaps
	// WrapperImage is the image of the wrapper server, and Injection how it comes into pods whose template does not bring it.
	WrapperImage string
	Injection    injection.Method
	// Env is what wrapper servers get that come into pods that way.
	Env []corev1.EnvVar
	// AssignedUser leaves the users of pods of the default template to admission.
	AssignedUser bool
	// Reloaded is told, each time that the ConfigMap has been read again, whether the template has changed, or why it is not used; it
	// may be nil.
	Reloaded func(changed bool, err error)
	// Trust returns whom wrapper servers let connect; nil for everybody. A wrapper server that a ConfigMap brings may know nothing of it:
	// TrustAlways has it demanded there, too.
	Trust       func() podtemplate.Trust
	TrustAlways bool
	Log         *slog.Logger
}

// TemplateLoader has the template that is in force. It may be used by any number of goroutines at once.
type TemplateLoader struct {
	source  TemplateSource
	current atomic.Pointer[podtemplate.Template]
	logged  logging.Once

	// mu guards what the template in force is made of, and orders changes of current.
	mu     sync.Mutex
	method injection.Method
	// configMap is the one in force; nil for none.
	configMap *corev1.ConfigMap
}

// LoadTemplate returns a loader that has loaded the template. Errors name what is wrong in the ConfigMap.
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

// put puts in force the template that a method of injection and a ConfigMap, nil for none, make, and tells whether it is another one.
// An error leaves in force what was. The lock is held.
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

// method returns the method that was asked for, or the one that the version of the cluster allows.
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

// Current returns the template in force.
func (l *TemplateLoader) Current() *podtemplate.Template { return l.current.Load() }

// wrapperAdvice says what to write into the template of a ConfigMap if the wrapper server that it brings is not krmfn's; "" where the
// function runner injects it.
func (l *TemplateLoader) wrapperAdvice() string {
	template := l.Current()
	if template.Injected || len(template.Pod.Spec.InitContainers) == 0 {
		return ""
	}
	init := template.Pod.Spec.InitContainers[0]
	return fmt.Sprintf("the wrapper server comes from image %s of init container %s, which is not krmfn's: write %s there, in ConfigMap %s",
		init.Image, init.Name, l.source.WrapperImage, l.source.ConfigMap)
}

// RefuseImageVolumes has pods get the wrapper server by an init container from now on, unless image volumes were asked for, and
// tells whether that changes the template.
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

// Watch puts changes of the ConfigMap in force until ctx ends, and calls changed after each. A ConfigMap that is broken leaves
// in force what was.
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

// refresh reads the ConfigMap and tells whether that has changed the template.
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

// Trust has pods trust what TemplateSource.Trust returns now, and tells whether that changes the template.
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
