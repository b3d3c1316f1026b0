// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// SizeError reports that a message exceeds a limit of the client or the runner.
type SizeError struct {
	// Image is the function of the call.
	Image string
	// Size is the message's size in bytes. Limit is the maximum.
	Size, Limit int64
	// Flag is the flag of both the client and the runner that sets the limit.
	Flag string
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("function %q: a message of %d bytes is larger than the limit of %d bytes: raise %s on both the "+
		"function runner and its caller, to the same value", e.Image, e.Size, e.Limit, e.Flag)
}

// explain converts a status error to the corresponding error of package evaluation.
func (c *Client) explain(ctx context.Context, req evaluation.Request, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case status.Code(err) == codes.NotFound:
		return &evaluation.NotFoundError{Image: req.Image}
	case errors.As(err, new(*SizeError)):
		return err
	}
	message := status.Convert(err).Message()
	switch status.Code(err) {
	// The runner has the caller's deadline and may report it before the local context expires.
	case codes.DeadlineExceeded:
		return fmt.Errorf("function runner at %s: %s: %w", c.target, message, context.DeadlineExceeded)
	case codes.Canceled:
		return fmt.Errorf("function runner at %s: %s: %w", c.target, message, context.Canceled)
	case codes.ResourceExhausted:
		if tooLarge := sizeError(req.Image, message); tooLarge != nil {
			return tooLarge
		}
	default:
	}
	return fmt.Errorf("function runner at %s: %w", c.target, err)
}

// overMax matches the error text of gRPC and of the runner for a message that is too large.
var overMax = regexp.MustCompile(`larger than max \((\d+) vs\. (\d+)\)`)

// sizeError returns nil if the message is not about sizes: a busy runner uses the same status code.
func sizeError(image, message string) error {
	sizes := overMax.FindStringSubmatch(message)
	if sizes == nil {
		return nil
	}
	e := &SizeError{Image: image, Flag: "--max-request-body-size"}
	if strings.Contains(message, "--max-resource-list-size") {
		e.Flag = "--max-resource-list-size"
	}
	var sizeErr, limitErr error
	e.Size, sizeErr = strconv.ParseInt(sizes[1], 10, 64)
	e.Limit, limitErr = strconv.ParseInt(sizes[2], 10, 64)
	if sizeErr != nil || limitErr != nil {
		return nil
	}
	return e
}

// reportOf returns the failure report in a status's details, or nil.
func reportOf(err error) *evaluationv1.Evaluation {
	for _, detail := range status.Convert(err).Details() {
		if report, ok := detail.(*evaluationv1.Evaluation); ok && report.GetFailure() != nil {
			return report
		}
	}
	return nil
}
