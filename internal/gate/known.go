package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcp-parity/mcp-parity/contract"
)

// knownUse is one pattern of one entry in the list of known differences, and whether it still shows.
type knownUse struct {
	entry   *contract.KnownDifference
	pattern string
	ran     bool // a result came in that it could have been about
	matched bool // a difference showed
}

func knownUses(known []contract.KnownDifference) []knownUse {
	var uses []knownUse
	for i := range known {
		for _, pattern := range known[i].Vectors {
			uses = append(uses, knownUse{entry: &known[i], pattern: pattern})
		}
	}
	return uses
}

// checkKnown makes sure that every pattern means at least one vector.
func checkKnown(known []contract.KnownDifference, vectors []contract.Vector) error {
	names := names(vectors)
	for _, u := range knownUses(known) {
		if !slices.ContainsFunc(names, func(name string) bool { return matches(u.pattern, name) }) {
			return fmt.Errorf("known difference of %s: no vector is named %q: correct the entry or remove it", u.entry.Server, u.pattern)
		}
	}
	return nil
}

func names(vectors []contract.Vector) []string {
	list := slices.Clone(builtInNames)
	for _, v := range vectors {
		list = append(list, v.Name)
	}
	return list
}

// matches treats a malformed pattern as a name.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok || err != nil && pattern == name
}

// about reports whether the entry speaks of this result.
func (u *knownUse) about(r Result) bool {
	server, _, _ := strings.Cut(r.Target, "/")
	return (u.entry.Server == r.Target || u.entry.Server == server) &&
		(len(u.entry.Profiles) == 0 || slices.Contains(u.entry.Profiles, r.Profile)) &&
		matches(u.pattern, r.Vector)
}

// mark finds the known differences among those of a result.
func (r *Report) mark(result *Result) {
	for i := range r.known {
		u := &r.known[i]
		if !u.about(*result) {
			continue
		}
		u.ran = true
		for d := range result.Differences {
			difference := &result.Differences[d]
			if u.entry.Pointer == "" || u.entry.Pointer == difference.Pointer {
				u.matched = true
				difference.Known = u.entry
			}
		}
	}
}

// StaleKnown is an entry of the list of known differences, or one of its vectors, that no longer shows.
type StaleKnown struct {
	Entry *contract.KnownDifference
	// Vectors is the name or pattern in the entry.
	Vectors string
}

func (s StaleKnown) String() string {
	at := ""
	if s.Entry.Pointer != "" {
		at = " at " + s.Entry.Pointer
	}
	return fmt.Sprintf("known difference of %s in %s%s no longer shows: remove it from the list", s.Entry.Server, s.Vectors, at)
}

// Stale returns the entries that were put to the test and matched nothing.
func (r *Report) Stale() []StaleKnown {
	var stale []StaleKnown
	for _, u := range r.known {
		if u.ran && !u.matched {
			stale = append(stale, StaleKnown{u.entry, u.pattern})
		}
	}
	return stale
}
