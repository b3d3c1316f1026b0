// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/programs/command"
	"github.com/krmfn/krmfn/e2e/registry"
)

const (
	// registryPort is the port of the registry, which listens on this machine's address in kind's network.
	registryPort = 5000
	// hosting and hostingKey are the ConfigMap and its key in which clusters name their registry, according to KEP-1755.
	hostingConfigMap, hostingKey = "local-registry-hosting", "localRegistryHosting.v1"
	// madeBy is the annotation with the digest of the cluster's configuration. It is written last, so it also marks the cluster as
	// complete.
	madeBy = "krmfn/made-by"
)

// ensureRegistry starts the registry and configures the nodes to use it. It returns the registry's address.
func (c Cluster) ensureRegistry(ctx context.Context, members []nodes.Node) (string, error) {
	out, err := command.Run(ctx, "docker", "network", "inspect", "kind")
	if err != nil {
		return "", err
	}
	gateway, err := gateway([]byte(out))
	if err != nil {
		return "", err
	}
	address := netip.AddrPortFrom(gateway, registryPort).String()
	started, err := c.registry(address).Ensure(ctx)
	if err != nil {
		return "", err
	}
	if started {
		c.Progress.Printf("started the registry %s, which keeps running and is empty", address)
	}
	path, text := registry.HostsFile(address)
	for _, node := range members {
		if err := nodeutils.WriteFile(node, path, text); err != nil {
			return "", fmt.Errorf("configure node %s for the registry: %w", node, err)
		}
	}
	return address, nil
}

func (c Cluster) registry(address string) registry.Process {
	dir := filepath.Join(c.Cache, "registry")
	return registry.Process{Address: address, Dir: dir, Command: slices.Concat(c.Registry, []string{"--address=" + address, "--dir=" + dir})}
}

// gateway returns this machine's IPv4 address in a network, from the output of docker network inspect.
func gateway(inspected []byte) (netip.Addr, error) {
	var networks []struct {
		IPAM struct {
			Config []struct{ Subnet, Gateway string }
		}
	}
	if err := json.Unmarshal(inspected, &networks); err != nil {
		return netip.Addr{}, fmt.Errorf("docker network inspect: %w", err)
	}
	for _, network := range networks {
		for _, config := range network.IPAM.Config {
			if gateway, err := netip.ParseAddr(config.Gateway); err == nil && gateway.Is4() {
				return gateway, nil
			}
		}
	}
	return netip.Addr{}, errors.New("kind's network has no IPv4 gateway: delete it with docker network rm kind")
}

// announce records the registry's address in the cluster and marks the cluster as complete.
func announce(ctx context.Context, client kubernetes.Interface, address, image string) error {
	text, err := config(image)
	if err != nil {
		return err
	}
	value, err := yaml.Marshal(map[string]string{"host": address})
	if err != nil {
		return err
	}
	maps := client.CoreV1().ConfigMaps(metav1.NamespacePublic)
	announcement := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: hostingConfigMap, Annotations: map[string]string{madeBy: digest(text)}},
		Data:       map[string]string{hostingKey: string(value)},
	}
	if _, err = maps.Create(ctx, announcement, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		_, err = maps.Update(ctx, announcement, metav1.UpdateOptions{})
	}
	return err
}

// announced returns nil if the cluster is complete and was created with the current configuration and the given image.
func announced(ctx context.Context, client kubernetes.Interface, image string) error {
	text, err := config(image)
	if err != nil {
		return err
	}
	announcement, err := client.CoreV1().ConfigMaps(metav1.NamespacePublic).Get(ctx, hostingConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("its creation was interrupted: %w", errFinal)
	}
	if err != nil {
		return err
	}
	if announcement.Annotations[madeBy] != digest(text) {
		return fmt.Errorf("it has another configuration: %w", errFinal)
	}
	return nil
}

// RegistryAddress returns the address of the cluster's registry, as IP:PORT.
func (c Cluster) RegistryAddress(ctx context.Context) (string, error) {
	client, err := c.Client()
	if err != nil {
		return "", err
	}
	announcement, err := client.CoreV1().ConfigMaps(metav1.NamespacePublic).Get(ctx, hostingConfigMap, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("address of the registry: %w: try make cluster", err)
	}
	var value struct{ Host string }
	if err := yaml.Unmarshal([]byte(announcement.Data[hostingKey]), &value); err != nil {
		return "", fmt.Errorf("address of the registry: %w", err)
	}
	return value.Host, nil
}
