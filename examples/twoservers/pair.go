package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"runtime/pprof"
	"sync"
)

// A pair is both servers, on loopback, with the same pages.
type pair struct {
	gopher     *gopher
	gemini     *gemini
	gopherAddr string
	geminiAddr string
	rsa, ecdsa *tls.Certificate
	trusted    *x509.CertPool // by visitors
	listeners  []net.Listener
	answering  sync.WaitGroup
}

// open starts both servers, Gemini's with the certificate of old.
func open() (*pair, error) {
	p := &pair{}
	content := newPages()
	p.gopher, p.gemini = &gopher{pages: content}, &gemini{pages: content}
	var err error
	if p.rsa, err = selfSigned(rsaKey); err != nil {
		return nil, err
	}
	if p.ecdsa, err = selfSigned(ecdsaKey); err != nil {
		return nil, err
	}
	p.trusted = x509.NewCertPool()
	p.trusted.AddCert(p.rsa.Leaf)
	p.trusted.AddCert(p.ecdsa.Leaf)
	p.gemini.certificate.Store(p.rsa)
	if p.gopherAddr, err = p.listen("gopher", p.gopher.answer); err != nil {
		return nil, err
	}
	if p.geminiAddr, err = p.listen("gemini", p.gemini.answer); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// listen answers each visitor of a server on a goroutine, and returns the
// server's address. The label tells the servers apart in profiles: the goroutines
// that are started below inherit it.
func (p *pair) listen(name string, answer func(net.Conn)) (addr string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	p.listeners = append(p.listeners, l)
	p.answering.Go(func() {
		pprof.Do(context.Background(), pprof.Labels("server", name), func(context.Context) {
			for {
				conn, err := l.Accept()
				if err != nil {
					return // closed
				}
				p.answering.Go(func() { answer(conn) })
			}
		})
	})
	return l.Addr().String(), nil
}

// close closes the servers and waits until the last visitor is served.
func (p *pair) close() {
	for _, l := range p.listeners {
		l.Close()
	}
	p.answering.Wait()
}
