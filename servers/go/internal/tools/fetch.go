package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	upstreamTimeout = 5 * time.Second
	maxUpstreamBody = 1 << 20 // bytes
)

// endpointPattern is the schema's; in Go, $ does not match before a final newline.
var endpointPattern = regexp.MustCompile(`^(/[A-Za-z0-9_-]{1,64}){1,8}$`)

type fetchAnswer struct {
	Endpoint string         `json:"endpoint"`
	Status   int            `json:"status"`
	Body     jsontext.Value `json:"body"`
}

// Upstream is the service behind fetch_external_data.
type Upstream struct {
	url    string
	client *http.Client
}

// NewUpstream returns the client for the service at url, which has no final
// slash. One Upstream serves the whole process, so that connections are reused.
func NewUpstream(url string) *Upstream {
	return &Upstream{
		url: url,
		client: &http.Client{
			Timeout: upstreamTimeout,
			Transport: &http.Transport{
				// The default keeps 2 idle connections per host: with more
				// concurrent calls than that, most would dial anew.
				MaxIdleConnsPerHost: 512,
				IdleConnTimeout:     90 * time.Second,
				DialContext:         (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext,
				// The size limit is about the bytes that are sent.
				DisableCompression: true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close drops the idle connections.
func (u *Upstream) Close() { u.client.CloseIdleConnections() }

func (u *Upstream) fetchExternalData(ctx context.Context, args *arguments) (any, error) {
	endpoint := args.textLike("endpoint", endpointPattern)
	if err := args.err(); err != nil {
		return nil, err
	}
	status, body, err := u.get(ctx, endpoint)
	if err != nil {
		return nil, fmt.Errorf("the upstream failed: %w", err)
	}
	return fetchAnswer{Endpoint: endpoint, Status: status, Body: body}, nil
}

func (u *Upstream) get(ctx context.Context, endpoint string) (status int, body jsontext.Value, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.url+endpoint, nil)
	if err != nil {
		return 0, nil, err
	}
	resp, err := u.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxUpstreamBody+1))
	if err != nil {
		return 0, nil, fmt.Errorf("reading its answer: %w", err)
	}
	if len(body) > maxUpstreamBody {
		return 0, nil, fmt.Errorf("its answer is larger than %d bytes", maxUpstreamBody)
	}
	if err := body.Compact(jsontext.AllowDuplicateNames(true)); err != nil {
		return 0, nil, errors.New("its answer is not JSON")
	}
	return resp.StatusCode, body, nil
}
