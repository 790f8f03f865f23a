package oracle

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/mcp-parity/mcp-parity/contract"
)

// Random returns n vectors with arguments drawn from the seed, so that an answer can be neither hard-coded nor cached. The
// same seed gives the same vectors.
func (o Oracle) Random(seed uint64, n int) ([]contract.Vector, error) {
	g := generator{rand.New(rand.NewPCG(seed, 0))}
	tools := []struct {
		name      string
		arguments func() object
	}{
		{"calculate_fibonacci", func() object { return object{"n": g.IntN(25)} }},
		{"fetch_external_data", func() object { return object{"endpoint": "/items/" + g.identifier()} }},
		{"process_json_data", func() object { return object{"data": g.object(4)} }},
		{"simulate_db_query", func() object {
			return object{"query": g.text(1 + g.IntN(40)), "delay_ms": g.IntN(20), "rows": g.IntN(30)}
		}},
	}
	vectors := make([]contract.Vector, n)
	for i := range vectors {
		tool := tools[i%len(tools)]
		arguments, err := json.Marshal(tool.arguments())
		if err != nil {
			return nil, err
		}
		answer, err := o.Call(tool.name, arguments)
		if err != nil {
			return nil, fmt.Errorf("random arguments for %s: %w", tool.name, err)
		}
		vectors[i] = contract.Vector{
			Name:     fmt.Sprintf("random/%s-%d", tool.name, i/len(tools)+1),
			Why:      fmt.Sprintf("arguments drawn from seed %d", seed),
			Parallel: 1,
			Step: contract.Step{
				Call:   &contract.Call{Tool: tool.name, Arguments: new(string(arguments))},
				Expect: &contract.Expect{Result: new(string(answer)), Status: []int{200}},
			},
		}
	}
	return vectors, nil
}

// generator draws JSON values that are likely to show where languages differ.
type generator struct{ *rand.Rand }

// alphabets holds ranges of code points, both ends included.
var alphabets = [][2]rune{
	{' ', '~'},           // ASCII with quotes, backslash and <>&
	{'a', 'z'},           // what process_json_data changes
	{0, 0x1f},            // control characters
	{0xc0, 0x17f},        // Latin letters with diacritics, ß and ı among them
	{0x300, 0x36f},       // combining marks
	{0x5d0, 0x5ea},       // Hebrew, right to left
	{0x4e00, 0x4fff},     // Han
	{0xff5e, 0xff70},     // above the surrogates in UTF-16 order, below astral planes in code point order
	{0x1f600, 0x1f64f},   // emoji
	{0x2028, 0x2029},     // line separators
	{0x10fff0, 0x10ffff}, // the last code points
}

func (g generator) text(length int) string {
	out := make([]rune, length)
	for i := range out {
		span := alphabets[g.IntN(len(alphabets))]
		out[i] = span[0] + rune(g.IntN(int(span[1]-span[0])+1))
	}
	return string(out)
}

func (g generator) identifier() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	out := make([]byte, 1+g.IntN(24))
	for i := range out {
		out[i] = letters[g.IntN(len(letters))]
	}
	return string(out)
}

func (g generator) object(levels int) object {
	out := object{}
	for range g.IntN(6) {
		out[g.text(g.IntN(8))] = g.value(levels - 1)
	}
	return out
}

func (g generator) value(levels int) any {
	kinds := 7
	if levels > 0 {
		kinds = 9
	}
	switch g.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return g.IntN(2) == 0
	case 2:
		return g.Int64N(2*maxNumber+1) - maxNumber
	case 3:
		return g.IntN(100)
	case 4:
		// Every float64 of moderate size has one shortest text, which all languages read back as the same number.
		return math.Round(g.NormFloat64()*1e6) / 1e3
	case 5:
		return g.Float64() * math.Pow(10, float64(g.IntN(40)-30))
	case 6:
		return g.text(g.IntN(20))
	case 7:
		out := make([]any, g.IntN(5))
		for i := range out {
			out[i] = g.value(levels - 1)
		}
		return out
	default:
		return g.object(levels)
	}
}
