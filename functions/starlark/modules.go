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

// modules are those of the catalog's function, as a script loads them.
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

// always loads what is shared by all scripts, which cannot change it.
func always(module starlark.StringDict) func() (starlark.StringDict, error) {
	return func() (starlark.StringDict, error) { return module, nil }
}

// loadModule is load() of a script: neither files nor URLs. A module that there is not is empty, so that the script fails over
// the name that it wants from it.
func loadModule(_ *starlark.Thread, module string) (starlark.StringDict, error) {
	if load, ok := modules[module]; ok {
		return load()
	}
	return nil, nil
}

// offline is a module that makes requests, where there is no network: whoever writes a package would reach what this process can
// reach, with its address. kpt gives the catalog's function no network either, unless the user says so.
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
