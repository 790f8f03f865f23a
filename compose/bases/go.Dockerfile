# Stands in for golang; the context is a GOROOT.
FROM mcp-parity/base-debian
COPY . /usr/local/go
# GOTOOLCHAIN: a newer Go asked for by a go.mod is an error rather than a download.
ENV GOPATH=/go GOTOOLCHAIN=local PATH=/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WORKDIR /go
