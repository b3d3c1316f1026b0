// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// NotFoundError says that the registry has no such image. Only the registry's own word counts: a 404 of something before it,
// which does not speak the registry's protocol, is an outage.
type NotFoundError struct {
	// Reason is the registry's answer, one line.
	Reason string
	// Err is the same as the registry's client has it.
	Err error
}

func (e *NotFoundError) Error() string {
	return e.Reason + ": check the image's name and its tag or digest"
}

// Unwrap returns the error of the registry's client.
func (e *NotFoundError) Unwrap() error { return e.Err }

// UnauthorizedError says that the registry refuses the credentials, or asks for some. Many registries answer so for an image
// that does not exist.
type UnauthorizedError struct {
	// Reason is the registry's answer, one line.
	Reason string
	// Err is the same as the registry's client has it.
	Err error
}

func (e *UnauthorizedError) Error() string {
	return e.Reason + ": check the image's name and the credentials for its registry"
}

// Unwrap returns the error of the registry's client.
func (e *UnauthorizedError) Unwrap() error { return e.Err }

// UnusableError says that the image is there and cannot be run. It will be so for ever.
type UnusableError struct {
	// Digest is the image's.
	Digest string
	// Reason says what is wrong with it and what to do, one line.
	Reason string
}

func (e *UnusableError) Error() string {
	return fmt.Sprintf("image %s cannot be run: %s", e.Digest, e.Reason)
}

// ThrottledError says that a server wants no requests for a while. It is asked nothing until then.
type ThrottledError struct {
	// Host is the server, a registry or where its tokens or blobs are, with its port where the request has one.
	Host string
	// Until is when it may be asked again: between a second and 15 minutes after its word.
	Until time.Time
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("%s wants no more requests until %s: wait until then, use credentials with a higher limit, or a mirror",
		oneLine(e.Host), e.Until.UTC().Format(time.RFC3339))
}

// failure is any other error of a registry's client, as one line of bounded length.
type failure struct {
	text string
	err  error
}

func (e *failure) Error() string { return e.text }
func (e *failure) Unwrap() error { return e.err }

// explain says what an error of the registry's client means and what to do, without the credentials that were sent.
func explain(err error, sent *secrets) error {
	if unusable, ok := errors.AsType[*UnusableError](err); ok {
		return &UnusableError{unusable.Digest, sent.hide(unusable.Reason)}
	}
	if throttled, ok := errors.AsType[*ThrottledError](err); ok {
		return throttled
	}
	text := oneLine(sent.hide(err.Error()))
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		return explainAnswer(text, answer, err)
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &failure{fmt.Sprintf("the registry's answer is larger than %d bytes: is this the image of a function?", large.Limit), err}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		text += ": the registry's answer was cut off, try again later"
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		text += ": check the registry's name, and the way to it (network, proxy, certificate authorities)"
	}
	return &failure{text, err}
}

func explainAnswer(text string, answer *transport.Error, err error) error {
	switch code := answer.StatusCode; {
	case notFound(answer):
		return &NotFoundError{text, err}
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return &UnauthorizedError{text, err}
	case code >= http.StatusInternalServerError:
		text += ": the registry fails, try again later"
	}
	return &failure{text, err}
}

// notFound tells a registry's 404 from that of a web server.
func notFound(answer *transport.Error) bool {
	return answer.StatusCode == http.StatusNotFound && len(answer.Errors) > 0
}

func refused(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) &&
		(answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden)
}

func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// maxReason is the most bytes of a registry's words in an error.
const maxReason = 400

// query matches the query of a URL: where a registry redirects, it is a signature to read with.
var query = regexp.MustCompile(`(https?://[^\s"?]*)\?[^\s"]*?(:?(?:[\s"]|$))`)

// oneLine returns the first line, at most maxReason bytes of it. Whatever comes after that is the page of a web server, or
// the answer of a token server, which may hold tokens.
func oneLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text = query.ReplaceAllString(text, "$1$2")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if len(text) > maxReason {
		text = text[:maxReason] + "…"
	}
	return strings.TrimRight(strings.ToValidUTF8(text, ""), ": ")
}
