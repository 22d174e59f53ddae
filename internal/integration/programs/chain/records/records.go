// Package records answers queries: the end of the chain.
package records

import (
	"context"

	"github.com/miekg/dns"

	"github.com/profguard/profguard/internal/integration/programs/shop"
)

// A Plugin answers from a catalogue.
type Plugin struct {
	Catalogue shop.Catalogue
	Body      []byte // stands for a record that is stored as JSON
	Tiny      bool
}

// Name is the plugin's name.
func (p *Plugin) Name() string { return "records" }

// ServeDNS answers the query.
func (p *Plugin) ServeDNS(_ context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	answer := "ok"
	if p.Tiny {
		shop.Inspect(shop.Sample)
	} else {
		o := shop.Decode(p.Body)
		items := shop.Rank(p.Catalogue.Search(o.Text))
		shop.Inspect(o)
		answer = string(shop.Encode(o, items)[:200])
	}
	m := new(dns.Msg).SetReply(r)
	m.Answer = []dns.RR{&dns.TXT{
		Hdr: dns.RR_Header{Name: r.Question[0].Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 60},
		Txt: []string{answer},
	}}
	return dns.RcodeSuccess, w.WriteMsg(m)
}
