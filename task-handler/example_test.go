// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/taskhandler/v1/taskhandlerv1grpc"
	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/task-handler/options"
)

// pushFile adds a file to a draft, and returns the files that changed. The draft is closed, unless the error says why its package
// does not render.
func pushFile(ctx context.Context, conn *grpc.ClientConn, files map[string]string, path, content string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req := &taskhandlerv1.ReplaceResourcesRequest{Revision: &taskhandlerv1.Revision{Lifecycle: "Draft"}}
	for p, text := range files {
		req.Files = append(req.Files, &taskhandlerv1.File{Path: p, Content: []byte(text)})
	}
	req.Resources = append(req.GetFiles(), &taskhandlerv1.File{Path: path, Content: []byte(content)})
	resp, err := taskhandlerv1grpc.NewTaskHandlerServiceClient(conn).ReplaceResources(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("replace the resources: %w", err)
	}
	changed := map[string]string{}
	for _, c := range resp.GetOutcome().GetChanges() {
		changed[c.GetPath()] = string(c.GetContent())
	}
	if resp.GetOutcome().GetAction() != taskhandlerv1.DraftAction_DRAFT_ACTION_CLOSE {
		return changed, fmt.Errorf("the draft stays open: %s", resp.GetOutcome().GetError())
	}
	return changed, nil
}

// A controller pushes a file into a draft whose pipeline sets the namespace.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	address, stopped := serveExample(ctx)
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	changed, err := pushFile(ctx, conn, map[string]string{"Kptfile": shop}, "prices.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: prices\n")
	fmt.Print(changed["prices.yaml"], err)
	_ = conn.Close()
	stop()
	if err := <-stopped; err != nil {
		panic(err)
	}
	// Output:
	// apiVersion: v1
	// kind: ConfigMap
	// metadata:
	//   name: prices
	//   namespace: shop
	// <nil>
}

// serveExample serves a task handler until ctx ends.
func serveExample(ctx context.Context) (address string, stopped <-chan error) {
	o, err := options.Parse([]string{"--shutdown-delay=0s"})
	if err != nil {
		panic(err)
	}
	h, err := newHandler(ctx, config{Options: o, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	done := make(chan error, 1)
	go func() { done <- h.serve(ctx, listener) }()
	return listener.Addr().String(), done
}
