// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/krmfn/krmfn/internal/images/ociimage"
	"github.com/krmfn/krmfn/tools/release/internal/image"
	"github.com/krmfn/krmfn/tools/release/internal/sbom"
)

// ImageFile returns the file name of an image in the directory of a release.
func ImageFile(name, version string) string { return name + "-" + version + ".oci.tar" }

// image writes an image for all architectures, with a bill of materials for each of them.
func (m *maker) image(name string) error {
	version := m.versions.Images[name]
	images := make([]v1.Image, 0, len(m.Arches))
	bills := make([]image.Referrer, 0, len(m.Arches))
	for _, arch := range slices.Sorted(slices.Values(m.Arches)) {
		img, contents, err := m.build(name, arch)
		if err != nil {
			return err
		}
		bill, err := m.bill(contents, img, arch)
		if err != nil {
			return err
		}
		images = append(images, img)
		bills = append(bills, bill)
		if err := m.write(releaseFile{file: bill.Title, kind: "bill of materials"}, bill.Data); err != nil {
			return err
		}
	}
	idx, err := ociimage.Index(images)
	if err != nil {
		return err
	}
	digest, err := idx.Digest()
	if err != nil {
		return err
	}
	m.digests[name] = digest.String()
	file := ImageFile(name, version)
	if err := image.WriteArchive(m.path(file), version, idx, bills); err != nil {
		return err
	}
	return m.add(releaseFile{file: file, kind: "image", digest: digest.String()})
}

func (m *maker) build(name, arch string) (v1.Image, image.Image, error) {
	all, err := m.sources(arch).Images()
	if err != nil {
		return nil, image.Image{}, err
	}
	i := slices.IndexFunc(all, func(i image.Image) bool { return i.Name == name })
	if i < 0 {
		return nil, image.Image{}, errors.New("image " + name + ": package image does not define it")
	}
	img, err := all[i].Build(arch, image.Stamp{
		Version: m.versions.Images[name], Revision: m.source.Revision, Created: m.source.Time,
	})
	return img, all[i], err
}

func (m *maker) bill(contents image.Image, img v1.Image, arch string) (image.Referrer, error) {
	digest, err := img.Digest()
	if err != nil {
		return image.Referrer{}, err
	}
	s := sbom.Subject{
		Name: contents.Name, Version: m.versions.Images[contents.Name], Arch: arch, Digest: digest.String(),
		Revision: m.source.Revision, Created: m.source.Time, Programs: contents.Programs(),
	}
	if contents.HasAuthorities() {
		s.Data = []sbom.Module{m.AuthoritiesModule}
	}
	doc, err := sbom.Document(s)
	if err != nil {
		return image.Referrer{}, err
	}
	var buf bytes.Buffer
	if err := sbom.Write(doc, &buf); err != nil {
		return image.Referrer{}, err
	}
	return image.Referrer{
		Title:     fmt.Sprintf("%s-%s-linux-%s.spdx.json", contents.Name, s.Version, arch),
		MediaType: sbom.MediaType,
		Data:      buf.Bytes(),
		Annotations: map[string]string{
			"org.opencontainers.image.created":     m.source.Time.Format("2006-01-02T15:04:05Z07:00"),
			"org.opencontainers.image.description": fmt.Sprintf("Bill of materials of %s for linux/%s", digest, arch),
		},
	}, nil
}
