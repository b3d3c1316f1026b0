// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command probe is the program in helper pods of the end-to-end tests:
//
//	probe serve ADDR  answers every HTTP request with the host name
//	probe get URL     prints the response of URL, and retries for 30 seconds until a request succeeds
//	probe id          prints the user ID of the process
//	probe dial ADDR…  repeatedly connects to each address, and prints a line with the addresses that accept
//	probe call TARGET IMAGE  repeatedly calls a function over a new connection, and prints the numbers of calls and the last error
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	patience = 30 * time.Second
	retry    = 200 * time.Millisecond
	// connectTimeout is the timeout of a connection attempt. Attempts whose packets are dropped take the full timeout.
	connectTimeout = 5 * time.Second
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "serve":
		return serve(args[1])
	case len(args) == 2 && args[0] == "get":
		return get(args[1])
	case len(args) > 1 && args[0] == "dial":
		for {
			fmt.Println("open: " + strings.Join(open(args[1:]), " "))
			time.Sleep(retry)
		}
	case len(args) == 3 && args[0] == "call":
		call(context.Background(), args[1], args[2])
	case len(args) == 1 && args[0] == "id":
		fmt.Println(os.Getuid())
		return nil
	}
	return errors.New("want: serve ADDR, get URL, dial ADDR…, call TARGET IMAGE, or id")
}

func serve(addr string) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	server := http.Server{
		Addr:              addr,
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, host) }),
		ReadHeaderTimeout: 10 * time.Second,
	}
	return server.ListenAndServe()
}

func get(url string) error {
	// Each attempt uses a new connection, so it can reach a different pod.
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for end := time.Now().Add(patience); ; time.Sleep(retry) {
		text, err := body(&client, url)
		if err == nil {
			fmt.Print(text)
			return nil
		}
		if time.Now().After(end) {
			return err
		}
	}
}

func body(client *http.Client, url string) (string, error) {
	response, err := client.Get(url) //nolint:gosec // whose URL it is, is the test's matter
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s", url, response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return string(text), err
}

// open returns the addresses that accept a connection, in the order of the arguments.
func open(addresses []string) []string {
	accepts := make([]bool, len(addresses))
	var all sync.WaitGroup
	for i, address := range addresses {
		all.Go(func() {
			conn, err := net.DialTimeout("tcp", address, connectTimeout) //nolint:gosec // the test chooses the address
			if accepts[i] = err == nil; err == nil {
				_ = conn.Close()
			}
		})
	}
	all.Wait()
	var accepting []string
	for i, address := range addresses {
		if accepts[i] {
			accepting = append(accepting, address)
		}
	}
	return accepting
}
