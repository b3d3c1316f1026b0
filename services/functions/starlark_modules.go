// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"github.com/kptdev/krm-functions-catalog/functions/go/starlark/krmfn"
	"github.com/qri-io/starlib/bsoup"
	"github.com/qri-io/starlib/encoding/base64"
	"github.com/qri-io/starlib/encoding/csv"
	"github.com/qri-io/starlib/encoding/yaml"
	"github.com/qri-io/starlib/geo"
	"github.com/qri-io/starlib/hash"
	"github.com/qri-io/starlib/html"
	"github.com/qri-io/starlib/http"
	"github.com/qri-io/starlib/re"
	"github.com/qri-io/starlib/xlsx"
	"github.com/qri-io/starlib/zipfile"
	"go.starlark.net/lib/json"
	"go.starlark.net/lib/math"
	"go.starlark.net/lib/time"
	"go.starlark.net/starlark"
)

// loadModule is load() of a script: the modules of the catalog's function and no others, neither files nor URLs. One
// that there is not is empty, so that the script fails over the name that it wants from it. http.star reaches whatever
// the process can reach, for as long as the script may run.
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
	case http.ModuleName:
		return http.LoadModule()
	case "math.star":
		return starlark.StringDict{"math": math.Module}, nil
	case re.ModuleName:
		return re.LoadModule()
	case "time.star":
		return starlark.StringDict{"time": time.Module}, nil
	case xlsx.ModuleName:
		return xlsx.LoadModule()
	case zipfile.ModuleName:
		return zipfile.LoadModule()
	case krmfn.ModuleName:
		return starlark.StringDict{"krmfn": krmfn.Module}, nil
	}
	return nil, nil
}
