// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command probe is what pods of the end-to-end tests run:
//
//	probe serve ADDR  answers every HTTP request with the name of its host
//	probe get URL     prints what URL answers, and tries for half a minute until it does
//	probe id          prints the user that it runs as
package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	patience = 30 * time.Second
	retry    = 200 * time.Millisecond
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
	case len(args) == 1 && args[0] == "id":
		fmt.Println(os.Getuid())
		return nil
	}
	return errors.New("want: serve ADDR, get URL, or id")
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
	// Each try is a connection of its own, so that each may reach another pod.
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
