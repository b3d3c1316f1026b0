// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command hostile is the program in the function images of the end-to-end tests:
//
//	hostile echo         returns its input, after the delay in data.sleep of the functionConfig
//	hostile exit         returns a result, writes to stderr, and exits with code 3
//	hostile writes-root  creates a file in the root directory
//	hostile stall ...    blocks until SIGTERM and ignores other arguments
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"
)

// errGaveUp makes the command exit with code 3. Other errors make it exit with code 1.
var errGaveUp = errors.New("gave up")

func main() {
	err := run(os.Args[1:])
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "hostile:", err)
	if errors.Is(err, errGaveUp) {
		os.Exit(3)
	}
	os.Exit(1)
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("want: echo, exit, writes-root, or stall")
	}
	switch args[0] {
	case "echo":
		return echo()
	case "exit":
		fmt.Print("kind: ResourceList\nresults:\n- {message: the port is taken, severity: error}\n")
		return errGaveUp
	case "writes-root":
		return os.WriteFile("/written", nil, 0o600)
	case "stall":
		end := make(chan os.Signal, 1)
		signal.Notify(end, syscall.SIGTERM)
		<-end
		return nil
	}
	return fmt.Errorf("unknown mode %s", args[0])
}

func echo() error {
	list, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var input struct {
		FunctionConfig struct{ Data struct{ Sleep string } }
	}
	if err := yaml.Unmarshal(list, &input); err != nil {
		return fmt.Errorf("input: %w", err)
	}
	if text := input.FunctionConfig.Data.Sleep; text != "" {
		sleep, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		time.Sleep(sleep)
	}
	_, err = os.Stdout.Write(list)
	return err
}
