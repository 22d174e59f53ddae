package evidence

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"
)

// row is one line of testdata/golden.csv, computed with 50 digits.
type row struct {
	line                                            int
	fn                                              string
	k, n, limit, alpha, phi, nu, k0, n0, delta, val float64
	note                                            string
}

func goldenRows(t *testing.T) []row {
	t.Helper()
	records := readCSV(t, "testdata/golden.csv")
	var rows []row
	for i, r := range records {
		out := row{line: i + 2, fn: r[0], note: r[11]}
		for j, field := range []*float64{&out.k, &out.n, &out.limit, &out.alpha, &out.phi, &out.nu, &out.k0, &out.n0, &out.delta, &out.val} {
			if r[j+1] == "" {
				continue
			}
			x, err := strconv.ParseFloat(r[j+1], 64)
			// A tail of 1e-19947 is 0 in a float64.
			if err != nil && x != 0 {
				t.Fatalf("line %d: %v", i+2, err)
			}
			*field = x
		}
		rows = append(rows, out)
	}
	return rows
}

func readCSV(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return records[1:]
}

// near is equality to 1e-9 relative; what is 0 in 50 digits may be a rounding
// error of the inputs.
func near(got, want float64) bool {
	if math.Abs(want) < 1e-40 {
		return math.Abs(got) <= 1e-12
	}
	return math.Abs(got-want) <= 1e-9*math.Abs(want)
}

// pieces feeds the arrays of a golden row's note to a spread.
func pieces(t *testing.T, note string) (s spread, q float64) {
	t.Helper()
	var kn [2][]float64
	if err := json.Unmarshal([]byte(note), &kn); err != nil {
		t.Fatal(err)
	}
	k, n := 0.0, 0.0
	for i := range kn[0] {
		s.add(kn[0][i], kn[1][i])
		k, n = k+kn[0][i], n+kn[1][i]
	}
	return s, k / n
}

// evidence is the evidence of k hits in n samples against a limit.
func evidence(k, n, limit float64, ratios grid, phi float64) float64 {
	k, n = counts(k, n)
	w := against(limit, ratios)
	return w.evidence(k, n, factor(phi))
}

func TestGolden(t *testing.T) {
	compute := map[string]func(t *testing.T, r row) float64{
		"kl_lower": func(t *testing.T, r row) float64 { return Lower(r.k, r.n, 1, r.alpha) },
		"kl_upper": func(t *testing.T, r row) float64 { return Upper(r.k, r.n, 1, r.alpha) },
		"nkl":      func(t *testing.T, r row) float64 { return divergence(r.k, r.n, r.limit) },
		"grid_up":  func(t *testing.T, r row) float64 { return evidence(r.k, r.n, r.limit, up, r.phi) },
		"grid_dn":  func(t *testing.T, r row) float64 { return evidence(r.k, r.n, Edge(r.limit), down, r.phi) },
		"tcal":     func(t *testing.T, r row) float64 { return temper(r.phi, r.nu) }, // its phi column is e
		"phi_hat": func(t *testing.T, r row) float64 {
			s, q := pieces(t, r.note)
			return s.phi(q)
		},
		"rho1": func(t *testing.T, r row) float64 {
			s, q := pieces(t, r.note)
			return s.rho(q)
		},
		"absent_upper":    func(t *testing.T, r row) float64 { return Upper(0, r.n, 1, r.alpha) },
		"absent_n_needed": func(t *testing.T, r row) float64 { return leastAbsent(r.limit, r.alpha) },
		"cmle_p0":         func(t *testing.T, r row) float64 { return apart(r.k, r.n, r.k0, r.n0, 1, r.delta) },
		"glr_D": func(t *testing.T, r row) float64 {
			if r.k/r.n-r.k0/r.n0 <= r.delta {
				return 0
			}
			evidence, _ := differs(r.k, r.n, r.k0, r.n0, 1, r.delta)
			return evidence
		},
		"ratio_pi": func(t *testing.T, r row) float64 { return ratioShare(r.n, r.n0, r.delta) },
		"ratio_nkl": func(t *testing.T, r row) float64 {
			return divergence(r.k, r.k+r.k0, ratioShare(r.n, r.n0, r.delta))
		},
		"mk_p_ge": func(t *testing.T, r row) float64 { return mannKendallP(int(r.k), int(r.n)) },

		// Only compared with; see baseline_test.go.
		"wilson_lower":   func(t *testing.T, r row) float64 { return wilson(r.k, r.n, r.alpha, -1) },
		"wilson_upper":   func(t *testing.T, r row) float64 { return wilson(r.k, r.n, r.alpha, +1) },
		"cp_lower":       func(t *testing.T, r row) float64 { return clopperPearsonLower(r.k, r.n, r.alpha) },
		"cp_upper":       func(t *testing.T, r row) float64 { return clopperPearsonUpper(r.k, r.n, r.alpha) },
		"jeffreys_lower": func(t *testing.T, r row) float64 { return jeffreysLower(r.k, r.n, r.alpha) },
		"jeffreys_upper": func(t *testing.T, r row) float64 { return jeffreysUpper(r.k, r.n, r.alpha) },
		"binom_sf_ge":    func(t *testing.T, r row) float64 { return binomialTail(r.k, r.n, r.limit) },
		"ratio_p_exact": func(t *testing.T, r row) float64 {
			return binomialTail(r.k, r.k+r.k0, ratioShare(r.n, r.n0, r.delta))
		},
		"mix11": func(t *testing.T, r row) float64 { return mixture(r.k, r.n, r.limit) },
		"mn_z":  func(t *testing.T, r row) float64 { return scoreZ(r.k, r.n, r.k0, r.n0, r.delta) },
	}
	checked := map[string]int{}
	worst := map[string]float64{}
	for _, r := range goldenRows(t) {
		f, ok := compute[r.fn]
		if !ok {
			t.Fatalf("line %d: no implementation of %s", r.line, r.fn)
		}
		got := f(t, r)
		if !near(got, r.val) {
			t.Errorf("line %d: %s k=%v n=%v limit=%v alpha=%v phi=%v nu=%v k0=%v n0=%v delta=%v: got %.17g, want %.17g",
				r.line, r.fn, r.k, r.n, r.limit, r.alpha, r.phi, r.nu, r.k0, r.n0, r.delta, got, r.val)
		}
		checked[r.fn]++
		if math.Abs(r.val) >= 1e-40 {
			worst[r.fn] = max(worst[r.fn], math.Abs(got-r.val)/math.Abs(r.val))
		}
	}
	for fn := range compute {
		if checked[fn] == 0 {
			t.Errorf("no golden row of %s", fn)
		}
		t.Logf("%-16s %4d rows, worst relative error %.1e", fn, checked[fn], worst[fn])
	}
}

// TestGoldenOffender shows that a change in the tenth digit is seen.
func TestGoldenOffender(t *testing.T) {
	if near(0.4, 0.4*(1+2e-9)) || !near(0.4, 0.4*(1+5e-10)) {
		t.Error("near does not tell 1e-9")
	}
}

// leastAbsent returns the number of samples without a hit whose upper bound is at most hide.
func leastAbsent(hide, alpha float64) (n float64) {
	for n = 1; Upper(0, n, 1, alpha) > hide; n++ {
	}
	return n
}

// ratioShare returns the share of all hits that fall into now, when its rate is
// limit times the baseline's.
func ratioShare(exposure, exposure0, limit float64) float64 {
	now := amount(limit) * amount(exposure)
	all := now + amount(exposure0)
	if all == 0 {
		return 0
	}
	return now / all
}
