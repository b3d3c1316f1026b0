// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"fmt"

	"github.com/kptdev/krm-functions-catalog/functions/go/starlark/krmfn"
	"github.com/qri-io/starlib/bsoup"
	"github.com/qri-io/starlib/encoding/base64"
	"github.com/qri-io/starlib/encoding/csv"
	"github.com/qri-io/starlib/encoding/yaml"
	"github.com/qri-io/starlib/geo"
	"github.com/qri-io/starlib/hash"
	"github.com/qri-io/starlib/html"
	"github.com/qri-io/starlib/re"
	"github.com/qri-io/starlib/zipfile"
	"go.starlark.net/lib/json"
	"go.starlark.net/lib/math"
	"go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// modules are the loadable modules: those of the catalog's function, and krmfn's.
var modules = map[string]func() (starlark.StringDict, error){
	bsoup.ModuleName:     bsoup.LoadModule,
	base64.ModuleName:    base64.LoadModule,
	csv.ModuleName:       csv.LoadModule,
	"encoding/json.star": always(starlark.StringDict{"json": json.Module}),
	yaml.ModuleName:      yaml.LoadModule,
	geo.ModuleName:       geo.LoadModule,
	hash.ModuleName:      hash.LoadModule,
	html.ModuleName:      html.LoadModule,
	"http.star":          always(offline("http", "get", "put", "post", "delete", "patch", "options")),
	"math.star":          always(starlark.StringDict{"math": math.Module}),
	re.ModuleName:        re.LoadModule,
	"time.star":          always(starlark.StringDict{"time": time.Module}),
	"xlsx.star":          always(offline("xlsx", "get_url")),
	zipfile.ModuleName:   zipfile.LoadModule,
	krmfn.ModuleName:     always(starlark.StringDict{"krmfn": krmfn.Module}),
}

// always returns a loader for an immutable module, which all scripts share.
func always(module starlark.StringDict) func() (starlark.StringDict, error) {
	return func() (starlark.StringDict, error) { return module, nil }
}

// loadModule implements load(). It loads neither files nor URLs. An unknown module is empty, so that the script fails for the
// missing name.
func loadModule(_ *starlark.Thread, module string) (starlark.StringDict, error) {
	if load, ok := modules[module]; ok {
		return load()
	}
	return nil, nil
}

// offline returns a module for network requests whose functions always fail. Otherwise the author of a package could reach
// everything that this process can reach. In kpt, the catalog's function has no network either, unless the user allows it.
func offline(module string, names ...string) starlark.StringDict {
	refused := func(_ *starlark.Thread, b *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return nil, fmt.Errorf("%s.%s: functions have no network: put what is needed into the package", module, b.Name())
	}
	members := starlark.StringDict{}
	for _, name := range names {
		members[name] = starlark.NewBuiltin(name, refused)
	}
	return starlark.StringDict{module: starlarkstruct.FromStringDict(starlarkstruct.Default, members)}
}
