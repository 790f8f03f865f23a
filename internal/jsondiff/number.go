package jsondiff

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// equalNumbers compares two JSON numbers by value: integers exactly, in whatever form they are written, all others as
// IEEE 754 doubles, which is all that most languages keep of them.
func equalNumbers(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, xok := parseDecimal(a.String())
	y, yok := parseDecimal(b.String())
	if !xok || !yok {
		return false // an exponent beyond int: equal as text or not at all
	}
	if x == y {
		return true
	}
	if x.integral() && y.integral() {
		return false
	}
	f, errF := strconv.ParseFloat(a.String(), 64)
	g, errG := strconv.ParseFloat(b.String(), 64)
	return errF == nil && errG == nil && f == g && !math.IsInf(f, 0)
}

// decimal is ±digits × 10^exponent in its only form without zeros at either end of the digits. Zero has no digits and
// no sign.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

func (d decimal) integral() bool { return d.exponent >= 0 }

func parseDecimal(text string) (decimal, bool) {
	var d decimal
	text, d.negative = strings.CutPrefix(text, "-")
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(text), "e")
	if hasExponent {
		var err error
		if d.exponent, err = strconv.Atoi(exponent); err != nil || d.exponent > math.MaxInt32 || d.exponent < math.MinInt32 {
			return decimal{}, false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.digits = strings.TrimLeft(whole+fraction, "0")
	d.exponent -= len(fraction)
	trimmed := strings.TrimRight(d.digits, "0")
	d.exponent += len(d.digits) - len(trimmed)
	d.digits = trimmed
	if d.digits == "" {
		return decimal{}, true
	}
	return d, true
}
