#!/usr/bin/env bash
# Calls each server that compose.yaml publishes, on a tool that needs the upstream service too.
set -euo pipefail
for server in java=8080 go=8081 python=8082 node=8083; do
  answer=$(curl -sS --max-time 20 "http://127.0.0.1:${server#*=}/mcp" \
    -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2025-11-25' \
    -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch_external_data","arguments":{"endpoint":"/items/1"}}}')
  case $answer in
    *'"name":"item-1"'*) echo "ok ${server%=*}" ;;
    *) echo "${server%=*} answered: $answer"; exit 1 ;;
  esac
done
