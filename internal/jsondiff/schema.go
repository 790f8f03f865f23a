package jsondiff

import (
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Violation is one place where a value does not satisfy its JSON Schema.
type Violation struct {
	// Pointer is a JSON pointer (RFC 6901) to the place in the value.
	Pointer string
	// Keyword is the path of the schema's keyword that is not satisfied, such as "maximum".
	Keyword string
	// Text is what the validator says, in English.
	Text string
}

var english = message.NewPrinter(language.English)

// Violations lists all that a validator has found: the leaves of its tree of errors.
func Violations(err *jsonschema.ValidationError) []Violation {
	if len(err.Causes) == 0 {
		var pointer strings.Builder
		for _, token := range err.InstanceLocation {
			pointer.WriteString("/" + Escape(token))
		}
		return []Violation{{pointer.String(), strings.Join(err.ErrorKind.KeywordPath(), "/"), err.ErrorKind.LocalizedString(english)}}
	}
	var all []Violation
	for _, cause := range err.Causes {
		all = append(all, Violations(cause)...)
	}
	return all
}
