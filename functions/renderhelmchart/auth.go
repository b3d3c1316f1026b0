// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package renderhelmchart

import (
	"cmp"
	"fmt"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/yaml"
)

// secretRef refers to the Secret with the credentials of a repository or registry.
type secretRef struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// login holds the credentials for a repository or registry; the zero value is anonymous. Errors must not contain them.
type login struct{ username, password string }

// login reads the Secret from items. The default namespace is "default".
func (r *secretRef) login(items fn.KubeObjects) (login, error) {
	if r == nil {
		return login{}, nil
	}
	for _, item := range items {
		if item.GetAPIVersion() != "v1" || item.GetKind() != r.Kind || item.GetName() != r.Name ||
			cmp.Or(item.GetNamespace(), "default") != cmp.Or(r.Namespace, "default") {
			continue
		}
		return loginOf(item)
	}
	return login{}, fmt.Errorf("chartArgs.auth: Secret %s is not among the resources: add it to the package, with username and password", r.id())
}

func (r *secretRef) id() string { return cmp.Or(r.Namespace, "default") + "/" + r.Name }

// loginOf reads a Secret like the API server: stringData takes precedence over data.
func loginOf(secret *fn.KubeObject) (login, error) {
	var typed struct {
		Data       map[string][]byte `json:"data"`
		StringData map[string]string `json:"stringData"`
	}
	if err := yaml.Unmarshal([]byte(secret.String()), &typed); err != nil {
		return login{}, fmt.Errorf("chartArgs.auth: Secret %s cannot be read: want username and password as base64 in data, or as text in stringData", secret.GetName())
	}
	found := map[string]string{}
	for _, key := range []string{"username", "password"} {
		if found[key] = cmp.Or(typed.StringData[key], string(typed.Data[key])); found[key] == "" {
			return login{}, fmt.Errorf("chartArgs.auth: Secret %s has no %s", secret.GetName(), key)
		}
	}
	return login{found["username"], found["password"]}, nil
}
