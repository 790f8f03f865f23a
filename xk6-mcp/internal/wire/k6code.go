package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"
)

// The codes by which k6 tells failures of the network apart, as far as an error can be told from
// another without k6.
const (
	k6Other            = 1000
	k6Timeout          = 1050
	k6DNS              = 1100
	k6NoSuchHost       = 1101
	k6TCP              = 1200
	k6BrokenPipe       = 1201
	k6Dial             = 1210
	k6DialTimeout      = 1211
	k6Refused          = 1212
	k6ResetByPeer      = 1220
	k6TLSHeader        = 1301
	k6UnknownAuthority = 1310
	k6WrongHost        = 1311
	k6HTTP             = 1000 // and the status
	k6GoAway           = 1610 // and, from here on, one more than the HTTP/2 error code
	k6StreamError      = 1630
	k6ConnectionError  = 1650
)

// K6Code is the number by which k6 tags the same failure of an HTTP request, or 0 if the failure is one
// that only MCP has.
func (e *Error) K6Code() int {
	switch {
	case e.Status >= 400:
		return k6HTTP + e.Status
	case e.Kind == KindTimeout:
		return k6Timeout
	}
	switch e.Kind {
	case KindDNS, KindConnect, KindTLS, KindReset, KindTruncated:
		if e.cause == nil {
			return 0
		}
		return networkCode(e.cause)
	}
	return 0
}

func networkCode(err error) int {
	var (
		dns       *net.DNSError
		op        *net.OpError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &dns):
		if dns.IsNotFound {
			return k6NoSuchHost
		}
		return k6DNS
	case errors.Is(err, syscall.ECONNRESET):
		return k6ResetByPeer
	case errors.Is(err, syscall.EPIPE):
		return k6BrokenPipe
	case errors.Is(err, syscall.ECONNREFUSED):
		return k6Refused
	case errors.As(err, &authority):
		return k6UnknownAuthority
	case errors.As(err, &host):
		return k6WrongHost
	case errors.As(err, &record):
		return k6TLSHeader
	case errors.As(err, &op):
		switch {
		case op.Op == "dial" && op.Timeout():
			return k6DialTimeout
		case op.Op == "dial":
			return k6Dial
		}
		return k6TCP
	}
	return http2Code(err)
}

// http2Names are the error codes of HTTP/2 in their order (RFC 9113, section 7).
var http2Names = []string{
	"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
	"FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
	"INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
}

// http2Code reads the message, because net/http does not export the types of these errors.
func http2Code(err error) int {
	text := err.Error()
	for _, form := range []struct {
		before, name string
		base         int
	}{
		{"http2: server sent GOAWAY", "ErrCode=", k6GoAway},
		{"stream error: stream ID", "; ", k6StreamError},
		{"connection error: ", "", k6ConnectionError},
	} {
		_, rest, ok := strings.Cut(text, form.before)
		if !ok {
			continue
		}
		if _, after, ok := strings.Cut(rest, form.name); ok {
			name, _, _ := strings.Cut(after, ",")
			name, _, _ = strings.Cut(name, ";")
			return form.base + 1 + slices.Index(http2Names, name) // of an unknown one, the base
		}
	}
	return k6Other
}
