package wire

import (
	"context"
	"encoding/json"
)

// PageOptions say which pages of a list are wanted.
type PageOptions struct {
	// Cursor is where to begin; empty is the start.
	Cursor string
	// All follows the cursors to the end, but not over MaxPages when that is not 0.
	All      bool
	MaxPages int
}

// Pages reads a list: tools/list and its like. Each page is a request, and its reply is returned; the
// list is cut short by the first that has an error. A cursor that comes a second time is an error of
// its page, because following it would never end.
func (s *Session) Pages(ctx context.Context, method string, page PageOptions, opts Options) []*Reply {
	var replies []*Reply
	var params []byte
	seen := map[string]bool{}
	cursor, more := page.Cursor, page.Cursor != ""
	for {
		if more {
			seen[cursor] = true
			params = append(appendString([]byte(`{"cursor":`), cursor), '}')
		}
		r := s.Call(ctx, method, params, opts)
		replies = append(replies, r)
		if r.Err != nil || !page.All {
			return replies
		}
		if cursor, more = s.NextCursor(r.Result); !more || page.MaxPages > 0 && len(replies) == page.MaxPages {
			return replies
		}
		if seen[cursor] {
			r.Err = errorf(KindMalformed, "the list never ends: cursor %q came before", cursor)
			r.Err.Status = r.Status
			return replies
		}
	}
}

// NextCursor is the cursor of the page after this one, if there is one. An empty cursor is one like
// any other from StatelessVersion on; before, servers send it for the end.
func (s *Session) NextCursor(result json.RawMessage) (cursor string, more bool) {
	var v struct {
		NextCursor *string `json:"nextCursor"`
	}
	if json.Unmarshal(result, &v) != nil || v.NextCursor == nil || *v.NextCursor == "" && !s.Stateless() {
		return "", false
	}
	return *v.NextCursor, true
}
