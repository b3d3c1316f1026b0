// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/services/cluster/injection"
	"github.com/krmfn/krmfn/services/server/logging"
)

// reload is how often the ConfigMap of the template is read.
const reload = 10 * time.Second

// TemplateSource says where the template of pods comes from.
type TemplateSource struct {
	Client kubernetes.Interface
	// Namespace and ConfigMap name a ConfigMap; without one the default template is in force.
	Namespace, ConfigMap string
	// WrapperImage is the image of the wrapper server, and Injection how the default template brings it into pods.
	WrapperImage string
	Injection    injection.Method
	// Env is what wrapper servers get in the default template.
	Env []corev1.EnvVar
	Log *slog.Logger
}

// TemplateLoader has the template that is in force. It may be used by any number of goroutines at once.
type TemplateLoader struct {
	source  TemplateSource
	current atomic.Pointer[podtemplate.Template]
	logged  logging.Once
}

// LoadTemplate returns a loader that has loaded the template. Errors name what is wrong in the ConfigMap.
func LoadTemplate(ctx context.Context, source TemplateSource) (*TemplateLoader, error) {
	l := &TemplateLoader{source: source}
	var template *podtemplate.Template
	var err error
	if source.ConfigMap != "" {
		template, err = l.fetch(ctx)
	} else {
		template, err = podtemplate.Default(source.WrapperImage, source.method(), source.Env...)
	}
	l.current.Store(template)
	return l, err
}

// method returns the method that was asked for, or the one that the version of the cluster allows.
func (s *TemplateSource) method() injection.Method {
	if s.Injection != injection.Auto {
		return s.Injection
	}
	found, err := injection.Detect(s.Client.Discovery())
	if err != nil {
		s.Log.Warn("the version of Kubernetes is not known, so that function pods get an init container", "err", err)
	}
	return found
}

// Current returns the template in force.
func (l *TemplateLoader) Current() *podtemplate.Template { return l.current.Load() }

// RefuseImageVolumes has pods get the wrapper server by an init container from now on, unless image volumes were asked for, and
// tells whether that changes the template.
func (l *TemplateLoader) RefuseImageVolumes(reason string) bool {
	if l.source.ConfigMap != "" || l.source.Injection != injection.Auto {
		return false
	}
	other, err := podtemplate.Default(l.source.WrapperImage, injection.InitContainer, l.source.Env...)
	if err != nil || !l.put(other) {
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
	template, err := l.fetch(ctx)
	if l.logged.New(err) && ctx.Err() == nil {
		l.source.Log.Error("the function pod template is not used, the one before it stays in force", "err", err)
	}
	if err != nil || !l.put(template) {
		return false
	}
	l.source.Log.Info("function pod template changed", "configmap", l.source.ConfigMap, "version", template.Version)
	return true
}

// put puts a template in force and tells whether it is another one.
func (l *TemplateLoader) put(template *podtemplate.Template) bool {
	return l.current.Swap(template).Version != template.Version
}

func (l *TemplateLoader) fetch(ctx context.Context) (*podtemplate.Template, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	cm, err := l.source.Client.CoreV1().ConfigMaps(l.source.Namespace).Get(ctx, l.source.ConfigMap, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the function pod template from ConfigMap %s in namespace %s: %w", l.source.ConfigMap, l.source.Namespace, err)
	}
	return podtemplate.Parse(cm)
}
