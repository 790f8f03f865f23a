package load

import (
	"context"
	"io"
	"net/http"
	"regexp"
)

// runtimeInfo is the metric with which the usual Prometheus client of each language tells the version of what runs it:
// go_info, nodejs_version_info, python_info, jvm_info.
var runtimeInfo = regexp.MustCompile(`(?m)^(?:go|nodejs_version|python|jvm)_info\{(?:[^}]*,)?version="(?:v|go)?([^"]+)"`)

// runtimeVersion asks a running server for the version of its language's runtime, which depends on the image or the machine. It
// is empty when the server does not tell, which is no reason to distrust its figures.
func runtimeVersion(ctx context.Context, url string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		return ""
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return ""
	}
	if match := runtimeInfo.FindSubmatch(text); match != nil {
		return string(match[1])
	}
	return ""
}
