// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command protoc-gen-go-grpc-package is a protoc plugin that generates gRPC services into Go packages of their own.
//
// It runs the stock plugin, whose command line are its arguments, and has the services of a file in package foov1 end
// up in package foov1grpc, in the directory foov1grpc beneath that of the file. The stock plugin has no option for it:
// it always writes into the package of the messages, so that whoever uses a message links gRPC.
//
// Use it with the option paths=source_relative; the options reach the stock plugin as they are.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "protoc-gen-go-grpc-package:", err)
		os.Exit(1)
	}
}

// run answers the request on in with a response on out, made by the plugin that command starts.
func run(ctx context.Context, command []string, in io.Reader, out io.Writer) error {
	if len(command) == 0 {
		return errors.New("no arguments: give the command line of protoc-gen-go-grpc")
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	req := &pluginpb.CodeGeneratorRequest{}
	if err := proto.Unmarshal(data, req); err != nil {
		return fmt.Errorf("parse request: %w", err)
	}
	names, err := splitServices(req)
	if err != nil {
		return err
	}
	resp, err := generate(ctx, command, req)
	if err != nil {
		return err
	}
	restoreNames(resp, names)
	if data, err = proto.Marshal(resp); err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	if _, err := out.Write(data); err != nil {
		return fmt.Errorf("write response: %w", err)
	}
	return nil
}

// generate runs a plugin once.
func generate(
	ctx context.Context, command []string, req *pluginpb.CodeGeneratorRequest,
) (*pluginpb.CodeGeneratorResponse, error) {
	data, err := proto.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = bytes.NewReader(data)
	cmd.Stderr = os.Stderr
	data, err = cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run %q: %w", command, err)
	}
	resp := &pluginpb.CodeGeneratorResponse{}
	if err := proto.Unmarshal(data, resp); err != nil {
		return nil, fmt.Errorf("parse response of %q: %w", command, err)
	}
	return resp, nil
}
