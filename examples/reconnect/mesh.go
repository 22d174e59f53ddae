package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"time"
)

// A mesh is nodes each of which is connected to every other.
type mesh struct {
	nodes   []*node
	members []chan string // tell each node who comes
}

// openMesh opens nodes, joins them, and lets them live.
func openMesh(size int, b bugs) (*mesh, error) {
	m, err := openStill(size, b)
	if err != nil {
		return nil, err
	}
	for _, n := range m.nodes {
		peers, err := m.introduce(n)
		if err != nil {
			m.close()
			return nil, err
		}
		members := make(chan string)
		m.members = append(m.members, members)
		n.running.Go(func() { n.follow(members) })
		n.running.Go(func() { n.run(peers) })
	}
	return m, nil
}

// openStill opens nodes that do nothing by themselves.
func openStill(size int, b bugs) (*mesh, error) {
	id, err := identity()
	if err != nil {
		return nil, err
	}
	m := new(mesh)
	for range size {
		n, err := newNode(id, b)
		if err != nil {
			m.close()
			return nil, err
		}
		m.nodes = append(m.nodes, n)
	}
	return m, nil
}

// introduce joins a node to all others.
func (m *mesh) introduce(n *node) ([]*peer, error) {
	var peers []*peer
	for _, other := range m.nodes {
		if other == n {
			continue
		}
		p := &peer{addr: other.socket.LocalAddr()}
		if err := n.join(p); err != nil {
			return nil, err
		}
		peers = append(peers, p)
	}
	return peers, nil
}

// endNews closes the channels by which the nodes hear of members.
func (m *mesh) endNews() {
	for _, c := range m.members {
		close(c)
	}
}

func (m *mesh) close() {
	for _, n := range m.nodes {
		n.close()
	}
}

// identity is a certificate that all nodes share, and trust.
func identity() (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make an identity: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		DNSNames:     []string{"mesh"},
		NotAfter:     time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make an identity: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make an identity: %w", err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(cert)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		RootCAs:      trusted,
		ServerName:   "mesh",
		NextProtos:   []string{"mesh"},
		MinVersion:   tls.VersionTLS13,
	}, nil
}
