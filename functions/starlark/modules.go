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

// loadModule is load() of a script: the modules of the catalog's function and no others, neither files nor URLs. One
// that there is not is empty, so that the script fails over the name that it wants from it.
func loadModule(_ *starlark.Thread, module string) (starlark.StringDict, error) {
	switch module {
	case bsoup.ModuleName:
		return bsoup.LoadModule()
	case base64.ModuleName:
		return base64.LoadModule()
	case csv.ModuleName:
		return csv.LoadModule()
	case "encoding/json.star":
		return starlark.StringDict{"json": json.Module}, nil
	case yaml.ModuleName:
		return yaml.LoadModule()
	case geo.ModuleName:
		return geo.LoadModule()
	case hash.ModuleName:
		return hash.LoadModule()
	case html.ModuleName:
		return html.LoadModule()
	case "http.star":
		return offline("http", "get", "put", "post", "delete", "patch", "options"), nil
	case "math.star":
		return starlark.StringDict{"math": math.Module}, nil
	case re.ModuleName:
		return re.LoadModule()
	case "time.star":
		return starlark.StringDict{"time": time.Module}, nil
	case "xlsx.star":
		return offline("xlsx", "get_url"), nil
	case zipfile.ModuleName:
		return zipfile.LoadModule()
	case krmfn.ModuleName:
		return starlark.StringDict{"krmfn": krmfn.Module}, nil
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
