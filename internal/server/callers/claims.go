// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package callers

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// maxToken is the maximum size of a token in bytes.
const maxToken = 16 << 10

// claims are the unverified claims of a token. They may be used only to reject a token.
type claims struct {
	Audiences []string
	Expiry    time.Time
}

// parseClaims parses a JSON Web Token. The error is a *invalidTokenError.
func parseClaims(text string) (claims, error) {
	notOne := &invalidTokenError{"it is not a service account token: want a JSON Web Token with audience and expiry"}
	parts := strings.Split(text, ".")
	if len(text) > maxToken || len(parts) != 3 {
		return claims{}, notOne
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return claims{}, notOne
	}
	var fields struct {
		Audience json.RawMessage `json:"aud"`
		Expiry   float64         `json:"exp"`
	}
	if json.Unmarshal(payload, &fields) != nil || fields.Expiry <= 0 || fields.Expiry > maxExpiry {
		return claims{}, notOne
	}
	c := claims{Expiry: time.Unix(int64(fields.Expiry), 0)}
	// A single audience may be a string instead of a list.
	var one string
	if json.Unmarshal(fields.Audience, &one) == nil {
		c.Audiences = []string{one}
	} else if json.Unmarshal(fields.Audience, &c.Audiences) != nil {
		return claims{}, notOne
	}
	return c, nil
}

// maxExpiry is the end of the year 9999 in seconds since the Unix epoch.
const maxExpiry = 253402300799
