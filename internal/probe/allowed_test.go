package probe

import "testing"

// A pattern that hosts of strangers match is told from others: they get no token.
func TestAnyHost(t *testing.T) {
	for text, want := range map[string]bool{
		"*": true, "*:6060": true, "*6060": true, "10.1.*:6060": true, "shop-?:6060": true, "*shop.com:6060": true, "shop*": true, "0.0.0.0/0": true, "::/0": true,
		"*.shop:6060": false, "shop-*.svc.local:*": false, "cart:6060": false, "10.1.2.3:*": false, "10.1.0.0/16": false,
	} {
		var a Allowed
		if err := a.Add(text); err != nil || (a.anyHost() == text) != want {
			t.Errorf("%s: %q, %v", text, a.anyHost(), err)
		}
	}
}
