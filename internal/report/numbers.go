package report

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

// significant writes a number with three significant digits, which is about what one run can tell.
func significant(x float64) string {
	if x == 0 {
		return "0"
	}
	const digits = 3
	// Rounded first: 9.999 is 10.0, with one decimal.
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64)
	decimals := digits - 1 - int(math.Floor(math.Log10(math.Abs(x))))
	if decimals <= 0 {
		return humanize.Comma(int64(x))
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// percent writes a share: "0.4 %", "12 %".
func percent(share float64) string {
	decimals := 1
	if math.Abs(share) >= 0.0995 {
		decimals = 0
	}
	return strconv.FormatFloat(100*share, 'f', decimals, 64) + " %"
}

// number writes what is known to be short without a tail of digits.
func number(x float64) string {
	return strconv.FormatFloat(math.Round(x*1e6)/1e6+0, 'f', -1, 64) // + 0, because there is a -0
}

func seconds(d yamlfile.Duration) string { return number(d.Seconds()) + " s" }

func milliseconds(d yamlfile.Duration) string {
	return number(float64(time.Duration(d))/float64(time.Millisecond)) + " ms"
}

// mebibytes is in the unit of the tables.
func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func list(numbers []int) string {
	var text []string
	for _, n := range numbers {
		text = append(text, strconv.Itoa(n))
	}
	return strings.Join(text, ", ")
}
