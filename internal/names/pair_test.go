package names

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPair(t *testing.T) {
	for _, test := range []struct {
		name        string
		before, now []string
		want        map[string]string
	}{
		{"nothing", nil, nil, map[string]string{}},
		{
			"a major version",
			[]string{"example.com/x/v2.F", "example.com/x/v2/sub.(*T).M", "gopkg.in/yaml%2ev2.F"},
			[]string{"example.com/x/v3.F", "example.com/x/v3/sub.(*T).M", "gopkg.in/yaml%2ev3.F"},
			map[string]string{"example.com/x/v3.F": "example.com/x/v2.F", "example.com/x/v3/sub.(*T).M": "example.com/x/v2/sub.(*T).M", "gopkg.in/yaml%2ev3.F": "gopkg.in/yaml%2ev2.F"},
		},
		{
			"the first major version",
			[]string{"example.com/x.F"}, []string{"example.com/x/v2.F"},
			map[string]string{"example.com/x/v2.F": "example.com/x.F"},
		},
		{
			"a package that moved",
			[]string{"example.com/a/price.Sum", "example.com/a/cart.Sum"}, []string{"example.com/a/internal/price.Sum", "example.com/a/internal/cart.Sum"},
			map[string]string{"example.com/a/internal/price.Sum": "example.com/a/price.Sum", "example.com/a/internal/cart.Sum": "example.com/a/cart.Sum"},
		},
		{
			"a function that moved to another package",
			[]string{"main.valid"}, []string{"example.com/a/check.valid"},
			map[string]string{"example.com/a/check.valid": "main.valid"},
		},
		{
			"a receiver that became a pointer",
			[]string{"main.T.M"}, []string{"main.(*T).M"},
			map[string]string{"main.(*T).M": "main.T.M"},
		},
		{
			"two candidates",
			[]string{"example.com/a.Sum", "example.com/b.Sum"}, []string{"example.com/c.Sum"},
			map[string]string{},
		},
		{
			"one each, from nearest to farthest",
			[]string{"example.com/a/x.F", "example.com/b/y.F"}, []string{"example.com/c/x.F", "example.com/d/z.F"},
			map[string]string{"example.com/c/x.F": "example.com/a/x.F", "example.com/d/z.F": "example.com/b/y.F"},
		},
		{"names that many packages have", []string{"example.com/a.New"}, []string{"example.com/b.New"}, map[string]string{}},
		{"another name", []string{"main.valid"}, []string{"main.check"}, map[string]string{}},
		{"no names of Go", []string{"memcpy", "[libc.so.6]"}, []string{"memcpy_avx", "[libm.so.6]"}, map[string]string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Pair(test.before, test.now)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
