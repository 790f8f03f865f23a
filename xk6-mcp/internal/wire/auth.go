package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"
)

// Auth gives requests their Authorization header: Bearer, or what Tokens.Auth returns.
type Auth interface{ isAuth() }

// authorizer is an Auth whose header changes with time.
type authorizer interface {
	authorization(context.Context, http.RoundTripper) (string, *Error)
}

// Bearer is a token that is known beforehand.
type Bearer string

func (Bearer) isAuth() {}

// ClientCredentials are what a token is fetched with: the OAuth 2.0 grant client_credentials.
type ClientCredentials struct {
	TokenURL, ClientID, ClientSecret string
	Scope, Audience, Resource        string // left out of the request when empty
	// Style says where the id and the secret go: "basic" (default) in a header, "post" in the body.
	Style string
	// RefreshBefore is how long before its expiry a token is not used any more.
	RefreshBefore time.Duration
}

// Validate says what is wrong with the credentials.
func (c ClientCredentials) Validate() error {
	if err := checkURL(c.TokenURL); err != nil {
		return fmt.Errorf("token %w", err)
	}
	switch {
	case c.ClientID == "":
		return errors.New("client id: want one")
	case c.Style != "" && c.Style != "basic" && c.Style != "post":
		return fmt.Errorf("style %q: want basic or post", c.Style)
	case c.RefreshBefore < 0:
		return fmt.Errorf("refresh before %s: want 0 or more", c.RefreshBefore)
	}
	return nil
}

// fetchTimeout limits the fetch of a token, which goes on when the call that began it is given up,
// because others wait for it.
const fetchTimeout = 30 * time.Second

// Tokens keeps the tokens of a test run: one for each set of credentials, whoever uses it.
type Tokens struct {
	fetched func(time.Duration, error)
	flights singleflight.Group

	mu     sync.Mutex
	tokens map[ClientCredentials]*oauth2.Token
}

// NewTokens returns an empty store. fetched, if it is not nil, is told of each fetch.
func NewTokens(fetched func(took time.Duration, err error)) *Tokens {
	return &Tokens{fetched: fetched, tokens: map[ClientCredentials]*oauth2.Token{}}
}

// Auth fetches a token when it is first needed, and another when that has expired: one fetch at a time,
// shared by all who wait. A fetch that fails fails the calls that wait for it; the next call tries
// again.
func (t *Tokens) Auth(c ClientCredentials) Auth { return &shared{t, c} }

type shared struct {
	tokens      *Tokens
	credentials ClientCredentials
}

func (*shared) isAuth() {}

func (s *shared) authorization(ctx context.Context, rt http.RoundTripper) (string, *Error) {
	t, c := s.tokens, s.credentials
	if token := t.valid(c); token != nil {
		return token.Type() + " " + token.AccessToken, nil
	}
	flight := t.flights.DoChan(fmt.Sprintf("%q", c), func() (any, error) {
		if token := t.valid(c); token != nil {
			return token, nil // fetched since
		}
		start := time.Now()
		token, err := c.fetch(context.WithoutCancel(ctx), rt)
		if t.fetched != nil {
			t.fetched(time.Since(start), err)
		}
		if err == nil {
			t.mu.Lock()
			t.tokens[c] = token
			t.mu.Unlock()
		}
		return token, err
	})
	select {
	case <-ctx.Done():
		return "", errorf(KindInterrupted, "waiting for a token: %w", context.Cause(ctx))
	case result := <-flight:
		if result.Err != nil {
			return "", tokenError(result.Err)
		}
		token, ok := result.Val.(*oauth2.Token)
		if !ok {
			return "", errorf(KindUnauthorized, "the token endpoint gave no token")
		}
		return token.Type() + " " + token.AccessToken, nil
	}
}

// valid is the token that is there, unless it is about to expire.
func (t *Tokens) valid(c ClientCredentials) *oauth2.Token {
	t.mu.Lock()
	defer t.mu.Unlock()
	token := t.tokens[c]
	if token == nil || !token.Expiry.IsZero() && time.Until(token.Expiry) <= c.RefreshBefore {
		return nil
	}
	return token
}

func (c ClientCredentials) fetch(ctx context.Context, rt http.RoundTripper) (*oauth2.Token, error) {
	config := clientcredentials.Config{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, TokenURL: c.TokenURL,
		AuthStyle: oauth2.AuthStyleInHeader, EndpointParams: url.Values{},
	}
	if c.Style == "post" {
		config.AuthStyle = oauth2.AuthStyleInParams
	}
	if c.Scope != "" {
		config.Scopes = strings.Fields(c.Scope)
	}
	for name, value := range map[string]string{"audience": c.Audience, "resource": c.Resource} {
		if value != "" {
			config.EndpointParams.Set(name, value)
		}
	}
	client := &http.Client{
		Transport:     rt,
		Timeout:       fetchTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return config.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
}

// tokenError says why there is no token. Only a refusal is a matter of authorization.
func tokenError(err error) *Error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil {
		e := statusError(refused.Response.StatusCode, refused.Body, false)
		if status := refused.Response.StatusCode; status >= 400 && status < 500 && status != http.StatusTooManyRequests {
			e.Kind = KindUnauthorized
		}
		e.Message = "no token: " + e.Message
		return e
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errorf(KindTimeout, "no token: %w", err)
	}
	var fault *url.Error
	if errors.As(err, &fault) {
		return errorf(connectError(err, &trace{}).Kind, "no token: %w", err)
	}
	return errorf(KindUnauthorized, "no token: %w", err)
}
