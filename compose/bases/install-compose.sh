#!/usr/bin/env bash
#
# Installs the compose plugin of the docker command from the package of Debian trixie, for a system whose packages have none, such as
# Debian bookworm. The package is fetched and unpacked in a container; only the plugin leaves it, into the folder for plugins of this
# user.
set -euo pipefail

if docker compose version 2>/dev/null; then
  exit
fi
command -v docker >/dev/null || {
  echo "install-compose.sh: docker is not on PATH; install docker.io and start dockerd" >&2
  exit 2
}

image=mcp-parity/base-debian
docker image inspect "$image" >/dev/null 2>&1 || image=debian:trixie-slim

container=$(docker create --workdir /tmp "$image" sh -ec '
  apt-get -qq update
  apt-get -qq download docker-compose
  dpkg -x docker-compose_*.deb /plugin')
trap 'docker rm --force "$container" >/dev/null' EXIT
docker start --attach "$container"

plugins=${DOCKER_CONFIG:-$HOME/.docker}/cli-plugins
mkdir -p "$plugins"
docker cp "$container:/plugin/usr/libexec/docker/cli-plugins/docker-compose" "$plugins/"
docker compose version
