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

// NotFoundError reports that the registry does not have the image. Only a response in the registry's protocol counts. A plain 404, for
// example from an ingress, is treated as an outage.
type NotFoundError struct {
	// Reason is the registry's response, as one line.
	Reason string
	// Err is the error of the registry client.
	Err error
}

func (e *NotFoundError) Error() string {
	return e.Reason + ": check the image's name and its tag or digest"
}

// Unwrap returns Err.
func (e *NotFoundError) Unwrap() error { return e.Err }

// UnauthorizedError reports that the registry rejected the credentials, or requires some. Many registries respond like this for images
// that do not exist.
type UnauthorizedError struct {
	// Reason is the registry's response, as one line.
	Reason string
	// Err is the error of the registry client.
	Err error
}

func (e *UnauthorizedError) Error() string {
	return e.Reason + ": check the image's name and the credentials for its registry"
}

// Unwrap returns Err.
func (e *UnauthorizedError) Unwrap() error { return e.Err }

// UnusableError reports that the image exists and cannot run. This is permanent.
type UnusableError struct {
	// Digest is the digest of the image.
	Digest string
	// Reason says what is wrong and what to do, in one line.
	Reason string
}

func (e *UnusableError) Error() string {
	return fmt.Sprintf("image %s cannot be run: %s", e.Digest, e.Reason)
}

// ThrottledError reports that a server accepts no requests for some time. Until then, the client sends it none.
type ThrottledError struct {
	// Host is the server: a registry, or its token or blob server. It includes the port if the request does.
	Host string
	// Until is when the server may be asked again, between 1 second and 15 minutes after its response.
	Until time.Time
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("%s wants no more requests until %s: wait until then, use credentials with a higher limit, or a mirror",
		oneLine(e.Host), e.Until.UTC().Format(time.RFC3339))
}

// failure is any other error of the registry client, as a short line.
type failure struct {
	text string
	err  error
}

func (e *failure) Error() string { return e.text }
func (e *failure) Unwrap() error { return e.err }

// explain returns an error that says what the client's error means and what to do, without the credentials that were sent.
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
		return &failure{fmt.Sprintf("the registry's response is larger than %d bytes: is this the image of a function?", large.Limit), err}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		text += ": the registry's response was incomplete, try again later"
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		text += ": check the registry's name, and the connection to it (network, proxy, certificate authorities)"
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
		text += ": the registry has a problem, try again later"
	}
	return &failure{text, err}
}

// notFound reports whether a response is a 404 of a registry, as opposed to one of a web server.
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

// maxReason is the maximum length, in bytes, of a registry's message in an error.
const maxReason = 400

// query matches the query of a URL. In a redirect, the query may be a signature that grants access.
var query = regexp.MustCompile(`(https?://[^\s"?]*)\?[^\s"]*?(:?(?:[\s"]|$))`)

// oneLine returns the first line of text, shortened to maxReason bytes. Further lines may be a web page, or a token server's response,
// which may contain tokens.
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
