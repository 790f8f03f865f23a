package httpserver

import (
	"context"
	"net/http"
)

// drain ends the streams that would otherwise stay open for as long as the
// client likes, and so hold up a shutdown. Streamable HTTP answers calls on
// requests of their own, which it leaves alone; on SSE they end with the stream.
type drain struct {
	ctx   context.Context
	start context.CancelFunc
}

func newDrain() *drain {
	ctx, cancel := context.WithCancel(context.Background())
	return &drain{ctx, cancel}
}

// end returns next with requests that also end when the drain starts.
func (d *drain) end(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(d.ctx, cancel)()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
